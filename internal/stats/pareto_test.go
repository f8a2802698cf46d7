package stats_test

import (
	"math"
	"slices"
	"testing"

	"aiperf.dev/aiperf/internal/stats"
)

func TestPareto(t *testing.T) {
	t.Parallel()
	dirs := []stats.Direction{stats.Maximise, stats.Minimise} // throughput, latency
	points := [][]float64{{10, 5}, {20, 6}, {15, 7}, {20, 6}, {25, 20}, {math.NaN(), 1}, {10, 6}}
	want := []bool{true, true, false, true, true, false, false}
	if got := stats.Pareto(points, dirs); !slices.Equal(got, want) {
		t.Errorf("Pareto = %v, want %v", got, want)
	}
}
