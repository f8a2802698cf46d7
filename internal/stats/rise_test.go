package stats_test

import (
	"math"
	"testing"

	"aiperf.dev/aiperf/internal/stats"
)

func tallies(of float64, hits ...float64) (out []stats.Tally) {
	for _, h := range hits {
		out = append(out, stats.Tally{Hits: h, Of: of})
	}
	return out
}

// The chances are those of a direct sum of the negative binomial distribution over a fine grid
// of shares, computed elsewhere.
func TestRiseFromNone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		none, some []stats.Tally
		p          float64 // one-sided
	}{
		{tallies(96, 0, 0, 0, 0, 0), tallies(96, 8, 8, 8, 8, 8), 0.00042913},
		{tallies(96, 0, 0, 0, 0, 0), tallies(96, 20, 0, 15, 5, 0), 0.00042913},
		{tallies(96, 0, 0, 0, 0, 0), tallies(96, 3, 3, 3, 0, 0), 0.01125315},
		{tallies(50, 0, 0, 0, 0), tallies(200, 5, 5, 5, 5, 5, 5, 0), 0.04490346},
	} {
		r, ok := stats.RiseFromNone(c.none, c.some)
		if !ok || math.Abs(r.P()/2/c.p-1) > 1e-4 {
			t.Errorf("%v, %v: %t, p %.8f; want %.8f", c.none, c.some, ok, r.P()/2, c.p)
		}
		if _, back := stats.RiseFromNone(c.some, c.none); back {
			t.Errorf("%v, %v: a rise", c.some, c.none)
		}
		// the lower end is where the chance is the level
		if low := r.Low(2 * c.p); !(low > 0) {
			t.Errorf("%v: no rise at a level of twice its chance: %g", c.some, low)
		}
		if low := r.Low(c.p / 2); low != 0 {
			t.Errorf("%v: a rise of %g at a level of half its chance", c.some, low)
		}
	}
	r, _ := stats.RiseFromNone(tallies(96, 0, 0, 0, 0, 0), tallies(96, 8, 8, 8, 8, 8))
	if low := r.Low(0.0020468161); math.Abs(low-0.02) > 1e-5 { // the chance of a rise of 2 points, as above
		t.Errorf("lower end %.6f, want 0.02", low)
	}
	for _, some := range [][]float64{{20, 20, 0, 0, 0}, {40, 0, 0, 0, 0}, {1, 1, 1, 0, 0, 0}, {9, 9}, {}} {
		if _, ok := stats.RiseFromNone(tallies(96, 0, 0, 0, 0, 0), tallies(96, some...)); ok {
			t.Errorf("%v: too few trials have hits", some)
		}
	}
}
