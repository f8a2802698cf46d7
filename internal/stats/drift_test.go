package stats_test

import (
	"math"
	"testing"

	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/internal/stats"
)

// Reference values: ordinary least squares over the means of the trials, by hand in
// Python, Student's integral by Simpson's rule.
func TestTrialDrift(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name      string
		groups    [][]float64
		change, p float64
	}{
		{"down a little", [][]float64{{100, 97, 95}}, -0.05, 0.0687028110529},
		{"down", [][]float64{{100, 90, 80}}, -0.2, 0.0204548064501},
		{"nothing", [][]float64{{100, 101, 100.5}}, 0.005, 0.665752353581},
		{"two cells agree", [][]float64{{10, 10.4, 10.9, 11.1}, {200, 207, 219, 221}}, 0.11336715386, 0.0207198117429},
		{"two cells of noise", [][]float64{{100, 80, 120}, {50, 60, 45}}, 0.0392304845413, 0.555049448794},
		{"trials that a cell lacks", [][]float64{{100, nan, 104, 107}, {50, 51, 52, nan}}, 0.058811449689, 0.0123162920007},
		{"what cannot be used is left out", [][]float64{{1, 2}, {1, 0, 3}, {1, inf, 3}, {100, 97, 95}}, -0.05, 0.0687028110529},
		{"constant", [][]float64{{5, 5, 5}}, 0, 1},
		{"two trials", [][]float64{{5, 6}}, nan, nan},
		{"nothing at all", nil, nan, nan},
	} {
		got := stats.TrialDrift(c.groups)
		near(t, c.name+": change", got.Change, c.change, 1e-10)
		near(t, c.name+": p", got.P, c.p, 1e-10)
	}
	// Exactly geometric: no residual but rounding.
	if d := stats.TrialDrift([][]float64{{1, 2, 4, 8}}); math.Abs(d.Change-7) > 1e-9 || d.P > 1e-9 {
		t.Errorf("doubling thrice: %+v, want change 7 and p 0", d)
	}
}

// Without drift P is uniform, although the cells of a trial move together: 5 % of
// 2,000 plans of 24 cells are below 0.05 (sd 0.5 %). As independent cells they
// would be in 40 %.
func TestTrialDriftByChance(t *testing.T) {
	t.Parallel()
	low := 0
	for s := range 2000 {
		rng := seed.Stream(int64(s), "drift")
		groups := make([][]float64, 24)
		for range 5 {
			shared := 0.03 * rng.NormFloat64()
			for g := range groups {
				groups[g] = append(groups[g], math.Exp(shared+0.03*rng.NormFloat64()))
			}
		}
		if stats.TrialDrift(groups).P < 0.05 {
			low++
		}
	}
	if share := float64(low) / 2000; share < 0.035 || share > 0.065 {
		t.Errorf("%.3f of the plans without drift have P < 0.05", share)
	}
}
