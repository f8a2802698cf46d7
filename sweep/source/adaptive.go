package source

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
	"aiperf.dev/aiperf/sweep/search"
	"aiperf.dev/aiperf/sweep/search/planner"
)

// adapting makes up the runs of an adaptive search: a planner gives the point of each
// iteration, which is measured as often as multi_run.num_runs says.
type adapting struct{ plan *sweep.Plan }

func adaptiveOf(plan *sweep.Plan, _ Source) Source {
	if plan.Adaptive == nil {
		return nil
	}
	return &adapting{plan}
}

// Next is the next run. Its trial is how often the point was measured before.
func (a *adapting) Next(sofar []decide.Outcome) (Decision, bool, error) {
	n := len(sofar)
	trial := func(c *sweep.Cell) (trial int) {
		for i := range sofar {
			if sofar[i].Run.Cell == c {
				trial++
			}
		}
		return trial
	}
	if k := n % a.plan.Trials; k > 0 {
		c := sofar[n-1].Run.Cell
		return Decision{Run: a.plan.Iterated(c, trial(c), n), Why: fmt.Sprintf("run %d of %d of iteration %d", k+1,
			a.plan.Trials, n/a.plan.Trials), Standing: a.standing(sofar)}, true, nil
	}
	step := a.step(Iterations(a.plan, sofar))
	if step.Ended != "" {
		return Decision{}, false, nil
	}
	c, err := a.plan.GrowPoint(step.At)
	if err != nil {
		return Decision{}, false, err
	}
	return Decision{Run: a.plan.Iterated(c, trial(c), n), Why: step.Why, Standing: a.standing(sofar)}, true, nil
}

// step is what the planner says: of several tiers that of the first whose boundary is still
// looked for.
func (a *adapting) step(of []Iteration) (step planner.Step) {
	for tier := range Tiers(a.plan) {
		if step = planner.Next(a.plan.PlannerTerms(), seenOf(of, tier)); step.Ended == "" {
			break
		}
	}
	return step
}

// standing says what is known before a run.
func (a *adapting) standing(sofar []decide.Outcome) string {
	of := Iterations(a.plan, sofar)
	left := words.Count(a.plan.Adaptive.MaxIterations-len(sofar)/a.plan.Trials, "iteration") + " left"
	terms := a.plan.PlannerTerms()
	best := planner.Best(&terms, seenOf(of, 0))
	if len(best) == 0 {
		return "nothing is known yet; " + left
	}
	x := of[best[0]]
	text := fmt.Sprintf("best so far %s: %s %s", x.Runs[0].Run.Cell.Short(), a.plan.Adaptive.Objectives[0].Metric,
		words.Number(x.Tiers[0].Goals[0]))
	if !x.Tiers[0].Feasible {
		text += ", which misses a limit"
	}
	return text + "; " + left
}

// Iteration is one point of an adaptive search with what its runs gave together.
type Iteration struct {
	Runs []*decide.Outcome
	// Tiers are what it says under the limits of each tier; there is always one.
	Tiers []planner.Seen
	// Breach is the first limit that it misses, by tier; nil where it keeps all.
	Breach []*Breach
}

// Breach is a limit that was missed.
type Breach struct {
	schema.SLAFilter
	Observed *float64 // nil where there is no figure
}

// Tier is a set of limits with its name.
type Tier struct {
	Label   string
	Filters []schema.SLAFilter
}

// Tiers are the limits of a search, the limits of the sweep among those of every tier.
func Tiers(p *sweep.Plan) []Tier {
	if p.Adaptive == nil || len(p.Adaptive.Tiers) == 0 {
		return []Tier{{Filters: p.Filters}}
	}
	var out []Tier
	for _, t := range p.Adaptive.Ranked() {
		out = append(out, Tier{t.Label, slices.Concat(p.Filters, t.Filters)})
	}
	return out
}

// Iterations are those that outcomes make; the last one may lack runs.
func Iterations(p *sweep.Plan, outcomes []decide.Outcome) (out []Iteration) {
	if p.Adaptive == nil {
		return nil
	}
	tiers := Tiers(p)
	for i := 0; i < len(outcomes); i += p.Trials {
		var x Iteration
		for k := i; k < min(i+p.Trials, len(outcomes)); k++ {
			x.Runs = append(x.Runs, &outcomes[k])
		}
		goals := goalsOf(p.Adaptive, x.Runs)
		for _, t := range tiers {
			s := planner.Seen{At: x.Runs[0].Run.Cell.PointOf(), Goals: goals, Feasible: true}
			var breach *Breach
			for _, f := range t.Filters {
				v, ok := mean(x.Runs, decide.Key{Tag: f.MetricTag, Stat: f.Stat})
				switch {
				case !ok:
					s.Margins = append(s.Margins, math.NaN())
				default:
					s.Margins = append(s.Margins, f.Margin(v))
				}
				if ok && f.Keeps(v) {
					continue
				}
				s.Feasible = false
				if breach == nil {
					breach = &Breach{SLAFilter: f}
					if ok {
						breach.Observed = &v
					}
				}
			}
			for _, c := range p.Adaptive.Constraints {
				v, ok := mean(x.Runs, decide.Key{Tag: c.Metric, Stat: "avg"})
				if !ok {
					v = math.NaN()
				}
				s.Soft = append(s.Soft, c.Margin(v))
			}
			if goals == nil { // a point that gave nothing keeps no limit
				s.Feasible = false
			}
			x.Tiers, x.Breach = append(x.Tiers, s), append(x.Breach, breach)
		}
		out = append(out, x)
	}
	return out
}

