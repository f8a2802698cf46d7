package source

import (
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// enough leaves out the trials of a cell that a plan's rule of convergence finds
// unnecessary.
type enough struct {
	plan  *sweep.Plan
	inner Source
}

func enoughOf(plan *sweep.Plan, inner Source) Source {
	if plan.MultiRun.Convergence == nil {
		return nil
	}
	return &enough{plan, inner}
}

// Next is the inner source's next run, spared where its cell's trials are enough. The
// sentinel has no trials.
func (e *enough) Next(sofar []decide.Outcome) (Decision, bool, error) {
	d, ok, err := e.inner.Next(sofar)
	if !ok || d.Spared || d.Run.Sentinel > 0 {
		return d, ok, err
	}
	var cell []*decide.Outcome
	for i := range sofar {
		if o := &sofar[i]; o.Run.Cell == d.Run.Cell && o.Run.Sentinel == 0 {
			cell = append(cell, o)
		}
	}
	if stop, done := decide.Enough(e.plan, cell); done {
		d.Spared, d.Why = true, stop.Why
	}
	return d, true, nil
}
