package stats_test

import (
	"math"
	"testing"

	"aiperf.dev/aiperf/internal/stats"
)

func TestDispersion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b []stats.Tally
		want float64
	}{
		// p = 20/200: residuals ±2 and ±1 of 50, each over 50·0.1·0.9; 2 degrees of freedom
		{tallies(50, 8, 4), tallies(50, 5, 3), (4 + 4 + 1 + 1) / 4.5 / 2},
		{tallies(50, 5, 5), tallies(50, 9, 9), 0}, // what differs between the sides does not count
		{tallies(50, 0, 0), tallies(50, 0, 0), math.NaN()},
		{tallies(50, 50, 50), tallies(50, 50, 50), math.NaN()},
		{tallies(50, 1), tallies(50, 2), math.NaN()},
	} {
		got := stats.Dispersion(c.a, c.b)
		if math.IsNaN(got) != math.IsNaN(c.want) || math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v, %v: %g, want %g", c.a, c.b, got, c.want)
		}
	}
}
