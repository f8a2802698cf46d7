package sweep_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/sweep"
)

// judgedCells is how many cells each planned number is tried with: 1,000 by hand.
var judgedCells = flag.Int("judged-cells", 200, "simulated cells for each planned percentile")

// certain counts the cells of five trials of n independent, log-normal values in
// which the quantile is certified in every trial.
func certain(rng *rand.Rand, q float64, n int64, cells int) (out int) {
	var s stats.Series
	x := make([]float64, n)
	for range cells {
		all := true
		for range 5 {
			for i := range x {
				x[i] = math.Exp(rng.NormFloat64())
			}
			all = all && stats.Certified(q, s.EffectiveN(x))
		}
		if all {
			out++
		}
	}
	return out
}

// TestPlannedRequestsLeavePercentilesUnmarked is where the planned numbers come from:
// with so many independent requests a run the percentile has no mark in 95 of 100
// cells of five trials, and with a fifth less it has one in more of them.
func TestPlannedRequestsLeavePercentilesUnmarked(t *testing.T) {
	t.Parallel()
	cells := *judgedCells
	for _, p := range sweep.Percentiles {
		q := map[string]float64{"p50": 0.5, "p90": 0.9, "p99": 0.99}[p.Stat]
		rng := seed.Stream(20, "judged/"+p.Stat)
		enough, less := certain(rng, q, p.Requests, cells), certain(rng, q, p.Requests*4/5, cells)
		t.Logf("%s: unmarked in %d of %d cells with %d requests, in %d with %d", p.Stat, enough, cells, p.Requests,
			less, p.Requests*4/5)
		if 20*enough < 19*cells || less >= enough {
			t.Errorf("%s: unmarked in %d of %d cells with %d requests, in %d with a fifth less", p.Stat, enough, cells,
				p.Requests, less)
		}
	}
}
