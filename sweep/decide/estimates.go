package decide

import (
	"iter"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
)

// The windows of a run.
const (
	Full   = "full"   // from the first request to the last answer
	Steady = "steady" // at the load that was asked for; not every run has one
)

// Estimates are the statistics of one cell in one window over its trials. Each
// is computed when it is asked for: a plan has a million of them and looks at a
// few thousand.
type Estimates struct {
	runs   []*Outcome
	window string
	level  float64
	// invalid: the experiment takes invalid numbers in all the same.
	invalid bool
	known   map[Key]stats.Estimate
}

// Window is the part of the runs that they are of.
func (e Estimates) Window() string { return e.window }

// over is the same over another window.
func (e Estimates) over(window string) Estimates {
	e.window = window
	return e
}

// of is the same of other runs.
func (e Estimates) of(runs []*Outcome) Estimates {
	e.runs = runs
	return e
}

// keepsUp reports whether the server kept up with the load over the trials: the mean
// of their backlogs decides, and where they have none nobody asks.
func (e Estimates) keepsUp() bool {
	var shares []float64
	limit := 0.0
	for _, o := range e.runs {
		if o.Backlog != nil {
			shares, limit = append(shares, o.Backlog.Share), max(limit, o.Backlog.Limit)
		}
	}
	return len(shares) > 1 && stats.Mean(shares) <= limit
}

// Taint is what findings do to a statistic over the trials: the worst of it, and
// in how many of them.
func (e Estimates) Taint(k Key) validity.Taint {
	var worst validity.Taint
	for _, o := range e.runs {
		t := o.Taints.Of(k.Tag, k.Stat)
		switch {
		case t.None(), t.Check == validity.Backlog && e.keepsUp():
			continue
		case t.Level.Worse(worst.Level):
			worst = validity.Taint{Check: t.Check, Level: t.Level}
		case t.Level != worst.Level:
			continue
		}
		worst.Runs++
	}
	if worst.Of = len(e.runs); worst.None() || len(e.runs) == 1 {
		worst.Runs, worst.Of = 0, 0
	}
	return worst
}

// leftOut reports whether the number of a run is invalid, and the experiment does not
// take such a number.
func (e Estimates) leftOut(o *Outcome, k Key) bool {
	return !e.invalid && o.Taints.Of(k.Tag, k.Stat).Level == validity.Wrong
}

// measured reports whether a trial has the number, valid or not: what is asked of the
// trials must not depend on which of their numbers are valid.
func (e Estimates) measured(k Key) bool {
	e.invalid = true
	_, ok := e.Get(k)
	return ok
}

// Known are estimates that came from elsewhere.
func Known(of map[Key]stats.Estimate) Estimates { return Estimates{known: of} }

// stampMS is the resolution of the stamps: no interval of a time is narrower.
const stampMS = 1e-3

// Get estimates a statistic over the trials; false when none has it.
func (e Estimates) Get(k Key) (stats.Estimate, bool) {
	if e.known != nil {
		est, ok := e.known[k]
		return est, ok
	}
	m, ok := metrics.Lookup(k.Tag)
	if !ok {
		m = &metrics.Metric{}
	}
	values := e.Values(k)
	some := false
	for _, v := range values {
		some = some || !math.IsNaN(v)
	}
	if !some {
		return stats.Estimate{}, false
	}
	est := e.estimate(m, k, values)
	if low, high, open := e.ends(k, values); open {
		est = est.Spanning(e.estimate(m, k, low), e.estimate(m, k, high))
	}
	return est, true
}

// Possible is a statistic over the trials with an interval that holds wherever the numbers in
// doubt may lie; false where it is not known how far one may be off.
func (e Estimates) Possible(k Key) (stats.Estimate, bool) {
	if e.known != nil {
		return stats.Estimate{}, false
	}
	m, ok := metrics.Lookup(k.Tag)
	if !ok {
		m = &metrics.Metric{}
	}
	e.invalid = true // an invalid number has a range, too
	est, ok := e.Get(k)
	if !ok {
		return est, false
	}
	low, high, known := e.possible(k)
	if !known {
		return est, false
	}
	if !est.HasInterval() {
		est.Low, est.High = est.Mean, est.Mean
	}
	for _, end := range []stats.Estimate{e.estimate(m, k, low), e.estimate(m, k, high)} {
		if !end.HasInterval() {
			end.Low, end.High = end.Mean, end.Mean
		}
		est.Low, est.High = min(est.Low, end.Low), max(est.High, end.High)
	}
	return est, true
}

// possible are the values of the trials where each that is in doubt is as low, and as high, as it
// may be; false where it is not known how far one may be off. Failures and good requests are counted
// in the whole run: how many of them are in a part of it is not known.
func (e Estimates) possible(k Key) (low, high []float64, known bool) {
	low = e.Values(k)
	high = slices.Clone(low)
	for i, o := range e.runs {
		t := o.Taints.Of(k.Tag, k.Stat)
		if t.None() || t.Check == validity.Backlog && e.keepsUp() {
			continue
		}
		r, known := o.Ranges[k.Spoken()]
		if !known || e.window != Full && (t.Check == validity.Errors || kindOf(k) == metrics.Share) {
			return nil, nil, false
		}
		low[i], high[i] = max(0, 1-r.Less)*low[i], (1+r.More)*high[i]
	}
	return low, high, true
}

