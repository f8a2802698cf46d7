package decide_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/sweep/decide"
)

// Who follows the advice is not advised again: where ten runs of 200 requests, of which one
// in fifty is left out of the window, make a percentile uncertain because neighbours are
// alike, ten runs of as many as are asked for make it certain, though what values are worth
// is estimated anew.
func TestAdviceSuffices(t *testing.T) {
	t.Parallel()
	const runs, lost = 10, 0.02
	rng := rand.New(rand.NewPCG(7, 90))
	least := func(n int, phi float64) float64 {
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
	for _, c := range []struct{ q, phi float64 }{{0.9, 0.3}, {0.9, 0.5}, {0.9, 0.7}, {0.99, 0.5}} {
		advised, again := 0, 0
		for range 60 {
			const n = 200
			worth := least(n, c.phi)
			if decide.Certain(c.q, n, worth) {
				continue
			}
			advised++
			need := decide.RequestsFor(c.q, worth, n)
			if !decide.Certain(c.q, int64(need), least(int(need), c.phi)) {
				again++
			}
		}
		t.Logf("p%g, correlation %g: %d advised, %d again", 100*c.q, c.phi, advised, again)
		if advised < 5 || again*20 > advised {
			t.Errorf("p%g, correlation %g: %d of %d who followed the advice are advised again", 100*c.q, c.phi, again, advised)
		}
	}
}
