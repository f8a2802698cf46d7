package decide

import (
	"math"

	"aiperf.dev/aiperf/internal/stats"
)

// margin makes equals of what is closer: with little noise 0.02 % would be
// certain and mean nothing.
const margin = 0.01

// contrast is one cell against another, by ln(a/b) within blocks, turned so that
// positive is better for a. Where a side is 0 or infinite there is no ratio, and
// only its sign counts.
type contrast struct {
	stats.Difference
	signs        bool // the ratio does not exist in every block
	better, same int  // blocks
	none         int  // blocks without a ratio
}

// series is one objective of one cell: its value in each trial.
type series struct {
	trial []int
	value []float64 // NaN where a trial lacks it
}

func (c *CellResult) series(o Objective) series {
	s := series{value: c.at(o.Window).Values(o.Key)}
	for _, run := range c.runs {
		s.trial = append(s.trial, run.Run.Trial)
	}
	return s
}

// against compares two series over the trials that both have.
func (s series) against(o series, dir stats.Direction) contrast {
	var d []float64
	var c contrast
	for i, j := 0, 0; i < len(s.trial) && j < len(o.trial); {
		switch {
		case s.trial[i] < o.trial[j]:
			i++
			continue
		case s.trial[i] > o.trial[j]:
			j++
			continue
		}
		a, b := s.value[i], o.value[j]
		i, j = i+1, j+1
		if math.IsNaN(a) || math.IsNaN(b) {
			continue
		}
		if dir == stats.Minimise {
			a, b = b, a
		}
		c.N++
		switch {
		case a == b:
			c.same++
			d = append(d, 0)
		case a > 0 && b > 0 && !math.IsInf(a, 1) && !math.IsInf(b, 1):
			d = append(d, math.Log(a/b))
		default:
			c.signs = true
			c.none++
			d = append(d, math.Copysign(math.Inf(1), a-b))
		}
		if a > b {
			c.better++
		}
	}
	if n := c.N; !c.signs {
		c.Difference = stats.OneSample(d)
		c.N = n
	}
	return c
}

// p is the chance of the contrast when a is not better than b: one-sided, and
// only what is beyond the margin counts. Where some ratios do not exist it is
// that of the signs, ½ⁿ when a is better in every block; where none exists and a
// is always better, b gave nothing at all, and nothing is left to chance.
func (c contrast) p() float64 {
	switch {
	case c.N < 2:
		return 1
	case c.signs:
		switch {
		case c.better < c.N:
			return 1
		case c.none == c.N:
			return 0
		}
		return math.Pow(0.5, float64(c.N))
	case c.few() || c.Mean <= math.Log1p(margin):
		return 1
	}
	return c.PAbove(0)
}

// equal reports whether the two are shown to be within the margin.
func (c contrast) equal() bool {
	if c.signs || c.few() {
		return c.N > 1 && c.same == c.N
	}
	m := math.Log1p(margin)
	return c.Equivalent(-m, m) < 0.05
}

// few reports whether there are too few trials for an interval.
func (c contrast) few() bool { return c.N < stats.FewestTrials }

// trials is how many would show a difference as large at the one-sided level,
// with a power of 80 %; nothing where no number would.
func (c contrast) trials(alpha float64) Trials {
	if c.few() || c.signs || c.Mean <= math.Log1p(margin) {
		return Trials{}
	}
	return trialsBetween(c.SD, c.DF, c.N, func(sd float64) (int, bool) {
		return stats.Design{SD: sd, Alpha: 2 * alpha, Margin: math.Log1p(margin)}.Trials(c.Mean, 0.8)
	})
}
