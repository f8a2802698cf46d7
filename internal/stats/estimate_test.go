package stats_test

import (
	"math"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/stats"
)

// Reference values: numpy 2.4.6 and scipy 1.17.1.
func TestInterval(t *testing.T) {
	t.Parallel()
	x := []float64{10.1, 10.4, 9.8, 10.2, 10.0}
	e := stats.Interval(append(x, math.NaN(), math.Inf(1)), .95)
	near(t, "mean", e.Mean, 10.1, 1e-14)
	near(t, "std", e.StdDev, 0.22360679774997877, 1e-13)
	near(t, "low", e.Low, 9.82235548948022, 1e-12)
	near(t, "high", e.High, 10.37764451051978, 1e-12)
	near(t, "t", e.TCritical(), 2.7764451051977934, 1e-12)
	near(t, "cv", e.CV(), 0.22360679774997877/10.1, 1e-13)
	near(t, "se", e.StdErr(), 0.1, 1e-13)
	if e.N != 5 || e.Min != 9.8 || e.Max != 10.4 || len(e.Warnings) != 0 {
		t.Errorf("estimate = %+v", e)
	}
}

func TestIntervalOfFewTrials(t *testing.T) {
	t.Parallel()
	if e := stats.Interval(nil, .95); e.N != 0 || !math.IsNaN(e.Mean) || e.HasInterval() {
		t.Errorf("of nothing: %+v", e)
	}
	one := stats.Interval([]float64{5}, .95)
	if one.Mean != 5 || one.HasInterval() || !math.IsNaN(one.StdDev) || !math.IsNaN(one.TCritical()) {
		t.Errorf("of one: %+v, want a mean and no interval", one)
	}
	two := stats.Interval([]float64{5, 7}, .95)
	near(t, "low of two", two.Low, 6-12.706204736174694, 1e-12)
	if len(two.Warnings) != 1 || !strings.Contains(two.Warnings[0], "t = 12.7") {
		t.Errorf("warnings of two = %q", two.Warnings)
	}
}

// What no estimate may say: a width of 0, a bound outside what can be, a number
// where there is none.
func TestEstimatesAtTheirEdges(t *testing.T) {
	t.Parallel()
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		what            string
		e               stats.Estimate
		mean, low, high float64
		n               int
	}{
		{"equal trials", stats.Level([]float64{100, 100, 100}, .95, 0), 100, nan, nan, 3},
		{"equal trials, stamps of 1 µs", stats.Level([]float64{100, 100, 100}, .95, 1e-3), 100, 100 - .5e-3, 100 + .5e-3, 3},
		{"a latency of less than a stamp", stats.Level([]float64{1e-4, 1e-4, 1e-4}, .95, 1e-3), 1e-4, 0, 6e-4, 3},
		{"two trials", stats.Level([]float64{4, 9}, .95, 0), 6, nan, nan, 2},
		{"two trials, one 0", stats.Level([]float64{0, 9}, .95, 0), 4.5, nan, nan, 2},
		{"two trials, signed", stats.Signed([]float64{-4, 9}, .95), 2.5, nan, nan, 2},
		{"two trials between bounds", stats.Level([]float64{4, 9}, .95, 0).Spanning(stats.Level([]float64{3, 9}, .95, 0), stats.Level([]float64{5, 9}, .95, 0)), 6, nan, nan, 2},
		{"zeros", stats.Level([]float64{0, 0, 0}, .95, 0), 0, nan, nan, 3},
		{"some zeros", stats.Level([]float64{0, 0, 3}, .95, 0), 1, 0, 1 + 4.302652729749464, 3},
		{"one infinite", stats.Level([]float64{1, inf, 3}, .95, 0), inf, nan, nan, 3},
		{"all infinite", stats.Level([]float64{inf, inf}, .95, 0), inf, nan, nan, 2},
		{"one missing", stats.Level([]float64{2, nan, 2}, .95, 0), 2, nan, nan, 2},
		{"none", stats.Level(nil, .95, 0), nan, nan, nan, 0},
		{"one trial", stats.Level([]float64{7}, .95, 0), 7, nan, nan, 1},
		{"signed, equal", stats.Signed([]float64{-2, -2}, .95), -2, nan, nan, 2},
		{"signed, infinite", stats.Signed([]float64{-2, inf}, .95), inf, nan, nan, 2},
		{"a share of nothing", stats.Share([]stats.Tally{{Hits: 0, Of: 0}}, .95), nan, nan, nan, 0},
		{"80 of 80", stats.Share([]stats.Tally{{Hits: 40, Of: 40}, {Hits: 40, Of: 40}}, .95), 1, math.Pow(.025, 1./80), 1, 2},
		{"0 of 40", stats.Share([]stats.Tally{{Hits: 0, Of: 40}}, .95), 0, 0, 1 - math.Pow(.025, 1./40), 1},
		{"counts of nothing", stats.Count([]float64{0, 0}, .95), 0, 0, -math.Log(.025) / 2, 2},
		{"no level", stats.Count([]float64{1, 2}, 1), 1.5, nan, nan, 2},
	} {
		for i, want := range []float64{c.mean, c.low, c.high} {
			got := []float64{c.e.Mean, c.e.Low, c.e.High}[i]
			if math.IsNaN(got) != math.IsNaN(want) || math.IsInf(got, 1) != math.IsInf(want, 1) ||
				math.Abs(got-want) > 1e-9 {
				t.Errorf("%s: %v [%v, %v], want %v [%v, %v]", c.what, c.e.Mean, c.e.Low, c.e.High, c.mean, c.low,
					c.high)
				break
			}
		}
		if c.e.N != c.n {
			t.Errorf("%s: n = %d, want %d", c.what, c.e.N, c.n)
		}
	}
}

// Reference values: numpy 2.4.6.
func TestMoments(t *testing.T) {
	t.Parallel()
	v := []float64{3.1, 1.2, 9.7, 4.4, 4.4, 0.3, 7.7}
	near(t, "Mean", stats.Mean(v), 4.3999999999999995, 1e-15)
	near(t, "Std", stats.Std(v), 3.1103513811602883, 1e-15)
	near(t, "StdSample", stats.StdSample(v), 3.3595634637057636, 1e-15)
	// A large offset must not eat the spread.
	near(t, "Std at 1e9", stats.Std([]float64{1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16}), math.Sqrt(22.5), 1e-12)
	near(t, "Sum", stats.Sum([]float64{1, 1e100, 1, -1e100}), 2, 0)
	if !math.IsNaN(stats.Mean(nil)) || !math.IsNaN(stats.StdSample([]float64{1})) {
		t.Error("moments of too little are not NaN")
	}
}
