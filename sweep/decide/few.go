package decide

import (
	"cmp"
	"math"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/sweep"
)

// unequal reports whether a percentile is of samples that differ so much in size that
// this alone moves it: of an exponential latency the p90 of 64 values is on average
// 2.2 % below the true one, that of ten times as many 0.2 %.
func unequal(k Key, a, b float64) bool {
	for _, t := range tails {
		if t.stat == k.Stat && t.q > 0.5 {
			few, many := min(a, b), max(a, b)
			return many > 1.5*few && few < 10*float64(stats.Floor(t.q))
		}
	}
	return false
}

// quantileOf is the share below a percentile.
func quantileOf(stat string) (q float64, ok bool) {
	for _, t := range tails {
		if t.stat == stat {
			return t.q, true
		}
	}
	return 0, false
}

// Few reports whether the values of a run are too few for the percentile.
func (r Row) Few() bool {
	q, ok := quantileOf(r.Key.Stat)
	return ok && r.Count > 0 && !certainBy(cmp.Or(r.judged, sweep.Percentile(int64(r.Count))), q, r.Effective)
}

// sent is the most requests that a run sent: answered, failed or cut short.
func (e Estimates) sent() float64 {
	most := 0.0
	for _, o := range e.runs {
		n := 0.0
		for _, tag := range []string{metrics.RequestCount, metrics.ErrorRequestCount, metrics.CutRequestCount} {
			if st, ok := o.stat(Full, tag); ok {
				n += st.Avg
			}
		}
		most = max(most, n)
	}
	return most
}

// Least is the smallest number of values that a metric has in a run, 0 where there is none.
func (e Estimates) Least(tag string) float64 {
	if len(e.runs) == 0 {
		return 0
	}
	n := math.Inf(1)
	for _, o := range e.runs {
		st, _ := o.stat(e.window, tag)
		n = min(n, float64(st.Count))
	}
	return n
}

// count is how many values a metric has in a run, on average.
func (e Estimates) count(tag string) float64 {
	sum := 0.0
	for _, o := range e.runs {
		if st, ok := o.stat(e.window, tag); ok {
			sum += float64(st.Count) / float64(len(e.runs))
		}
	}
	return sum
}
