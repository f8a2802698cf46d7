package metrics

import (
	"math"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
)

// empty is a Stat in which nothing has been computed.
func empty(m *Metric) Stat {
	n := math.NaN()
	return Stat{
		Tag: m.Tag, Header: m.Header, Unit: m.Unit,
		Avg: n, Min: n, Max: n, Sum: n, Std: n,
		P1: n, P5: n, P10: n, P25: n, P50: n, P75: n, P90: n, P95: n, P99: n, P999: n, NEff: n,
	}
}

func scalar(m *Metric, v float64) (Stat, bool) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Stat{}, false
	}
	s := empty(m)
	s.Scalar, s.Avg = true, v
	return s, true
}

// distribution is the statistics of values given in the order of their
// requests; it sorts them. False when there are none.
func distribution(m *Metric, values []float64, w *workshop) (Stat, bool) {
	if len(values) == 0 {
		return Stat{}, false
	}
	s := empty(m)
	s.Count = int64(len(values))
	var worth stats.Worth
	if m.correlated() {
		worth = w.series.Worth(values)
		s.NEff = worth.N
		w.inOrder = append(w.inOrder[:0], values...)
	}
	w.sorter.Sort(values)
	s.Min, s.Max = values[0], values[len(values)-1]
	s.Sum = stats.Sum(values)
	s.Avg = s.Sum / float64(len(values))
	s.Std = stats.Std(values)
	s.setPercentiles(func(q float64) float64 { return stats.Quantile(values, q) })
	if m.correlated() {
		s.Intervals = intervals(values,
			func(q, at float64) (float64, bool) { return w.series.Tail(w.inOrder, q, at, worth) })
	}
	return s, true
}

// workshop is the scratch of statistics, kept between them.
type workshop struct {
	sorter  stats.Sorter
	series  stats.Series
	inOrder []float64 // values in the order of their requests, while they are sorted
}

// intervalLevel is the level of the intervals of percentiles.
const intervalLevel = 0.95

// intervals are those of the percentiles of sorted values. worth says how many
// independent ones the percentile q with the value at may count on, false where
// that is not enough.
func intervals(sorted []float64, worth func(q, at float64) (float64, bool)) []Interval {
	var out []Interval
	for _, p := range [...]struct {
		stat string
		q    float64
	}{
		{"p1", 0.01},
		{"p5", 0.05},
		{"p10", 0.1},
		{"p25", 0.25},
		{"p50", 0.5},
		{"p75", 0.75},
		{"p90", 0.9},
		{"p95", 0.95},
		{"p99", 0.99},
		{"p999", 0.999},
	} {
		n, enough := worth(p.q, stats.Quantile(sorted, p.q))
		if low, high, ok := stats.QuantileInterval(sorted, p.q, n, intervalLevel); enough && ok {
			out = append(out, Interval{p.stat, low, high})
		}
	}
	return out
}

// adjustedOf is the statistics of n values and one +Inf per failure, by the
// nearest rank, so that no number is made up between a value and infinity.
// sorted are the values, or fewer with the same quantiles. Avg, sum and std are
// absent.
func adjustedOf(m *Metric, sorted []float64, n, failures int64) Stat {
	s := empty(m)
	s.Count = n + failures
	s.Min = sorted[0]
	s.setPercentiles(func(q float64) float64 {
		i := int64(math.RoundToEven(q * float64(s.Count-1)))
		if i >= n {
			return math.Inf(1)
		}
		return sorted[i*int64(len(sorted))/n]
	})
	return s
}

// adjustedWith counts what was cut off or never sent as a failure, too. Plain is
// AIPerf's: without these, and with what was cancelled as asked; nil where it is the
// same, and without values where then nothing failed.
func adjustedWith(m *Metric, sorted []float64, n int64, t *Totals) (Stat, bool) {
	ours, theirs := t.In(record.Attempted&^record.InOK), t.In(record.InFailed|record.InCancelled)
	var s, plain Stat
	if ours > 0 {
		s = adjustedOf(m, sorted, n, ours)
	}
	if theirs > 0 {
		plain = adjustedOf(m, sorted, n, theirs)
	}
	switch {
	case ours == theirs:
	case ours == 0:
		return beside(m, s, false, plain)
	default:
		s.Plain = &plain
	}
	return s, true
}

// derived is a metric of the whole run. What it is for AIPerf stands beside it,
// where that is something else.
func derived(m *Metric, t *Totals) (Stat, bool) {
	s, ok := scalar(m, m.Derived(t))
	if ok && m.undecided != nil {
		s.Open = m.undecided(t)
	}
	if m.theirs == nil {
		return s, ok
	}
	switch theirs, known := scalar(m, m.theirs(t)); {
	case !known && ok || known && !ok:
		return s, ok
	case known && theirs.Avg != s.Avg:
		s.Plain = &theirs
	}
	return s, ok
}

func (s *Stat) setPercentiles(at func(q float64) float64) {
	s.P1, s.P5, s.P10, s.P25, s.P50 = at(0.01), at(0.05), at(0.10), at(0.25), at(0.50)
	s.P75, s.P90, s.P95, s.P99, s.P999 = at(0.75), at(0.90), at(0.95), at(0.99), at(0.999)
}

// Value is a statistic by name; NaN when absent or unknown.
func (s Stat) Value(name string) float64 {
	switch name {
	case "avg", "value":
		return s.Avg
	case "min":
		return s.Min
	case "max":
		return s.Max
	case "sum":
		return s.Sum
	case "std":
		return s.Std
	case "count":
		if s.Count > 0 {
			return float64(s.Count)
		}
	case "p1":
		return s.P1
	case "p5":
		return s.P5
	case "p10":
		return s.P10
	case "p25":
		return s.P25
	case "p50":
		return s.P50
	case "p75":
		return s.P75
	case "p90":
		return s.P90
	case "p95":
		return s.P95
	case "p99":
		return s.P99
	case "p999":
		return s.P999
	case "n_effective":
		return s.NEff
	}
	return math.NaN()
}
