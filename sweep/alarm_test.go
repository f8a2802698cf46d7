package sweep_test

import (
	"fmt"
	"math"
	"testing"

	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/sweep"
)

// How trials of one system vary: between trials by trialSpread, and the latency
// of requests within one by requestSpread, both log-normal.
const (
	trialSpread   = 0.02
	requestSpread = 0.3
	requestsEach  = 400
)

// comparison is two endpoints, five trials each, the second one slower by a
// factor: simulated requests, four at a time, summarised as a run is.
func comparison(t *testing.T, number int, factor float64) *sweep.Results {
	t.Helper()
	axis := axis("benchmark.endpoint", "endpoint", map[string]any{"label": "a", "url": "a"}, map[string]any{"label": "b", "url": "b"})
	p := expand(t, grid(5, axis))
	rng := seed.Stream(int64(number), fmt.Sprintf("a/a %v", factor))
	var out []sweep.Outcome
	for _, r := range p.Runs {
		level := 100 * math.Exp(trialSpread*rng.NormFloat64())
		if r.Cell.Index == 1 {
			level *= factor
		}
		latency := make([]float64, requestsEach)
		for i := range latency {
			latency[i] = level * math.Exp(requestSpread*rng.NormFloat64())
		}
		throughput := 4 / stats.Mean(latency)
		stats.Sort(latency)
		out = append(out, sweep.Outcome{Run: r, Summaries: run(1e4*throughput, stats.Quantile(latency, 0.99)), Verdict: "VALID", OK: requestsEach, Sent: requestsEach})
	}
	return sweep.Aggregate(p, out)
}

// alarm tells whether anything says that the two differ: a best cell, or one
// that is not on the front.
func alarm(r *sweep.Results) bool {
	for _, b := range r.Best {
		if b.Shown {
			return true
		}
	}
	return !r.Cells[0].Pareto || !r.Cells[1].Pareto
}

// The same system twice: at most 4 of 20 comparisons may say that it differs
// from itself, which at the 5 % level happens once in 400 times. Over 500
// comparisons the share itself is at most 5 %.
func TestSameSystemTwice(t *testing.T) {
	t.Parallel()
	first, all := 0, 0
	for i := range 500 {
		if alarm(comparison(t, i, 1)) {
			all++
			if i < 20 {
				first++
			}
		}
	}
	t.Logf("%d of 20, %d of 500 comparisons of a system with itself raise an alarm", first, all)
	if first > 4 || all > 25 {
		t.Errorf("%d of 20, %d of 500 comparisons of a system with itself raise an alarm; want at most 4 and 25", first, all)
	}
}

// A slowdown of 10 % is found with five trials.
func TestTenPercentSlower(t *testing.T) {
	t.Parallel()
	for i := range 20 {
		r := comparison(t, i, 1.1)
		b := r.Best[0]
		if b.Objective.Name != "throughput" || !b.Shown || b.Cell != &r.Cells[0] {
			t.Errorf("comparison %d: %s", i, b.Sentence)
		}
		if r.Cells[1].Pareto {
			t.Errorf("comparison %d: the slower one is on the front: %+v", i, r.Cells[1].Full[sweep.Key{Tag: "output_token_throughput", Stat: "avg"}])
		}
	}
}
