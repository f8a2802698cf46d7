package report

import (
	"fmt"
	"strings"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep/search/planner"
)

// This file says what an adaptive search of AIPerf's kind found: where the limits begin to
// be missed, the best point, and why it ended.

// adaptiveSentences are the answer of an adaptive search.
func (r *Report) adaptiveSentences() (out []string) {
	a := r.Adaptive
	for k := range a.Tiers {
		out = append(out, r.boundarySentence(k)...)
		out = append(out, r.bestFound(k))
	}
	n := len(a.Iterations)
	ended := "the search: " + words.Count(n, "iteration") + ", ended before its end"
	if a.Ended != "" {
		ended = fmt.Sprintf("the search: %s, ended because %s", words.Count(n, "iteration"), r.ended(a.Ended))
	}
	if a.Tiers[0].Boundary != nil {
		ended += "; points are judged by single figures, which search (search: {range, where}) does by intervals"
	}
	return append(out, ended)
}

// tierName begins what is said of one of several tiers.
func (r *Report) tierName(tier int) string {
	if t := r.Adaptive.Tiers[tier]; t.Label != "" {
		return t.Label + ": "
	}
	return ""
}

// point is an iteration's place in words.
func (r *Report) point(i int) string { return r.Adaptive.Iterations[i].Runs[0].Run.Cell.Short() }

// boundarySentence is where along one dimension a limit is first missed, none of a search that
// has no such place.
func (r *Report) boundarySentence(tier int) []string {
	b := r.Adaptive.Tiers[tier].Boundary
	if b == nil {
		return nil
	}
	name := r.tierName(tier)
	switch {
	case b.Holds == nil && b.Fails == nil:
		return nil
	case b.Fails == nil:
		return []string{fmt.Sprintf("%s%s keeps the limits, and nothing that was measured misses them", name,
			r.point(*b.Holds))}
	case b.Holds == nil:
		return []string{fmt.Sprintf("%s%s misses the limits, and nothing that was measured keeps them (%s)", name,
			r.point(*b.Fails), r.missed(*b.Fails, tier))}
	}
	text := fmt.Sprintf("%s%s keeps the limits, %s does not (%s)", name, r.point(*b.Holds), r.point(*b.Fails),
		r.missed(*b.Fails, tier))
	if b.Kind == "cliff" {
		text += "; a cliff"
	}
	return []string{text}
}

// missed is the first limit that an iteration misses, and by what.
func (r *Report) missed(i, tier int) string {
	b := r.Adaptive.Iterations[i].Breach[tier]
	switch {
	case b == nil:
		return "no result"
	case b.Observed == nil:
		return b.String() + ": no figure"
	}
	return fmt.Sprintf("%s: %s", b, words.Number(*b.Observed))
}

// bestFound is the best point, or the front of several objectives.
func (r *Report) bestFound(tier int) string {
	t, goals := r.Adaptive.Tiers[tier], r.Plan.Adaptive.Objectives
	var names []string
	for _, g := range goals {
		names = append(names, g.Metric+"."+g.Stat)
	}
	if len(t.Best) == 0 {
		return r.tierName(tier) + "no iteration has " + words.And(names)
	}
	under := ""
	if len(t.Filters) > 0 {
		under = " that keep the limits"
		if !r.Adaptive.Iterations[t.Best[0]].Tiers[tier].Feasible {
			under = "; none keeps the limits"
		}
	}
	if len(goals) > 1 {
		var points []string
		for _, i := range t.Best {
			points = append(points, r.point(i))
		}
		return fmt.Sprintf("%s%s of %s%s: %s", r.tierName(tier), words.CountOf(len(points), "best point",
			"best points"), words.And(names), under, strings.Join(points, " · "))
	}
	i := t.Best[0]
	return fmt.Sprintf("%sbest %s of the points%s: %s, %s (iteration %d)", r.tierName(tier), names[0], under,
		r.point(i), words.Number(r.Adaptive.Iterations[i].Tiers[tier].Goals[0]), i)
}

// ended is why a search ended, in words.
func (r *Report) ended(why planner.Reason) string {
	a := r.Plan.Adaptive
	switch why {
	case planner.MaxIterations:
		return "that is max_iterations"
	case planner.NoImprovement:
		return fmt.Sprintf("%d iterations in a row brought no improvement", a.Patience)
	case planner.Plateau:
		return fmt.Sprintf("the last %d iterations differ by less than %s",
			a.PlateauWindow, words.Percent(a.PlateauFlat))
	case planner.Exhausted:
		return "every point of the space was measured"
	case planner.Regret, planner.EMMR:
		return "the model expects too little more"
	}
	switch text := string(why); {
	case strings.HasSuffix(text, "no_pass_in_range"):
		return "the lower end of the range misses the limits"
	case strings.HasSuffix(text, "no_failure_in_range"):
		return "the upper end of the range keeps the limits"
	}
	return "the ends are as near as was asked"
}