// estimate brings the values of the trials together, by the kind of the metric.
func (e Estimates) estimate(m *metrics.Metric, k Key, values []float64) stats.Estimate {
	_, beside := better(k.Tag)
	switch {
	case beside: // often 0, which has no logarithm
		est := stats.Signed(values, e.level)
		low, high, _ := spanOf(k.Tag)
		est.Low, est.High = max(est.Low, low), min(est.High, high)
		return est
	case m.Over == metrics.Share && k.Stat == "avg":
		return e.share(m, values)
	case m.Over == metrics.Events && k.Stat == "avg":
		return stats.Count(values, e.level)
	case m.Over == metrics.Signed:
		return stats.Signed(values, e.level)
	}
	resolution := 0.0
	if m.Unit == "ms" {
		resolution = stampMS
	}
	return stats.Level(values, e.level, resolution)
}

// ends are the least and the most that the values of the trials may be: requests
// that the end of a run cut off may have been good, and of what came in one read
// only two times are known. open is false where there is nothing but the values.
func (e Estimates) ends(k Key, values []float64) (low, high []float64, open bool) {
	low, high = values, values
	for i, o := range e.runs {
		less, more := o.open(e.window, k)
		if !(less > 0 || more > 0) {
			continue
		}
		if !open {
			low, high, open = slices.Clone(values), slices.Clone(values), true
		}
		low[i], high[i] = max(0, low[i]-less), high[i]+more
	}
	return low, high, open
}

// share pools a share over the trials.
func (e Estimates) share(m *metrics.Metric, values []float64) stats.Estimate {
	return scaled(stats.Share(e.tallies(m, values), e.level), m.Full())
}

// tallies are the counts behind a share, by trial.
func (e Estimates) tallies(m *metrics.Metric, values []float64) []stats.Tally {
	trials := make([]stats.Tally, 0, len(values))
	effect := 0.0
	if m.Tag == metrics.Accuracy {
		effect = itemEffect(e.runs)
	}
	for i, v := range values {
		if math.IsNaN(v) {
			continue // a trial without the window has no whole either
		}
		if whole := e.whole(i, m); whole > 0 {
			trials = append(trials, stats.Tally{Hits: v / m.Full() * whole, Of: whole, Effect: effect})
		}
	}
	return trials
}

func scaled(e stats.Estimate, by float64) stats.Estimate {
	for _, v := range []*float64{&e.Mean, &e.StdDev, &e.Low, &e.High, &e.Min, &e.Max} {
		*v *= by
	}
	return e
}

// whole is how many a share of run i is of.
func (e Estimates) whole(i int, m *metrics.Metric) float64 {
	s := e.runs[i].window(e.window)
	st, ok := s.Get(m.Tag)
	if ok && m.Per == "" && m.Counts.Among == 0 {
		return float64(st.Count)
	}
	if of, ok := s.Get(m.Per); ok && of.Avg > 0 {
		return of.Avg
	}
	if n := s.In(m.Counts.Among); n > 0 {
		return n
	}
	return float64(e.runs[i].Counts().In(m.Counts.Among))
}

// Values are those of the trials, in their order, NaN where a trial has none or an
// invalid one. A run that counted no event has 0 of them.
func (e Estimates) Values(k Key) []float64 {
	if told := e.besideValues(k); told != nil {
		return told
	}
	m, known := metrics.Lookup(k.Tag)
	out := make([]float64, len(e.runs))
	for i, o := range e.runs {
		out[i] = math.NaN()
		s := o.window(e.window)
		if s == nil || e.leftOut(o, k) {
			continue
		}
		st, ok := s.Get(k.Tag)
		if !ok && known && m.Of != "" { // nothing failed: nothing to adjust
			st, ok = s.Get(m.Of)
		}
		if ok {
			if k.Stat == "avg" || !st.Scalar {
				out[i] = st.Value(k.Stat)
			}
		} else if known && m.Over == metrics.Events && k.Stat == "avg" {
			out[i] = 0
		}
	}
	return out
}

// Effective is the smallest effective number of values of a metric in any
// trial; the count where it is not computed, 0 where there is none.
func (e Estimates) Effective(tag string) float64 {
	least := math.Inf(1)
	if e.known != nil {
		return least
	}
	for _, o := range e.runs {
		s := o.window(e.window)
		if s == nil {
			return 0
		}
		st, ok := s.Get(tag)
		if !ok {
			return 0
		}
		n := float64(st.Count)
		if !math.IsNaN(st.NEff) {
			n = min(n, st.NEff)
		}
		least = min(least, n)
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return least
}

// All gives every statistic that a trial has, with its estimate, in the order
// of the summaries.
func (e Estimates) All() iter.Seq2[Key, stats.Estimate] {
	return func(yield func(Key, stats.Estimate) bool) {
		for k := range e.keys() {
			if est, ok := e.Get(k); ok && !yield(k, est) {
				return
			}
		}
	}
}

func (e Estimates) keys() iter.Seq[Key] {
	return func(yield func(Key) bool) {
		for k := range e.known {
			if !yield(k) {
				return
			}
		}
		if e.known == nil && !e.keysBeside(yield) {
			return
		}
		seen := map[string]bool{}
		for _, o := range e.runs {
			s := o.window(e.window)
			for i := 0; s != nil && i < len(s.Stats); i++ {
				st := &s.Stats[i]
				if seen[st.Tag] {
					continue
				}
				seen[st.Tag] = true
				for _, stat := range statsOf(st) {
					if !yield(Key{st.Tag, stat}) {
						return
					}
				}
			}
		}
	}
}

func statsOf(st *metrics.Stat) []string {
	if st.Scalar {
		return scalarStats
	}
	return distributionStats
}

var (
	scalarStats       = []string{"avg"}
	distributionStats = []string{
		"avg", "count", "min", "max", "sum", "std", "p1", "p5", "p10", "p25", "p50",
		"p75", "p90", "p95", "p99", "p999", "n_effective",
	}
)
