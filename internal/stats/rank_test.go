package stats_test

import (
	"math"
	"testing"

	"aiperf.dev/aiperf/internal/stats"
)

// By hand: 1 − 6Σd²/(n(n²−1)) without ties, Pearson's of mean ranks with them.
func TestRankCorrelation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		x, y []float64
		want float64
	}{
		{"the same order", []float64{1, 2, 3, 4}, []float64{10, 20, 400, 500}, 1},
		{"the other way", []float64{1, 2, 3, 4}, []float64{9, 7, 5, 1}, -1},
		{"two swapped", []float64{1, 2, 3, 4, 5}, []float64{2, 1, 3, 4, 5}, 0.9},
		{"ties", []float64{1, 1, 2, 2}, []float64{1, 2, 3, 4}, 2 / math.Sqrt(5)},
		{"constant", []float64{1, 1, 1}, []float64{1, 2, 3}, math.NaN()},
		{"nothing", nil, nil, math.NaN()},
	} {
		near(t, c.name, stats.RankCorrelation(c.x, c.y), c.want, 1e-12)
	}
}
