package schema

import (
	"fmt"
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
		case e.typed("--user-centric-rate") && e.typed("--request-rate"):
			found(e.flag(fields.PhasePath+".rate"), "--user-centric-rate and --request-rate say two rates", "keep one of them")
		case e.typed("--user-centric-rate"):
			found(pattern, "does not go with --user-centric-rate, whose users send at a steady pace", "drop one of them")
		case e.typed("--request-rate") && pattern != nil && pattern.Value == "concurrency":
			found(pattern, "concurrency_burst does not go with --request-rate", "use constant, poisson or gamma, or --concurrency without a rate")
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
	{name: "every slot can be used", from: flagsOnly, flags: func(e flagged, found func(a *lower.Assignment, message, hint string)) {
		count := "requests"
		if e.flag(fields.PhasePath+".sessions") != nil {
			count = "sessions"
		}
		counted, p := e.flag(fields.PhasePath+"."+count), e.phase()
		slots := e.largest(fields.PhasePath+".concurrency", p.Get("concurrency"))
		if counted == nil || slots == nil || e.axis(counted.Path) != nil {
			return
		}
		if n, most := source.NumberOf(slots.Value), source.NumberOf(p.Get(count).Value); n > most {
			found(e.flag(fields.PhasePath+".concurrency"), fmt.Sprintf("is above %s: %.0f of %.0f slots would never be used", counted.Origin.Where, n-most, n), "raise the count, or lower the concurrency")
		}
	}},
	{name: "a schedule begins at one record", from: flagsOnly, flags: func(e flagged, found func(a *lower.Assignment, message, hint string)) {
		if e.typed("--fixed-schedule-auto-offset") {
			found(e.flag(fields.PhasePath+".start_offset"), "does not go with --fixed-schedule-auto-offset, which starts at the first record", "keep one of them")
		}
	}},
	{name: "a schedule has its own order", from: flagsOnly, flags: func(e flagged, found func(a *lower.Assignment, message, hint string)) {
		if a := e.flag(fields.DatasetPath + ".sampling"); a != nil && a.Value != "sequential" && e.scheduled() {
			found(a, "does not go with a fixed schedule, whose records say their order", "drop it, or use --no-fixed-schedule")
		}
	}},
	{name: "contexts of users are counted", from: flagsOnly, flags: func(e flagged, found func(a *lower.Assignment, message, hint string)) {
		if a := e.flag(fields.DatasetPath + ".prefix_prompts.user_context_length"); a != nil && e.flag(fields.DatasetPath+".entries") == nil && e.dataset() != nil {
			found(a, "needs to know how many contexts there are", "add --num-dataset-entries")
		}
	}},
	{name: "only recorded load is changed", from: flagsOnly, flags: func(e flagged, found func(a *lower.Assignment, message, hint string)) {
		f := fields.FormatNamed(suggest.Fold(e.dataset().Get("format").Text()))
		if f == nil || f.Trace {
			return
		}
		for i := range e.src.Assignments {
			if a := &e.src.Assignments[i]; a.Origin.Source == "flag" && strings.HasPrefix(a.Path, fields.DatasetPath+".synthesis.") {
				found(a, "changes recorded load, and "+f.Name+" records none", "drop it, or give a trace with --input-file and --custom-dataset-type")
			}
		}
	}},
	{name: "a schedule is not swept", flags: func(e flagged, found func(a *lower.Assignment, message, hint string)) {
		for _, a := range e.axes {
			if e.scheduled() && strings.HasPrefix(a.path, fields.PhasePath+".") && a.origin.Source == "flag" {
				found(&lower.Assignment{Path: a.path, Origin: a.origin}, "a list does not go with a fixed schedule", "use one value, or --no-fixed-schedule")
			}
		}
	}},
	{name: "a rate says the type of the phase", severity: warned, flags: func(e flagged, found func(a *lower.Assignment, message, hint string)) {
		kind := e.phase().TypeWord()
		for i := range e.src.Assignments {
			switch a := &e.src.Assignments[i]; {
			case a.Origin.Source != "flag":
			case a.Path == fields.PhasePath+".type" && !e.typed("--fixed-schedule") && suggest.Fold(fmt.Sprint(a.Value)) != kind && e.flag(fields.PhasePath+".rate") != nil &&
				a.Origin.Where != "--no-fixed-schedule":
				found(a, ": the phase is of type "+kind, "")
			case a.Path == fields.PhasePath+".rate" && kind == "user_centric" && a.Origin.Where != "--user-centric-rate":
				found(a, ": --user-centric-rate wins", "")
			}
		}
	}},
}

// scheduled tells whether the measured phase plays recorded times.
func (e flagged) scheduled() bool { return e.phase().TypeWord() == "fixed_schedule" }

// pattern is the assignment of the flag that says how gaps are drawn.
func (d *draft) pattern() *lower.Assignment {
	for i := range d.src.Assignments {
		a := &d.src.Assignments[i]
		if a.Path == fields.PhasePath+".type" && a.Origin.Source == "flag" && (a.Origin.Where == "--arrival-pattern" || a.Origin.Where == "--request-rate-mode") {
			return a
		}
	}
	return nil
}
