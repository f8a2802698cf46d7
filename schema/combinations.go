package schema

import (
	"fmt"
	"strings"

	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// denied are flags of the measured phase that AIPerf's command line refuses
// together: each sends another load than the other one says. A file says all of
// its phases itself, and its rules are CUE.
func (d *draft) denied(root *source.Node) (bad Errors) {
	p, ds := root.At(fields.PhasePath), root.At(fields.DatasetPath)
	refuse := func(a *lower.Assignment, message, hint string) {
		if a != nil && d.src.File == "" {
			bad = append(bad, source.Mistake(a.Origin, a.Path, message, hint)...)
		}
	}
	above := func(limit, count string) {
		a, n, m := d.flag(fields.PhasePath+"."+limit), d.largest(fields.PhasePath+"."+limit, p.Get(limit)), p.Get(count)
		if a != nil && n != nil && d.flag(fields.PhasePath+"."+count) != nil && d.axis(fields.PhasePath+"."+count) == nil && source.NumberOf(n.Value) > source.NumberOf(m.Value) {
			refuse(a, fmt.Sprintf("is above %s: %.0f of %.0f slots would never be used", shownFlag(d, count), source.NumberOf(n.Value)-source.NumberOf(m.Value), source.NumberOf(n.Value)), "raise the count, or lower the concurrency")
		}
	}
	requests, sessions := d.flag(fields.PhasePath+".requests"), d.flag(fields.PhasePath+".sessions")
	switch pattern := d.pattern(); {
	case d.typed("--user-centric-rate") && d.typed("--request-rate"):
		refuse(d.flag(fields.PhasePath+".rate"), "--user-centric-rate and --request-rate say two rates", "keep one of them")
	case d.typed("--user-centric-rate"):
		refuse(pattern, "does not go with --user-centric-rate, whose users send at a steady pace", "drop one of them")
	case d.typed("--request-rate") && pattern != nil && pattern.Value == "concurrency":
		refuse(pattern, "concurrency_burst does not go with --request-rate", "use constant, poisson or gamma, or --concurrency without a rate")
	}
	if requests != nil {
		refuse(sessions, "does not go with "+requests.Origin.Where, "keep one of them: requests may end within a conversation, sessions do not")
	}
	if w := "benchmark.phases.warmup."; d.flag(w+"requests") != nil {
		refuse(d.flag(w+"sessions"), "does not go with "+d.flag(w+"requests").Origin.Where, "keep one of them")
	}
	if sessions != nil {
		above("concurrency", "sessions")
	} else {
		above("concurrency", "requests")
	}
	if d.typed("--fixed-schedule-auto-offset") {
		refuse(d.flag(fields.PhasePath+".start_offset"), "does not go with --fixed-schedule-auto-offset, which starts at the first record", "keep one of them")
	}
	if a := d.flag(fields.DatasetPath + ".sampling"); a != nil && a.Value != "sequential" && p.TypeWord() == "fixed_schedule" {
		refuse(a, "does not go with a fixed schedule, whose records say their order", "drop it, or use --no-fixed-schedule")
	}
	if a := d.flag(fields.DatasetPath + ".prefix_prompts.user_context_length"); a != nil && d.flag(fields.DatasetPath+".entries") == nil && ds != nil {
		refuse(a, "needs to know how many contexts there are", "add --num-dataset-entries")
	}
	if f := fields.FormatNamed(suggest.Fold(ds.Get("format").Text())); f != nil && !f.Trace {
		for i := range d.src.Assignments {
			if a := &d.src.Assignments[i]; a.Origin.Source == "flag" && strings.HasPrefix(a.Path, fields.DatasetPath+".synthesis.") {
				refuse(a, "changes recorded load, and "+f.Name+" records none", "drop it, or give a trace with --input-file and --custom-dataset-type")
			}
		}
	}
	return bad
}

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

// shownFlag is the flag that was typed for a field of the measured phase.
func shownFlag(d *draft, field string) string {
	return d.flag(fields.PhasePath + "." + field).Origin.Where
}
