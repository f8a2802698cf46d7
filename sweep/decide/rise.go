package decide

import (
	"math"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
)

// rise is a share of which one side lost nothing in any trial, and the other did in most:
// requests that failed, or that were not good.
type rise struct {
	stats.Rise
	sign float64 // −1 where the candidate lost, +1 where the baseline did
}

// bad are the requests of each trial that are not good; good is what is good of the whole.
func bad(e Estimates, m *metrics.Metric, good []float64) []stats.Tally {
	var out []stats.Tally
	for i, v := range good {
		if n := e.whole(i, m); !math.IsNaN(v) && n > 0 {
			effect := e.runs[i].FailedEffect
			if m.LargerIsBetter {
				effect = e.runs[i].GoodEffect
			}
			out = append(out, stats.Tally{Hits: math.Round(n * (1 - v/m.Full())), Of: n, Effect: effect})
		}
	}
	return out
}

func riseOf(base, candidate []stats.Tally) *rise {
	if r, ok := stats.RiseFromNone(base, candidate); ok {
		return &rise{r, -1}
	}
	if r, ok := stats.RiseFromNone(candidate, base); ok {
		return &rise{r, 1}
	}
	return nil
}

// narrow moves the ends of a row's intervals away from 0 where the counts rule out more than
// the spread of the trials does. What is compared is the share that is good, of which one side
// has all: a loss of 3 points leaves 97 % of it.
func (x *rise) narrow(r *Row, level float64) {
	most := func(alpha float64) float64 { return math.Expm1(math.Log1p(-x.Low(alpha)) * -x.sign) }
	shown, equal := most((1-level)/2), most((1-EqualLevel)/2)
	if x.sign < 0 {
		r.High, r.EqualHigh = min(r.High, shown), min(r.EqualHigh, equal)
	} else {
		r.Low, r.EqualLow = max(r.Low, shown), max(r.EqualLow, equal)
	}
	r.P = min(r.P, x.P())
}
