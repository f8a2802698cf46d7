package aiperf

import (
	"math"
	"slices"
	"time"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/telemetry"
)

// pageQuantiles are the percentiles of AIPerf's files.
var pageQuantiles = []struct {
	name string
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
}

func quantileWeights() (qs []float64) {
	for _, q := range pageQuantiles {
		qs = append(qs, q.q)
	}
	return qs
}

// stats are AIPerf's statistics of the series in its words, and of a histogram how many
// values came per bucket: nil where one of them fell.
func (s *pageSeries) stats(slices []pageSlice) (o object, buckets []float64) {
	switch s.Type {
	case telemetry.Counter:
		return s.counter(slices), nil
	case telemetry.Histogram:
		return s.histogram()
	}
	return gaugeStats(s.Values[s.from:s.to+1], true), nil
}

// gaugeStats are plain statistics over looks, whatever time lay between them.
func gaugeStats(values []float64, all bool) object {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	mean := sum / float64(len(values))
	o := object{}.with("avg", number(mean)).with("min", number(slices.Min(values))).with("max",
		number(slices.Max(values)))
	if !all {
		return o
	}
	o = o.with("std", number(sampleStd(values, mean)))
	sorted := slices.Sorted(slices.Values(values))
	for _, q := range pageQuantiles {
		o = o.with(q.name, number(stats.Quantile(sorted, q.q)))
	}
	return o
}

// sampleStd is the deviation of a sample, 0 of one value.
func sampleStd(values []float64, mean float64) float64 {
	if len(values) < 2 {
		return 0
	}
	squares := 0.0
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return math.Sqrt(squares / float64(len(values)-1))
}

// counter is by how much it grew since the look before the window; rates of slices are
// of those that are whole.
func (s *pageSeries) counter(all []pageSlice) object {
	ref := max(s.ref, 0)
	if s.ref < 0 {
		ref = s.from
	}
	total := max(s.Values[s.to]-s.Values[ref], 0)
	o := object{}.with("total", number(total)).with("rate", number(perSecond(total, s.At[s.to]-s.At[ref])))
	var rates []float64
	sum := 0.0
	for _, c := range all {
		if c.whole {
			rates = append(rates, c.rate)
			sum += c.rate
		}
	}
	if len(rates) == 0 {
		return o
	}
	mean := sum / float64(len(rates))
	return o.with("rate_avg", number(mean)).with("rate_min", number(slices.Min(rates))).with("rate_max",
		number(slices.Max(rates))).with("rate_std", number(sampleStd(rates, mean)))
}

func perSecond(v float64, ns int64) float64 {
	if ns <= 0 {
		return 0
	}
	return v / (float64(ns) / 1e9)
}

func (s *pageSeries) histogram() (object, []float64) {
	ref := max(s.ref, 0)
	count, sum := math.Trunc(max(s.Counts[s.to]-s.Counts[ref], 0)), max(s.Sums[s.to]-s.Sums[ref], 0)
	buckets := s.bucketsBetween(ref, s.to)
	if count == 0 {
		return object{}.with("count", 0), buckets
	}
	o := object{}.with("count", int64(count)).with("sum", number(sum)).with("avg", number(sum/count))
	if ns := s.At[s.to] - s.At[ref]; ns > 0 {
		o = o.with("count_rate", number(perSecond(count, ns))).with("sum_rate", number(perSecond(sum, ns)))
	}
	if buckets == nil {
		return o, nil
	}
	estimates := s.Quantiles(ref, s.to, quantileWeights()...)
	for i, q := range pageQuantiles {
		if estimates != nil {
			o = o.with(q.name+"_estimate", number(estimates[i]))
		}
	}
	return o, buckets
}

// bucketsBetween are the counts of buckets between two looks; nil where one fell.
func (s *pageSeries) bucketsBetween(from, to int) []float64 {
	out := make([]float64, len(s.Edges))
	for i := range out {
		if out[i] = math.Trunc(s.Buckets[to][i] - s.Buckets[from][i]); out[i] < 0 {
			return nil
		}
	}
	return out
}

// bucketsJSON are counts by their edges as Python writes them.
func (s *pageSeries) bucketsJSON(counts []float64) object {
	o := object{}
	for i, n := range counts {
		o = o.with(pyEdge(s.Edges[i]), int64(n))
	}
	return o
}

func pyEdge(le float64) string {
	if math.IsInf(le, 1) {
		return "+Inf"
	}
	return string(appendNumber(nil, le))
}

// pageSlice is a slice of time of one series.
type pageSlice struct {
	start, end int64
	whole      bool
	rate       float64 // of a counter
	of         object  // its statistics
}

// slices cuts the window; nil where nobody asked for slices, and where there is one look.
func (s *pageSeries) slices(length time.Duration) (out []pageSlice) {
	if length <= 0 || s.Type == telemetry.Counter && s.ref < 0 && s.to == s.from || s.Type == telemetry.Histogram &&
		s.to <= max(s.ref, 0) {
		return nil
	}
	last := s.At[s.to]
	for at := s.start; at < last; at += int64(length) {
		c := pageSlice{start: at, end: min(at+int64(length), last), whole: at+int64(length) <= last}
		if s.slice(&c) {
			out = append(out, c)
		}
	}
	return out
}

// slice fills in the statistics of c; false where there are none.
func (s *pageSeries) slice(c *pageSlice) bool {
	first := max(s.ref, 0) // the looks that are known to the window
	if s.ref < 0 {
		first = s.from
	}
	a, b := s.lastBefore(first, c.start), s.lastBefore(first, c.end)
	switch s.Type {
	case telemetry.Counter:
		grown := max(s.Values[b]-s.Values[a], 0)
		c.rate = perSecond(grown, c.end-c.start)
		c.of = object{}.with("total", number(grown)).with("rate", number(c.rate))
	case telemetry.Histogram:
		a, b = s.lastBefore(0, c.start), s.lastBefore(0, c.end)
		count, sum := s.Counts[b]-s.Counts[a], s.Sums[b]-s.Sums[a]
		if count < 0 || sum < 0 {
			return false
		}
		avg := 0.0
		if count > 0 {
			avg = sum / count
		}
		c.of = object{}.with("count", int64(count)).with("sum", number(sum)).with("avg", number(avg))
		if buckets := s.bucketsBetween(a, b); len(buckets) > 0 {
			c.of = c.of.with("buckets", s.bucketsJSON(buckets))
		}
	default:
		lo, _ := slices.BinarySearch(s.At[s.from:s.to+1], c.start)
		hi, found := slices.BinarySearch(s.At[s.from:s.to+1], c.end)
		if found && c.end == s.At[s.to] {
			hi++
		}
		if lo >= hi {
			return false
		}
		c.of = gaugeStats(s.Values[s.from:][lo:hi], false)
	}
	return true
}

// lastBefore is the last look at or before a moment, first at the earliest.
func (s *pageSeries) lastBefore(first int, at int64) int {
	i, found := slices.BinarySearch(s.At, at)
	if !found {
		i--
	}
	return min(max(i, first), s.to)
}

func (c *pageSlice) json(t0 int64) object {
	o := object{}.with("start_ns", t0+c.start).with("end_ns", t0+c.end)
	if !c.whole {
		o = o.with("is_complete", false)
	}
	return append(o, c.of...)
}
