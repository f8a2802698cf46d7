package stats_test

import (
	"math"
	"testing"

	"aiperf.dev/aiperf/internal/stats"
)

// ar1 is a series that remembers: x_i = 0.8·x_{i−1} + u − 1/2.
func ar1(n int) []float64 {
	x, last := uniform(n, 1), 0.0
	for i := range x {
		last = 0.8*last + x[i] - 0.5
		x[i] = last
	}
	return x
}

// Reference values: the formula in numpy, lag by lag.
func TestAutocorrelation(t *testing.T) {
	t.Parallel()
	x := ar1(2000)
	for name, rho := range map[string][]float64{
		"direct":   stats.Autocorrelation(x, 5),
		"spectrum": stats.Autocorrelation(x, 1999),
	} {
		for k, want := range []float64{
			1, 0.7900576147943436, 0.6258954968318882,
			0.4951742639782303, 0.38281678099930794, 0.2937283105020106,
		} {
			near(t, name, rho[k], want, 1e-10)
		}
	}
	all := stats.Autocorrelation(x, 5000)
	near(t, "lag 300", all[300], 0.043962881334215935, 1e-10)
	near(t, "lag 1999", all[1999], -8.562133846309818e-05, 1e-10)
	if got := stats.Autocorrelation([]float64{2, 2, 2}, 2); got[0] != 1 || got[1] != 0 || got[2] != 0 {
		t.Errorf("constant series: %v", got)
	}
}

func TestEffectiveN(t *testing.T) {
	t.Parallel()
	near(t, "AR(1)", stats.EffectiveN(ar1(2000)), 255.0300404420701, 1e-9)
	slow := make([]float64, 3000) // correlated over more lags than are summed directly
	for i := range slow {
		slow[i] = math.Sin(float64(i) / 400)
	}
	near(t, "slow sine", stats.EffectiveN(slow), 3.9161299873560917, 1e-9)
	if got := stats.EffectiveN(uniform(5000, 2)); got < 4000 || got > 5000 {
		t.Errorf("independent values: %v of 5000", got)
	}
	zigzag := make([]float64, 100)
	for i := range zigzag {
		zigzag[i] = float64(i % 2)
	}
	for what, v := range map[string][]float64{"alternating": zigzag, "constant": make([]float64, 100)} {
		if got := stats.EffectiveN(v); got != 100 {
			t.Errorf("%s: %v, want 100", what, got)
		}
	}
}

// Reference values: the rule written out in Python.
func TestMSER5(t *testing.T) {
	t.Parallel()
	decay := uniform(500, 7)
	rise := make([]float64, 200)
	for i := range decay {
		decay[i] += 5 * math.Exp(-float64(i)/20)
	}
	for i := range rise {
		rise[i] = float64(i)
	}
	for what, c := range map[string]struct {
		x    []float64
		want stats.Cut
	}{
		"decaying": {decay, stats.Cut{At: 95, Share: .19, Settled: true}},
		"steady":   {uniform(500, 9), stats.Cut{Settled: true}},
		"rising":   {rise, stats.Cut{At: 100, Share: .5}},
		"short":    {rise[:40], stats.Cut{Settled: true}},
	} {
		if got := stats.MSER5(c.x); got != c.want {
			t.Errorf("%s: %+v, want %+v", what, got, c.want)
		}
	}
}
