package decide

import (
	"fmt"
	"math"
)

// Clients takes back what a comparison said of the figures of a key, where the clients of the
// two sides may explain it: they may be off by so many ms together, on which no number of
// trials says anything. A change must be larger than that, and what is called equal must be
// so wherever their errors lie. Times alone have such errors.
func (c *Comparison) Clients(k Key, ms float64) {
	share := 0.0 // of the smallest baseline: what it is in a mean over cells
	for i := range c.Rows {
		if r := &c.Rows[i]; r.Key == k {
			share = max(share, ms/r.Base)
			r.clients(ms, ms/r.Base)
		}
	}
	for i := range c.Together {
		if r := &c.Together[i]; r.Key == k {
			r.clients(ms, share)
		}
	}
}

// clients judges a row of a time again: share is ms as a part of the baseline.
func (r *Row) clients(ms, share float64) {
	low, high, _ := r.Shown()
	switch {
	case r.Outcome == Worse && !(low > share), r.Outcome == Better && !(-high > share):
	case r.Outcome == Equivalent && !(max(-low, high)+share <= r.Margin):
	case r.Outcome == Unclear && r.Harmless && !(high+share <= r.Margin):
	default:
		return
	}
	said := "a change beyond the margin is not ruled out"
	if r.Outcome == Worse || r.Outcome == Better {
		said = "the difference is within that"
		if by := math.Abs(r.Candidate - r.Base); by > ms {
			said = fmt.Sprintf("the difference, %.3g ms, may be within that", by)
		}
	}
	r.Outcome, r.Harmless, r.BeyondMargin, r.Trials, r.AsSeen = Unclear, false, false, Trials{}, false
	*r = r.cannot(fmt.Sprintf("the clients themselves may be off by %.3g ms, and %s", ms, said))
}
