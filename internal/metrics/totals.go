package metrics

import (
	"math"

	"aiperf.dev/aiperf/internal/record"
)

// Totals is what derived metrics read: counters and sums over one window.
type Totals struct {
	OK, Errors int64
	Cut        int64 // attempts that the end cut off; of them CutBad had missed an SLO by then
	CutBad     int64
	Unsent     int64   // arrivals that were due and never sent
	Delivered  float64 // output tokens that came inside the window; NaN: count whole requests
	Cancelled  int64   // of the whole run, see cancelled_request_count
	Streamed   int64   // successes that streamed
	Good       int64
	Overflows  int64 // failures because the context was too long
	SLOSet     bool
	Seconds    float64 // length of the window; NaN or 0 when unknown
	Duration   float64 // benchmark_duration, NaN when unknown

	came *arrived // in the steady window; nil: all that is counted

	sums map[string]float64 // what was asked for so far
	add  func(tag string) float64
}

// arrived is what rates count: the successes that ended in a window.
type arrived struct {
	requests, good int64
	isl, osl       float64
}

func (a *arrived) add(r *record.Record, isGood bool) {
	a.requests++
	if isGood {
		a.good++
	}
	a.isl += float64(max(0, r.ISL))
	a.osl += float64(max(0, r.OSL))
}

// requestRate is successes / window.
func requestRate(t *Totals) float64 {
	if t.came != nil {
		return per(float64(t.came.requests), t.Seconds)
	}
	return per(float64(t.OK), t.Seconds)
}

// goodRate is good_request_count / window.
func goodRate(t *Totals) float64 {
	if t.came != nil && t.SLOSet {
		return per(float64(t.came.good), t.Seconds)
	}
	return per(t.good(), t.Seconds)
}

// inputRate is Σ ISL / window.
func inputRate(t *Totals) float64 {
	whole := t.Sum(InputSequenceLength)
	if t.came != nil && !math.IsNaN(whole) {
		return per(t.came.isl, t.Seconds)
	}
	return per(whole, t.Seconds)
}

// Sum adds up the per-request values of a metric. It is 0 where no request
// could have one, and NaN where some could and none has: then it is not known.
func (t *Totals) Sum(tag string) float64 {
	s, ok := t.sums[tag]
	if !ok {
		s = t.add(tag)
		t.sums[tag] = s
	}
	return s
}

// about is how many requests could have a value of the metric; −1 where nobody
// knows: whether the server would have said it.
func (t *Totals) about(m *Metric) int64 {
	switch {
	case m.Needs&FailedOnly != 0:
		return t.Errors
	case m.Group == Usage:
		return -1
	}
	return t.OK
}

// sumOf is a total of n values: 0 where no request could have one, NaN where
// some could and none has.
func sumOf(total float64, n, about int64) float64 {
	switch {
	case about == 0:
		return 0
	case n == 0:
		return math.NaN()
	}
	return total
}

// lasted is benchmark_duration: (max last content − min sent of the successes) / 1e9.
func (t *Totals) lasted(first, last int64) {
	if last > first {
		t.Duration = float64(last-first) / 1e9
	}
}

// good is good_request_count, absent without an SLO.
func (t *Totals) good() float64 {
	if !t.SLOSet {
		return math.NaN()
	}
	return float64(t.Good)
}

// overflows is context_overflow_count.
func (t *Totals) overflows() float64 { return float64(t.Overflows) }

// errorRate is failures / (successes + failures).
func (t *Totals) errorRate() float64 { return per(float64(t.Errors), float64(t.OK+t.Errors)) }

// outputRate is output tokens / window: in the steady window those that were
// delivered in it, by the stamps of their chunks. NaN where nobody counted tokens.
func outputRate(t *Totals) float64 {
	sum := t.Sum(OutputSequenceLength)
	if !math.IsNaN(t.Delivered) && !math.IsNaN(sum) {
		return per(t.Delivered, t.Seconds)
	}
	return per(sum, t.Seconds)
}

// totalRate is (Σ ISL + Σ OSL) / window.
func totalRate(t *Totals) float64 {
	whole := t.Sum(InputSequenceLength) + t.Sum(OutputSequenceLength)
	if t.came != nil && !math.IsNaN(whole) {
		return per(t.came.isl+t.came.osl, t.Seconds)
	}
	return per(whole, t.Seconds)
}
