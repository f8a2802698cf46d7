package decide_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/sweep/decide"
)

// Who follows the advice is not advised again: where ten runs, of which one request in fifty
// is left out of the window, make a percentile uncertain, ten runs of as many as are asked for
// make it certain, though what values are worth is estimated anew, and though short runs show
// little of how alike neighbours are.
func TestAdviceSuffices(t *testing.T) {
	t.Parallel()
	const runs, lost = 10, 0.02
	rng := rand.New(rand.NewPCG(7, 90))
	least := func(runs, n int, phi float64) float64 {
		worth := math.Inf(1)
		for range runs {
			x := make([]float64, int(float64(n)*(1-lost)))
			v := rng.NormFloat64() / math.Sqrt(1-phi*phi)
			for i := range x {
				v = phi*v + rng.NormFloat64()
				x[i] = v
			}
			worth = min(worth, min(float64(len(x)), stats.EffectiveN(x)))
		}
		return worth
	}
	for _, c := range []struct {
		q, phi  float64
		runs, n int
	}{
		{0.9, 0.3, runs, 200},
		{0.9, 0.5, runs, 200},
		{0.9, 0.7, runs, 200},
		{0.99, 0.5, runs, 200},
		{0.99, 0, 1, 16},
		{0.99, 0.3, 1, 16},
		{0.99, 0.3, 1, 50},
		{0.99, 0.5, 1, 50},
		{0.99, 0.5, 1, 200},
		{0.99, 0.7, 1, 200},
		{0.99, 0.9, 1, 1000},
	} {
		advised, again := 0, 0
		for range 60 {
			worth := least(c.runs, c.n, c.phi)
			if decide.Certain(c.q, int64(c.n), worth) {
				continue
			}
			advised++
			need := decide.RequestsFor(c.q, worth, float64(c.n))
			if !decide.Certain(c.q, int64(need), least(c.runs, int(need), c.phi)) {
				again++
			}
		}
		t.Logf("p%g, correlation %g, %d runs of %d: %d advised, %d again", 100*c.q, c.phi, c.runs, c.n, advised, again)
		if advised < 5 || again*20 > advised {
			t.Errorf("p%g, correlation %g, %d runs of %d: %d of %d who followed the advice are advised again", 100*c.q,
				c.phi, c.runs, c.n, again, advised)
		}
	}
}

// Numbers that are advised are round, and never fewer than are needed.
func TestAdvisedNumbersAreRound(t *testing.T) {
	t.Parallel()
	for need, want := range map[float64]float64{
		1: 1, 11: 12, 35: 40, 123: 150, 160: 200, 662: 800, 1000: 1000, 1050: 1200, 2301: 2500, 5100: 6000, 8001: 10000,
	} {
		if got := decide.RoundRequests(need); got != want {
			t.Errorf("%g requests are %g, want %g", need, got, want)
		}
	}
	for need, want := range map[float64]float64{
		0.3: 5, 41: 60, 60: 90, 100: 120, 250: 300, 2000: 2700, 3600: 7200, 20_000: 25_200,
	} {
		if got := decide.RoundSeconds(need); got != want {
			t.Errorf("%g s are %g, want %g", need, got, want)
		}
	}
}