// goalsOf are the objectives over the runs of a point, nil where one has no value.
func goalsOf(a *schema.Adaptive, runs []*decide.Outcome) (out []float64) {
	for _, o := range a.Objectives {
		v, ok := mean(runs, decide.Key{Tag: o.Metric, Stat: o.Stat})
		if a.Pooling == "pooled" && ok {
			v, ok = pooled(runs, o.Stat)
		}
		if !ok {
			return nil
		}
		out = append(out, v)
	}
	return out
}

// mean is that of a figure over the runs that have it, as AIPerf takes it.
func mean(runs []*decide.Outcome, k decide.Key) (float64, bool) {
	sum, n := 0.0, 0
	for _, o := range runs {
		if v, ok := o.Figure(k); ok {
			sum, n = sum+v, n+1
		}
	}
	return sum / float64(max(n, 1)), n > 0
}

// pooled is a percentile of the requests of all runs together.
func pooled(runs []*decide.Outcome, stat string) (float64, bool) {
	var all []float64
	for _, o := range runs {
		all = append(all, o.Sample...)
	}
	slices.Sort(all)
	q, err := strconv.ParseFloat(strings.TrimPrefix(stat, "p"), 64)
	if err != nil || len(all) == 0 {
		return 0, false
	}
	return stats.Quantile(all, q/100), true
}

// seenOf is what a planner is told of iterations under the limits of a tier; one that lacks
// runs is told, too.
func seenOf(of []Iteration, tier int) []planner.Seen {
	out := make([]planner.Seen, len(of))
	for i := range of {
		out[i] = of[i].Tiers[tier]
	}
	return out
}

// Adapted is what an adaptive search found.
type Adapted struct {
	Iterations []Iteration
	Tiers      []AdaptedTier  // one without tiers
	Ended      planner.Reason // "" as long as iterations follow
}

// AdaptedTier is what it found under the limits of a tier.
type AdaptedTier struct {
	Tier
	Best     []int // iterations, several on a front; none without a result
	Boundary *planner.Boundary
	Ended    planner.Reason
	Warnings []bool // of each iteration: it contradicts an earlier one
}

// Adapt is what the outcomes of a plan's adaptive search show, also where it was stopped
// before its end; nil for a plan without one.
func Adapt(p *sweep.Plan, outcomes []decide.Outcome) *Adapted {
	if p.Adaptive == nil {
		return nil
	}
	out := &Adapted{Iterations: Iterations(p, outcomes)}
	terms := p.PlannerTerms()
	whole := len(outcomes)%p.Trials == 0
	for k, t := range Tiers(p) {
		seen := seenOf(out.Iterations, k)
		x := AdaptedTier{Tier: t, Best: planner.Best(&terms, seen), Boundary: planner.BoundaryOf(terms, seen)}
		if whole {
			x.Ended = planner.Next(terms, seen).Ended
		}
		for i := range seen {
			x.Warnings = append(x.Warnings, planner.Warning(seen, i))
		}
		out.Tiers = append(out.Tiers, x)
	}
	if !slices.ContainsFunc(out.Tiers, func(t AdaptedTier) bool { return t.Ended == "" }) {
		out.Ended = out.Tiers[0].Ended
	}
	return out
}

// NoneKeeps reports whether there are limits and no iteration keeps those of any tier.
func (a *Adapted) NoneKeeps() bool {
	if a == nil {
		return false
	}
	limited := false
	for k := range a.Tiers {
		limited = limited || len(a.Tiers[k].Filters) > 0
		for _, x := range a.Iterations {
			if x.Tiers[k].Feasible {
				return false
			}
		}
	}
	return limited
}

// Decision is what an iteration shows of its point under the limits of the first tier: that
// it holds or fails; "" without limits.
func (a *Adapted) Decision(i int) string {
	switch {
	case len(a.Tiers[0].Filters) == 0:
		return ""
	case a.Iterations[i].Tiers[0].Feasible:
		return string(search.Holds)
	}
	return string(search.Fails)
}
