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

func TestParetoIntervals(t *testing.T) {
	t.Parallel()
	dirs := []stats.Direction{stats.Maximise, stats.Minimise}
	e := func(m, half float64) stats.Estimate {
		return stats.Estimate{Mean: m, Low: m - half, High: m + half, N: 5}
	}
	once := func(m float64) stats.Estimate { return stats.Interval([]float64{m}, .95) }
	for what, c := range map[string]struct {
		points [][]stats.Estimate
		want   []bool
	}{
		"apart on both":            {[][]stats.Estimate{{e(100, 1), e(5, .1)}, {e(90, 1), e(6, .1)}}, []bool{true, false}},
		"apart on one, no worse":   {[][]stats.Estimate{{e(100, 1), e(5, 2)}, {e(90, 1), e(6, 2)}}, []bool{true, false}},
		"overlap on both":          {[][]stats.Estimate{{e(100, 9), e(5, 2)}, {e(95, 9), e(6, 2)}}, []bool{true, true}},
		"better here, worse there": {[][]stats.Estimate{{e(100, 1), e(6, .1)}, {e(90, 1), e(5, .1)}}, []bool{true, true}},
		"no intervals":             {[][]stats.Estimate{{once(100), once(5)}, {once(90), once(6)}}, []bool{true, true}},
		"no value":                 {[][]stats.Estimate{{e(100, 1), e(math.NaN(), 0)}, {e(90, 1), e(6, .1)}}, []bool{false, true}},
	} {
		if got := stats.ParetoIntervals(c.points, dirs); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
	}
}

// Reference values: scipy 1.17.1, ttest_rel of the logarithms.
func TestPairedRatio(t *testing.T) {
	t.Parallel()
	a := []float64{10.1, 10.4, 9.8, 10.2, 10.0, 0}
	b := []float64{11.0, 11.5, 10.9, 11.4, 10.8, 5}
	r := stats.PairedRatio(a, b, .95)
	near(t, "ratio", r.Value, 1.1008621346467622, 1e-13)
	near(t, "low", r.Low, 1.081279164769401, 1e-12)
	near(t, "high", r.High, 1.1207997702956585, 1e-12)
	near(t, "p", r.P, 0.0001192818256144068, 1e-12)
	if r.N != 5 {
		t.Errorf("N = %d, want 5: the pair with a zero says nothing", r.N)
	}
	for _, c := range []struct {
		margin float64
		dir    stats.Direction
		want   stats.Judgement
	}{
		{.05, stats.Minimise, stats.Fail},
		{.10, stats.Minimise, stats.Inconclusive},
		{.15, stats.Minimise, stats.Pass},
		{0, stats.Maximise, stats.Pass},
	} {
		if got := r.Judge(c.margin, c.dir); got != c.want {
			t.Errorf("Judge(%g, %v) = %v, want %v", c.margin, c.dir, got, c.want)
		}
	}
	one := stats.PairedRatio(a[:1], b[:1], .95)
	if one.Judge(.5, stats.Minimise) != stats.Inconclusive || !math.IsNaN(one.P) {
		t.Errorf("one pair = %+v, want no verdict", one)
	}
	if same := stats.PairedRatio(a[:3], a[:3], .95); same.P != 1 || same.Value != 1 {
		t.Errorf("equal systems = %+v", same)
	}
}

// By hand: 0.01·4, 0.02·3, max(0.03·2), 0.04·1 made non-decreasing.
func TestHolm(t *testing.T) {
	t.Parallel()
	got := stats.Holm([]float64{.04, .01, math.NaN(), .03, .02, .9})
	want := []float64{.09, .05, math.NaN(), .09, .08, .9}
	for i := range want {
		near(t, "p", got[i], want[i], 1e-14)
	}
}

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
	for _, c := range [][3]float64{{50, .15, 0.19026366518248072}, {100, .1, 0.2526927570063874}, {1000, .04, 0.07933956059000224}} {
		sample := shifted(int(c[0]), c[1])
		got := stats.KS1(sample, func(x float64) float64 { return x })
		near(t, "D", got.D, c[1], 1e-12)
		near(t, "P", got.P, c[2], 0.01)
	}
	near(t, "critical value", stats.KSCritical(1e12, .05), 1.3580986393225507e-6, 1e-9)
}

// shifted is n values whose distance from the uniform distribution is d.
func shifted(n int, d float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.Max(0, float64(i+1)/float64(n)-d)
	}
	return v
}

// Reference: scipy 1.17.1, ks_2samp, exact P 0.60.
func TestKS2(t *testing.T) {
	t.Parallel()
	a := []float64{0.61, 0.29, 0.06, 0.59, -1.73, -0.74, 0.51, -0.56, 0.39, 1.64, 0.05, -0.06, 0.64, -0.82, 0.37, 1.77, 1.09, -1.28, 2.36, 1.31, 1.05, -0.32, -0.40, 1.06, -2.47}
	b := make([]float64, 18)
	for i := range b {
		b[i] = a[i]*1.3 + 0.2
	}
	stats.Sort(a)
	stats.Sort(b)
	got := stats.KS2(a, b)
	near(t, "D", got.D, 0.22, 1e-12)
	near(t, "P", got.P, 0.6010137433826596, 0.05) // the exact distribution is a staircase
	if same := stats.KS2(a, a); same.D != 0 || same.P != 1 {
		t.Errorf("a sample against itself = %+v", same)
	}
}
