package decide

import "slices"

// WithoutLimits ends the name of an objective that a cell is best for among all
// cells, though it is not shown to keep every SLO and gate.
const WithoutLimits = " without limits"

// markUnderLimits makes the marks say what the sentence says: best is a cell that is
// shown to keep the limits. One that is ahead of it and is not is marked as that.
// certain: no cell that keeps them is in doubt.
func (r *Results) markUnderLimits(certain bool) {
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.limits() == Held {
			continue
		}
		for k := range c.BestFor {
			c.BestFor[k] += WithoutLimits
		}
	}
	for _, b := range r.UnderSLO {
		if name := b.Objective.Name; b.Shown && certain && !slices.Contains(b.Cell.BestFor, name) {
			b.Cell.BestFor = append([]string{name}, b.Cell.BestFor...)
		}
	}
}
