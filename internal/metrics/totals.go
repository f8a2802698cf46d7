package metrics

import "math"

// Totals is what derived metrics read: counters and sums over one window.
type Totals struct {
	OK, Errors int64
	Cancelled  int64 // of the whole run, see cancelled_request_count
	Streamed   int64 // successes that streamed
	Good       int64
	Overflows  int64 // failures because the context was too long
	SLOSet     bool
	Seconds    float64 // length of the window; NaN or 0 when unknown
	Duration   float64 // benchmark_duration, NaN when unknown

	sums map[string]float64 // what was asked for so far
	add  func(tag string) float64
}

// Sum adds up the per-request values of a metric; NaN when it has none.
func (t *Totals) Sum(tag string) float64 {
	s, ok := t.sums[tag]
	if !ok {
		s = t.add(tag)
		t.sums[tag] = s
	}
	return s
}

// good is good_request_count, absent without an SLO.
func (t *Totals) good() float64 {
	if !t.SLOSet {
		return math.NaN()
	}
	return float64(t.Good)
}

// overflows is context_overflow_count, absent without failures.
func (t *Totals) overflows() float64 {
	if t.Errors == 0 {
		return math.NaN()
	}
	return float64(t.Overflows)
}

// errorRate is failures / (successes + failures).
func (t *Totals) errorRate() float64 { return per(float64(t.Errors), float64(t.OK+t.Errors)) }

// totalRate is (Σ ISL + Σ OSL) / window.
func totalRate(t *Totals) float64 {
	return per(t.Sum("input_sequence_length")+t.Sum("output_sequence_length"), t.Seconds)
}
