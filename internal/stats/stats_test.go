package stats_test

import (
	"math"
	"testing"
)

// near compares with a relative tolerance (absolute below 1).
func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if math.IsNaN(got) != math.IsNaN(want) || math.Abs(got-want) > tol*math.Max(1, math.Abs(want)) {
		t.Errorf("%s = %.17g, want %.17g", what, got, want)
	}
}

// uniform is n numbers in [0, 1) of Knuth's 64-bit linear congruential
// generator, so that reference values can be made by any other program.
func uniform(n int, seed uint64) []float64 {
	out := make([]float64, n)
	for i := range out {
		seed = seed*6364136223846793005 + 1442695040888963407
		out[i] = float64(seed>>11) / (1 << 53)
	}
	return out
}
