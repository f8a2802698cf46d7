package preview

import (
	"fmt"
	"io"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
	"aiperf.dev/aiperf/sweep/search/planner"
	"aiperf.dev/aiperf/sweep/source"
)

// adaptivePlan is what an adaptive search takes, and how it goes about it.
func adaptivePlan(w io.Writer, plan *sweep.Plan, b sweep.Bound) {
	a := plan.Adaptive
	row, _ := planner.Named(a.Planner)
	size := fmt.Sprintf("at most %s", words.Count(a.MaxIterations, "iteration"))
	if plan.Trials > 1 {
		size += " of " + words.Count(plan.Trials, "run")
	}
	var requests int64
	var least time.Duration
	for _, p := range b.Cells[0].Phases {
		requests, least = requests+p.Requests, least+p.AtLeast
	}
	if requests > 0 {
		size += fmt.Sprintf(", %s each", words.Count(requests, "request"))
	}
	if least > 0 {
		size += fmt.Sprintf(", at least %s each", words.Span(least))
	}
	fmt.Fprintf(w, "%s: an adaptive search, %s\n", plan.Name, size)
	words.TwoColumns(w, "planner", a.Planner+": "+row.Doc, 8)
	var space, goals []string
	for k, d := range a.Space {
		space = append(space, fmt.Sprintf("%s from %g to %g", plan.Axes[k].Name, d.Lo, d.Hi))
	}
	words.TwoColumns(w, "search", strings.Join(space, " · ")+", first at "+plan.Cells[0].Short(), 8)
	for _, g := range a.Objectives {
		goals = append(goals, fmt.Sprintf("%s %s.%s", g.Direction, g.Metric, g.Stat))
	}
	words.TwoColumns(w, "goal", strings.Join(goals, " · "), 8)
	for _, t := range source.Tiers(plan) {
		var limits []string
		for _, f := range t.Filters {
			limits = append(limits, f.String())
		}
		if len(limits) > 0 {
			name := "limits"
			if t.Label != "" {
				limits[0] = t.Label + ": " + limits[0]
			}
			words.TwoColumns(w, name, strings.Join(limits, " · "), 8)
		}
	}
	for _, what := range decide.Absent(plan) {
		words.TwoColumns(w, "doubt", what+"; without it no point has the figure", 8)
	}
}
