package source

import (
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// matrix is the runs that a plan lists.
type matrix struct{ left []sweep.Run }

func matrixOf(plan *sweep.Plan, _ Source) Source { return &matrix{plan.Runs} }

// Next is the next one of the list, whatever came of the others.
func (m *matrix) Next([]decide.Outcome) (d Decision, ok bool, _ error) {
	if len(m.left) == 0 {
		return Decision{}, false, nil
	}
	d.Run, m.left = m.left[0], m.left[1:]
	return d, true, nil
}
