package cmdline

import (
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// rule is a condition on flags beside each other.
type rule struct {
	name  string // what it asks for
	alone bool   // of flags without a file: a file says all of its phases itself, and its rules are CUE
	look  func(l *Line, found blame)
}

// blame is told which flag breaks a rule; nil for one that was not given.
type blame func(a *lower.Assignment, message, hint string)

// denials are about flags that deny each other. AIPerf's command line refuses
// most of them: each sends another load than the other one says.
var denials = []rule{
	{name: "recorded times are played or ignored", look: func(l *Line, found blame) {
		if a := l.flag(fields.DatasetPath + ".ignore_trace_delays"); a != nil && a.Value.Value == true &&
			l.scheduled() {
			found(a, "cannot be combined with a fixed schedule, which plays the recorded times",
				"drop it, or use --no-fixed-schedule")
		}
	}},
	{name: "one rate and one pace", alone: true, look: func(l *Line, found blame) {
		switch pattern := l.pattern(); {
		case l.typed("user-centric-rate") && l.typed("request-rate"):
			found(l.flag(fields.PhasePath+".rate"), "--user-centric-rate and --request-rate say two rates",
				"keep one of them")
		case l.typed("user-centric-rate"):
			found(pattern, "cannot be combined with --user-centric-rate, whose users send at a steady pace",
				"drop one of them")
		case l.typed("request-rate") && pattern != nil && pattern.Value.Text() == fields.PhasePresumed("").Name:
			found(pattern, fields.PhasePresumed("").Pattern+" cannot be combined with --request-rate",
				"use constant, poisson or gamma, or --concurrency without a rate")
		}
	}},
	{name: "recorded times are played, or another pace", alone: true, look: func(l *Line, found blame) {
		ds := l.dataset()
		if ds == nil || !l.timed(ds) || l.typed("no-fixed-schedule") {
			return
		}
		for _, field := range []string{"rate", "rate_series", "users", "smoothness"} {
			found(l.flag(fields.PhasePath+"."+field), "cannot be combined with "+ds.Get("path").Text()+
				", whose records are sent at their own times", "drop it, or --no-fixed-schedule leaves the times out")
		}
	}},
	{name: "requests or conversations are counted", alone: true, look: func(l *Line, found blame) {
		if requests := l.flag(fields.PhasePath + ".requests"); requests != nil {
			found(l.flag(fields.PhasePath+".sessions"), "cannot be combined with "+requests.Origin.Where,
				"keep one of them: requests may end within a conversation, sessions do not")
		}
	}},
	{name: "the warmup's as well", alone: true, look: func(l *Line, found blame) {
		if requests := l.flag("benchmark.phases.warmup.requests"); requests != nil {
			found(l.flag("benchmark.phases.warmup.sessions"), "cannot be combined with "+requests.Origin.Where,
				"keep one of them")
		}
	}},
	{name: "what is streamed goes to a collector", alone: true, look: func(l *Line, found blame) {
		if l.typed("stream") && !l.typed("otel-url") {
			found(l.flag("benchmark.otel.stream_metrics_enabled"), "needs a collector to send to", "name it with --otel-url")
		}
	}},
	{name: "a round trip is measured or given", alone: true, look: func(l *Line, found blame) {
		if l.typed("network-latency-automatic") && l.typed("network-latency-mean") {
			found(l.flag("benchmark.network_latency.mean_ms"),
				"cannot be combined with --network-latency-automatic, which measures it", "keep one of them")
		}
	}},
	{name: "a schedule begins at one record", alone: true, look: func(l *Line, found blame) {
		if l.typed("fixed-schedule-auto-offset") {
			found(l.flag(fields.PhasePath+".start_offset"),
				"cannot be combined with --fixed-schedule-auto-offset, which starts at the first record",
				"keep one of them")
		}
	}},
	{name: "contexts of users are counted", alone: true, look: func(l *Line, found blame) {
		if a := l.flag(fields.DatasetPath + ".prefix_prompts.user_context_length"); a != nil &&
			l.flag(fields.DatasetPath+".entries") == nil && l.dataset() != nil {
			found(a, "needs to know how many contexts there are", "add --num-dataset-entries")
		}
	}},
	{name: "a spread has a length to spread", alone: true, look: func(l *Line, found blame) {
		prompts := fields.DatasetPath + ".prompts"
		if fields.DatasetMade(l.Root.At(fields.DatasetPath).TypeWord()) && l.Root.At(prompts+".osl") == nil &&
			l.Axes.On(prompts+".osl") == nil {
			found(l.flag(prompts+".random_range_ratio"),
				"spreads input and output lengths, and no output length is given", "add --osl")
		}
	}},
	{name: "a schedule is not swept", look: func(l *Line, found blame) {
		for _, a := range l.Axes.All {
			if l.scheduled() && strings.HasPrefix(a.Path, fields.PhasePath+".") && a.Origin.Source == source.ByFlag {
				found(&lower.Assignment{Path: a.Path, Origin: a.Origin},
					"a list cannot be combined with a fixed schedule", "use one value, or --no-fixed-schedule")
			}
		}
	}},
}

// spent are about flags that others leave nothing to do.
var spent = []rule{
	{name: "every slot can be used", look: func(l *Line, found blame) {
		p := l.Root.At(fields.PhasePath)
		if t := typeOf(p); t == nil || !t.Closed || l.named {
			return
		}
		a, slots := l.flag(fields.PhasePath+".concurrency"),
			l.largest(fields.PhasePath+".concurrency", p.Get("concurrency"))
		for _, bound := range []string{"requests", "sessions"} {
			n := p.Get(bound)
			if a == nil || slots == nil || n == nil || l.Axes.On(fields.PhasePath+"."+bound) != nil {
				continue
			}
			if most := source.NumberOf(n.Value); most > 0 && most < source.NumberOf(slots.Value) {
				found(a, fmt.Sprintf(" above %v: that is the number of %s", n.Value, bound), "")
				return
			}
		}
	}},
	{name: "a schedule that is asked for is played", look: func(l *Line, found blame) {
		for i := range l.Assignments {
			if a := &l.Assignments[i]; a.Origin.Flag == "no-fixed-schedule" && l.typed("fixed-schedule") {
				found(a, ": --fixed-schedule wins", "")
			}
		}
	}},
	{name: "a rate says the type of the phase", look: func(l *Line, found blame) {
		kind := l.phase().TypeWord()
		for i := range l.Assignments {
			switch a := &l.Assignments[i]; {
			case a.Origin.Source != source.ByFlag:
			case a.Path == fields.PhasePath+".type" && !l.typed("fixed-schedule") &&
				suggest.Fold(fmt.Sprint(a.Value.Value)) != kind && l.flag(fields.PhasePath+".rate") != nil &&
				a.Origin.Flag != "no-fixed-schedule":
				found(a, ": the phase is of type "+kind, "")
			case a.Path == fields.PhasePath+".rate" && l.typed("user-centric-rate") &&
				a.Origin.Flag != "user-centric-rate":
				found(a, ": --user-centric-rate wins", "")
			}
		}
	}},
}

// refusals are the mistakes that flags make together.
func (l *Line) refusals() (bad diag.Errors) {
	for i := range denials {
		if r := &denials[i]; !r.alone || l.File == "" {
			r.look(l, func(a *lower.Assignment, message, hint string) {
				if a != nil {
					bad = append(bad, source.Mistake(a.Origin, a.Path, message, hint)...)
				}
			})
		}
	}
	return bad
}

// WarnSpent names the flags that other flags leave nothing to do; named tells that the
// cells of the sweep are named ones.
func (l *Line) WarnSpent(named bool) {
	l.named = named
	for i := range spent {
		spent[i].look(l, func(a *lower.Assignment, message, _ string) {
			l.Warn(a.Origin.Where + " has no effect" + message)
		})
	}
}

// phase is the measured phase, dataset the data set of flags; nil without one.
func (l *Line) phase() *source.Node   { return l.Root.At(fields.PhasePath) }
func (l *Line) dataset() *source.Node { return l.Root.At(fields.DatasetPath) }

// pooled tells whether a format makes a request of several records.
func pooled(format string) bool {
	f := fields.FormatNamed(format)
	return f != nil && slices.Contains(f.Settings, poolSizes[0].field)
}

// poolSizes are the flags that say of how many, with the fields that they fill then.
var poolSizes = []struct{ flag, field string }{
	{"prompts.batch_size", "prompt_batch_size"},
	{"images.batch_size", "image_batch_size"},
	{"audio.batch_size", "audio_batch_size"},
	{"video.batch_size", "video_batch_size"},
}

// scheduled tells whether the measured phase plays recorded times.
func (l *Line) scheduled() bool {
	t := fields.PhaseNamed(l.phase().TypeWord())
	return t != nil && t.Timed
}

// pattern is the assignment of the flag that says how gaps are drawn.
func (l *Line) pattern() *lower.Assignment {
	for i := range l.Assignments {
		a := &l.Assignments[i]
		if a.Path == fields.PhasePath+".type" && a.Origin.Source == source.ByFlag &&
			a.Origin.Flag == "arrival-pattern" {
			return a
		}
	}
	return nil
}
