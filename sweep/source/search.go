package source

import (
	"math"

	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
	"aiperf.dev/aiperf/sweep/search"
)

// searching makes up the runs of a search for the largest load within limits.
type searching struct {
	plan   *sweep.Plan
	prober decide.Prober
}

func searchOf(plan *sweep.Plan, _ Source) Source {
	if plan.Experiment.Search == nil {
		return nil
	}
	return &searching{plan, decide.NewProber(plan)}
}

// Next is the next probe. Its trial is how often the load was probed before.
func (s *searching) Next(sofar []decide.Outcome) (Decision, bool, error) {
	step := search.Next(Terms(s.plan), s.probes(sofar))
	if step.Answer != nil {
		return Decision{}, false, nil
	}
	cell, err := s.plan.GrowAt(step.Load)
	if err != nil {
		return Decision{}, false, err
	}
	trial := 0
	for i := range sofar {
		if sofar[i].Run.Cell == cell {
			trial++
		}
	}
	return Decision{Run: s.plan.RunOf(cell, trial), Why: step.Why, Standing: step.Standing()}, true, nil
}

// mostCut is the share of a run's requests that may have been cut off at its end for the mean latency of
// the others to be that of all: then each user had two answers, about.
const mostCut = 1.0 / 3

func (s *searching) probes(sofar []decide.Outcome) []search.Run {
	var runs []search.Run
	for i := range sofar {
		o := &sofar[i]
		p := s.prober.Probe(o)
		run := search.Run{
			Load: o.Run.Cell.Load(), Worst: p.Worst, Best: p.Best, Own: states[p.Own], Rate: known(p.Rate),
			Latency: known(p.Latency), Unfit: p.Unfit, Died: o.Gone, Took: o.Took,
		}
		if float64(o.Cut) > mostCut*float64(o.Sent) {
			run.Latency = 0 // those that were answered are the fast ones
		}
		for _, t := range p.Tiers {
			run.Tiers = append(run.Tiers, search.Shares{Worst: t[0], Best: t[1]})
		}
		runs = append(runs, run)
	}
	return runs
}

// known is a figure that is above 0, else 0.
func known(v float64) float64 {
	if v > 0 && !math.IsInf(v, 0) {
		return v
	}
	return 0
}

var states = map[decide.State]search.State{
	decide.Held: search.Holds, decide.Missed: search.Fails,
	decide.Undecided: search.Undecided,
}

// Found is what the outcomes of a plan's search show, also where it was stopped before
// its end; nil for a plan without a search.
func Found(plan *sweep.Plan, outcomes []decide.Outcome) *search.Answer {
	if plan.Experiment.Search == nil {
		return nil
	}
	s := searching{plan, decide.NewProber(plan)}
	return search.SoFar(Terms(plan), s.probes(outcomes))
}

// Terms are those of a plan's search.
func Terms(plan *sweep.Plan) search.Terms {
	s := plan.Experiment.Search
	t := search.Terms{
		Find: search.Find(s.Find), Low: s.Range[0], High: s.Range[1],
		Whole: sweep.AxisNamed(plan.Searched().Name).Whole,
		Share: s.Share, Resolution: s.Resolution, Probes: s.Budget.Probes,
	}
	if s.Start != nil {
		t.Start = *s.Start
	}
	for _, x := range plan.Tiers() {
		t.Tiers = append(t.Tiers, search.Tier{Name: x.Name, Share: x.Share})
	}
	if s.Budget.Time != nil {
		t.Time = s.Budget.Time.Go()
	}
	return t
}
