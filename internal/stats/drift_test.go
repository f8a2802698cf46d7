package stats_test

import (
	"math"
	"testing"

	"aiperf.dev/aiperf/internal/stats"
)

// Reference values: ordinary least squares with a dummy per group, numpy
// and scipy.
func TestCommonDrift(t *testing.T) {
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
		{"two cells agree", [][]float64{{10, 10.4, 10.9, 11.1}, {200, 207, 219, 221}}, 0.11336715386, 0.000133156642947},
		{"two cells of noise", [][]float64{{100, 80, 120}, {50, 60, 45}}, 0.0392304845413, 0.861610795601},
		{"what cannot be used is left out", [][]float64{{1, 2}, {1, 0, 3}, {1, inf, 3}, {100, 97, 95}}, -0.05, 0.0687028110529},
		{"constant", [][]float64{{5, 5, 5}}, 0, 1},
		{"two trials", [][]float64{{5, 6}}, nan, nan},
		{"nothing at all", nil, nan, nan},
	} {
		got := stats.CommonDrift(c.groups)
		near(t, c.name+": change", got.Change, c.change, 1e-10)
		near(t, c.name+": p", got.P, c.p, 1e-10)
	}
	// Exactly geometric: no residual but rounding.
	if d := stats.CommonDrift([][]float64{{1, 2, 4, 8}}); math.Abs(d.Change-7) > 1e-9 || d.P > 1e-9 {
		t.Errorf("doubling thrice: %+v, want change 7 and p 0", d)
	}
}

// Without drift P is uniform: 5 % of 2,000 plans are below 0.05 (sd 0.5 %).
func TestCommonDriftByChance(t *testing.T) {
	t.Parallel()
	low := 0
	for s := range 2000 {
		u := uniform(24, uint64(s)*31+7)
		groups := make([][]float64, 3)
		for i := range u {
			if i%2 == 1 { // Box and Muller
				z := math.Sqrt(-2*math.Log(1-u[i-1])) * math.Cos(2*math.Pi*u[i])
				groups[i/2%3] = append(groups[i/2%3], math.Exp(0.05*z))
			}
		}
		if stats.CommonDrift(groups).P < 0.05 {
			low++
		}
	}
	if share := float64(low) / 2000; share < 0.035 || share > 0.065 {
		t.Errorf("%.3f of the plans without drift have P < 0.05", share)
	}
}
