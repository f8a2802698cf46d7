package stats_test

import (
	"math"
	"testing"

	"aiperf.dev/aiperf/internal/stats"
)

func TestKolmogorovSmirnov(t *testing.T) {
	t.Parallel()
	// Reference values: scipy.special.kolmogorov and kolmogi.
	for _, c := range [][2]float64{
		{.2, 0.999999999999495},
		{.5, 0.9639452436648751},
		{.8276, 0.49995841656354456},
		{1, 0.26999967167735456},
		{1.3581, 0.0499996304316674},
		{2.5, 7.453306344157342e-06},
		{0, 1},
	} {
		near(t, "KolmogorovSF", stats.KolmogorovSF(c[0]), c[1], 1e-12)
	}
	v := []float64{0.05, 0.1, 0.33, 0.5, 0.9, 1.1, 1.7, 2.2}
	one := stats.KS1(v, func(x float64) float64 { return 1 - math.Exp(-x) })
	near(t, "D of one sample", one.D, 0.15483741803595957, 1e-14)
	near(t, "P of one sample", one.P, 0.9747337359701486, 0.01) // exact value; ours is a correction of the limit
	// scipy.stats.kstwo.sf, exact
	for _, c := range [][3]float64{
		{50, .15, 0.19026366518248072},
		{100, .1, 0.2526927570063874},
		{1000, .04, 0.07933956059000224},
	} {
		sample := shifted(int(c[0]), c[1])
		got := stats.KS1(sample, func(x float64) float64 { return x })
		near(t, "D", got.D, c[1], 1e-12)
		near(t, "P", got.P, c[2], 0.01)
	}
}

func shifted(n int, d float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.Max(0, float64(i+1)/float64(n)-d)
	}
	return v
}
