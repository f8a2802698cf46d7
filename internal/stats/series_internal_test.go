package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A long series is worth as much by its blocks as by all of its values.
func TestLongSeriesInBlocks(t *testing.T) {
	t.Parallel()
	for _, phi := range []float64{0, 0.3, 0.9, 0.99, 0.999} {
		r := rand.New(rand.NewPCG(7, uint64(1000*phi)))
		x := make([]float64, 3*longSeries+5)
		v := 0.0
		for i := range x {
			v = phi*v + r.NormFloat64()
			x[i] = 50 + v
		}
		var s Series
		exact, blocks := s.exactly(Mean(x), x).N, s.EffectiveN(x)
		t.Logf("φ %g: %.1f of all values, %.1f by blocks", phi, exact, blocks)
		if math.Abs(blocks-exact) > 0.03*exact {
			t.Errorf("φ %g: worth %.1f by its blocks, %.1f by all values", phi, blocks, exact)
		}
		if blocks > float64(len(x)) {
			t.Errorf("φ %g: worth %.1f values of %d", phi, blocks, len(x))
		}
	}
	constant := make([]float64, 2*longSeries)
	if got := EffectiveN(constant); got != float64(len(constant)) {
		t.Errorf("a constant series is worth %g", got)
	}
}
