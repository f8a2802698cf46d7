// Package metrics turns records into statistics. In go records, one by one;
// out comes a Summary: tag → statistics. The catalogue says what each tag
// means, one literal per metric with its formula above it.
//
// The steps: NewCollector, Add for every record of the run, Summaries. Judge and PerRecord look at one request.
package metrics

// Stat is what one metric says about one run. A field that could not be
// computed is NaN; Scalar metrics have only Avg. Time-weighted metrics count
// time, not requests: their Count is 0, which means absent.
type Stat struct {
	Tag    string
	Header string // "Time to First Token (TTFT)"
	Unit   string // display unit: ms, tokens/sec, …
	Scalar bool
	Count  int64

	Avg, Min, Max, Sum, Std                         float64 // Std: population
	P1, P5, P10, P25, P50, P75, P90, P95, P99, P999 float64
	NEff                                            float64 // effective sample size; NaN if not computed

	Open float64 // of good requests: how much is undecided, so that the true value lies in [Avg, Avg + Open]
	// the same by AIPerf's definition, where that is another: without what was cut off or never sent,
	// cancelled as failed, SLOs from sending
	Plain *Stat

	Intervals []Interval // of those percentiles that have one, in ascending order
}

// Interval is the 95 % interval of a percentile by order statistics. There is
// none below the floor of the percentile, nor where NEff is not computed.
type Interval struct {
	Stat      string // "p99"
	Low, High float64
}

// TheirsOnly tells that the metric has values by AIPerf's definition alone.
func (s *Stat) TheirsOnly() bool { return s.Plain != nil && s.Count == 0 && !s.Scalar }

// Interval is that of a percentile by name; false if there is none.
func (s *Stat) Interval(stat string) (Interval, bool) {
	for _, i := range s.Intervals {
		if i.Stat == stat {
			return i, true
		}
	}
	return Interval{}, false
}

// Summary is the statistics of one run, in catalogue order; only metrics that
// could be computed are in it.
type Summary struct {
	Window string // "full", "steady"
	Stats  []Stat
}

// Get finds a metric by tag.
func (s *Summary) Get(tag string) (Stat, bool) {
	for _, st := range s.Stats {
		if st.Tag == tag {
			return st, !st.TheirsOnly()
		}
	}
	return Stat{}, false
}
