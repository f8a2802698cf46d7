package decide

import (
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
)

// farOff is how many times a number in doubt may be wrong before a gate on it stays open. What a
// check calls doubtful and not invalid is off by 10 % or a millisecond as a rule; some checks do
// not know how far. docs/decide.md has how often servers within the limit were said to miss it,
// by clients that were paused at random.
const farOff = 3

// missesByFar reports whether a gate on numbers in doubt is missed all the same: in every trial by
// its own values, and by the interval over trials, each end of which may be farOff times smaller
// or larger. A number that is invalid somewhere decides nothing.
func (g *Gate) missesByFar(c *CellResult) bool {
	over := evidence{gate: g, env: g.axes(c)}
	trials := make([]evidence, len(c.runs))
	for i := range trials {
		trials[i] = evidence{gate: g, env: over.env}
	}
	for _, k := range g.refs {
		from := g.window(c, k)
		e, ok := from.Get(k)
		if !ok || c.Taint(k).Level == validity.Wrong || math.IsInf(e.Mean, 0) {
			return false
		}
		over.estimates = append(over.estimates, wider(e))
		for i, v := range from.Values(k) {
			if !math.IsNaN(v) {
				trials[i].estimates = append(trials[i].estimates, wider(stats.Estimate{Mean: v, Low: v, High: v}))
			}
		}
	}
	whole := func(e evidence) bool { return len(e.estimates) == len(g.refs) }
	return len(g.refs) > 0 && !slices.ContainsFunc(append(trials, over), func(e evidence) bool {
		if !whole(e) { // a trial without the number
			return false
		}
		_, none := e.corners(1)
		return !none
	})
}

// wider is an estimate that may be farOff times smaller or larger; signed values do not turn.
func wider(e stats.Estimate) stats.Estimate {
	if !e.HasInterval() {
		e.Low, e.High = e.Mean, e.Mean
	}
	e.Low, e.High = min(e.Low/farOff, e.Low*farOff), max(e.High/farOff, e.High*farOff)
	return e
}
