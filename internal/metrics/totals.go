package metrics

import (
	"math"

	"aiperf.dev/aiperf/internal/record"
)

// Totals is what derived metrics read: counters and sums over one window.
type Totals struct {
	record.Counts
	Good, GoodSent     int64 // successes that met every SLO: by the clock of their load mode, and from sending
	CutBad, CutBadSent int64 // of the cut ones, those that had missed one by then
	Streamed           int64 // successes that streamed
	Right, Wrong       int64 // answers to questions with known answers
	NotJudged          int64 // of these answers, those that are neither
	Overflows          int64 // failures because the context was too long
	SLOSet             bool
	Open               bool    // some of it was due by a clock
	Seconds            float64 // length of the window; NaN or 0 when unknown
	Duration           float64 // benchmark_duration, NaN when unknown

	stopped int64       // cancelled or cut in the whole run, which AIPerf counts
	steady  *steadyPart // what came in the steady window; nil in any other

	sums map[string]float64 // what was asked for so far
	add  func(tag string) float64

	inside func(tag string) float64 // Σ value × part inside, in the steady window
	over   *weights                 // the levels of the window, for what is read from them
	told   func(tag string) *Stat   // what a metric before it in the catalogue says; nil: nothing
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

// came is what of a metric came in the window, over all requests: its sum; in the
// steady window the values of requests count with their parts.
func (t *Totals) came(tag string) float64 {
	whole := t.Sum(tag)
	if t.steady == nil || math.IsNaN(whole) {
		return whole
	}
	return t.inside(tag)
}

// about is how many requests could have a value of the metric; −1 where nobody
// knows: whether the server would have said it.
func (t *Totals) about(m *Metric) int64 {
	switch {
	case m.Needs&FailedOnly != 0:
		return t.Failed
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

// requestRate is successes / window.
func requestRate(t *Totals) float64 {
	if t.steady != nil {
		return per(t.steady.requests, t.Seconds)
	}
	return per(float64(t.OK), t.Seconds)
}

// goodRate is good_request_count / window.
func goodRate(t *Totals) float64 {
	if t.steady != nil && t.SLOSet {
		return per(t.steady.good, t.Seconds)
	}
	return per(t.good(), t.Seconds)
}

// goodSentRate is the same from sending.
func goodSentRate(t *Totals) float64 {
	if t.steady != nil && t.SLOSet && t.Open {
		return per(t.steady.goodSent, t.Seconds)
	}
	return per(t.goodSent(), t.Seconds)
}

// interactivity is one over a percentile of latency_per_output_token, in tokens/s.
func interactivity(stat string) func(*Totals) float64 {
	return func(t *Totals) float64 {
		s := t.told(LatencyPerOutputToken)
		if s == nil {
			return math.NaN()
		}
		return per(1000, s.Value(stat))
	}
}

// coverage is the share of the window in which a request was under way that tells its latencies.
func coverage(t *Totals) float64 { return t.over.heldShare(toldPart) }

// inputRate is Σ ISL / window.
func inputRate(t *Totals) float64 { return per(t.came(InputSequenceLength), t.Seconds) }

// outputTokens is how many came in the window; those of requests that the end cut
// off are not lost to the steady window. NaN where nobody counted tokens.
func (t *Totals) outputTokens() float64 {
	n := t.came(OutputSequenceLength)
	if t.steady != nil {
		n += t.steady.cutTokens
	}
	return n
}

// outputRate is output tokens / window.
func outputRate(t *Totals) float64 { return per(t.outputTokens(), t.Seconds) }

// totalRate is (Σ ISL + Σ OSL) / window.
func totalRate(t *Totals) float64 {
	return per(t.came(InputSequenceLength)+t.outputTokens(), t.Seconds)
}

// good is good_request_count, absent without an SLO.
func (t *Totals) good() float64 { return t.ifJudged(float64(t.Good), true) }

// goodSent is the same from sending, absent where that is the clock anyhow.
func (t *Totals) goodSent() float64 { return t.ifJudged(float64(t.GoodSent), t.Open) }

func (t *Totals) ifJudged(v float64, there bool) float64 {
	if !t.SLOSet || !there {
		return math.NaN()
	}
	return v
}

// attempts are the requests that SLOs are about.
func (t *Totals) attempts() float64 { return float64(t.In(record.Attempted)) }

// goodShare is good / attempts: what was cut off or never sent was attempted.
func (t *Totals) goodShare() float64 { return per(t.good(), t.attempts()) }

// goodSentShare is the same from sending.
func (t *Totals) goodSentShare() float64 { return per(t.goodSent(), t.attempts()) }

// judged is how many answers are right or wrong.
func (t *Totals) judged() float64 { return float64(t.Right + t.Wrong) }

// answered is how many answers there are to questions with known answers.
func (t *Totals) answered() float64 { return t.judged() + float64(t.NotJudged) }

// overflows is context_overflow_count.
func (t *Totals) overflows() float64 { return float64(t.Overflows) }
