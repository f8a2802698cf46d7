package schema

import (
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// flagRules are about flags that deny each other. AIPerf's command line refuses
// most of them: each sends another load than the other one says.
var flagRules = []rule{
	{name: "recorded times are played or ignored", flags: func(e flagged, found func(a *lower.Assignment, message, hint string)) {
		if a := e.flag(fields.DatasetPath + ".ignore_trace_delays"); a != nil && a.Value == true && e.scheduled() {
			found(a, "does not go with a fixed schedule, which plays the recorded times", "drop it, or use --no-fixed-schedule")
		}
	}},
	{name: "one rate and one pace", from: flagsOnly, flags: func(e flagged, found func(a *lower.Assignment, message, hint string)) {
		switch pattern := e.pattern(); {
		case e.typed("user-centric-rate") && e.typed("request-rate"):
			found(e.flag(fields.PhasePath+".rate"), "--user-centric-rate and --request-rate say two rates", "keep one of them")
		case e.typed("user-centric-rate"):
			found(pattern, "does not go with --user-centric-rate, whose users send at a steady pace", "drop one of them")
		case e.typed("request-rate") && pattern != nil && pattern.Value == fields.PhasePresumed("").Name:
			found(pattern, fields.PhasePresumed("").Pattern+" does not go with --request-rate", "use constant, poisson or gamma, or --concurrency without a rate")
		}
	}},
	{name: "recorded times are played, or another pace", from: flagsOnly, flags: func(e flagged, found func(a *lower.Assignment, message, hint string)) {
		ds := e.dataset()
		if ds == nil || !e.timed(ds) || e.typed("no-fixed-schedule") {
			return
		}
		for _, field := range []string{"rate", "rate_series", "users", "smoothness"} {
			found(e.flag(fields.PhasePath+"."+field), "does not go with "+ds.Get("path").Text()+", whose records are sent at their own times", "drop it, or --no-fixed-schedule leaves the times out")
		}
	}},
	{name: "requests or conversations are counted", from: flagsOnly, flags: func(e flagged, found func(a *lower.Assignment, message, hint string)) {
		if requests := e.flag(fields.PhasePath + ".requests"); requests != nil {
			found(e.flag(fields.PhasePath+".sessions"), "does not go with "+requests.Origin.Where, "keep one of them: requests may end within a conversation, sessions do not")
		}
	}},
	{name: "so are those of the warmup", from: flagsOnly, flags: func(e flagged, found func(a *lower.Assignment, message, hint string)) {
		if requests := e.flag("benchmark.phases.warmup.requests"); requests != nil {
			found(e.flag("benchmark.phases.warmup.sessions"), "does not go with "+requests.Origin.Where, "keep one of them")
		}
	}},
	{name: "every slot can be used", severity: warned, flags: func(e flagged, found func(a *lower.Assignment, message, hint string)) {
		p := e.root.At(fields.PhasePath)
		if t := typeOf(p); t == nil || !t.Closed || len(e.sweep.Scenarios) > 0 {
			return
		}
		a, slots := e.flag(fields.PhasePath+".concurrency"), e.largest(fields.PhasePath+".concurrency", p.Get("concurrency"))
		for _, bound := range []string{"requests", "sessions"} {
			n := p.Get(bound)
			if a == nil || slots == nil || n == nil || e.axis(fields.PhasePath+"."+bound) != nil {
				continue
			}
			if most := source.NumberOf(n.Value); most > 0 && most < source.NumberOf(slots.Value) {
				found(a, fmt.Sprintf(" above %v: that is the number of %s", n.Value, bound), "")
				return
			}
		}
	}},
	{name: "a schedule begins at one record", from: flagsOnly, flags: func(e flagged, found func(a *lower.Assignment, message, hint string)) {
		if e.typed("fixed-schedule-auto-offset") {
			found(e.flag(fields.PhasePath+".start_offset"), "does not go with --fixed-schedule-auto-offset, which starts at the first record", "keep one of them")
		}
	}},
	{name: "contexts of users are counted", from: flagsOnly, flags: func(e flagged, found func(a *lower.Assignment, message, hint string)) {
		if a := e.flag(fields.DatasetPath + ".prefix_prompts.user_context_length"); a != nil && e.flag(fields.DatasetPath+".entries") == nil && e.dataset() != nil {
			found(a, "needs to know how many contexts there are", "add --num-dataset-entries")
		}
	}},
	{name: "a spread has a length to spread", from: flagsOnly, flags: func(e flagged, found func(a *lower.Assignment, message, hint string)) {
		prompts := fields.DatasetPath + ".prompts"
		if fields.DatasetMade(e.root.At(fields.DatasetPath).TypeWord()) && e.root.At(prompts+".osl") == nil && e.axis(prompts+".osl") == nil {
			found(e.flag(prompts+".random_range_ratio"), "spreads input and output lengths, and no output length is given", "add --osl")
		}
	}},
	{name: "a schedule is not swept", flags: func(e flagged, found func(a *lower.Assignment, message, hint string)) {
		for _, a := range e.axes {
			if e.scheduled() && strings.HasPrefix(a.path, fields.PhasePath+".") && a.origin.Source == source.ByFlag {
				found(&lower.Assignment{Path: a.path, Origin: a.origin}, "a list does not go with a fixed schedule", "use one value, or --no-fixed-schedule")
			}
		}
	}},
	{name: "a schedule that is asked for is played", severity: warned, flags: func(e flagged, found func(a *lower.Assignment, message, hint string)) {
		for i := range e.src.Assignments {
			if a := &e.src.Assignments[i]; a.Origin.Flag == "no-fixed-schedule" && e.typed("fixed-schedule") {
				found(a, ": --fixed-schedule wins", "")
			}
		}
	}},
	{name: "a rate says the type of the phase", severity: warned, flags: func(e flagged, found func(a *lower.Assignment, message, hint string)) {
		kind := e.phase().TypeWord()
		for i := range e.src.Assignments {
			switch a := &e.src.Assignments[i]; {
			case a.Origin.Source != source.ByFlag:
			case a.Path == fields.PhasePath+".type" && !e.typed("fixed-schedule") && suggest.Fold(fmt.Sprint(a.Value)) != kind && e.flag(fields.PhasePath+".rate") != nil &&
				a.Origin.Flag != "no-fixed-schedule":
				found(a, ": the phase is of type "+kind, "")
			case a.Path == fields.PhasePath+".rate" && e.typed("user-centric-rate") && a.Origin.Flag != "user-centric-rate":
				found(a, ": --user-centric-rate wins", "")
			}
		}
	}},
}

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
func (e flagged) scheduled() bool {
	t := fields.PhaseNamed(e.phase().TypeWord())
	return t != nil && t.Timed
}

// pattern is the assignment of the flag that says how gaps are drawn.
func (d *draft) pattern() *lower.Assignment {
	for i := range d.src.Assignments {
		a := &d.src.Assignments[i]
		if a.Path == fields.PhasePath+".type" && a.Origin.Source == source.ByFlag && a.Origin.Flag == "arrival-pattern" {
			return a
		}
	}
	return nil
}
