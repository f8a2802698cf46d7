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
	l := stats.LogInterval(x, .95)
	near(t, "log low", l.Low, 9.824123522917647, 1e-12)
	near(t, "log high", l.High, 10.37955106362022, 1e-12)
	near(t, "log mean", l.Mean, 10.1, 1e-14)
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
	p := stats.PositiveInterval([]float64{5, 7}, .95)
	if p.Low <= 0 || p.Mean != 6 || !p.Log || two.Log || len(p.Warnings) != 2 {
		t.Errorf("positive interval of two = %+v, want one above 0 and two warnings", p)
	}
	if z := stats.PositiveInterval([]float64{0, 0, 0}, .95); z.Low != 0 || z.High != 0 || !z.HasInterval() {
		t.Errorf("three zeros = %+v, want the interval [0, 0]", z)
	}
	if z := stats.LogInterval([]float64{0, 1, 2}, .95); len(z.Warnings) == 0 || z.Low >= 0 || z.Log {
		t.Errorf("a zero on the log scale = %+v, want the linear interval with a warning", z)
	}
}

func TestSeparated(t *testing.T) {
	t.Parallel()
	at := func(lo, hi float64) stats.Estimate { return stats.Estimate{Low: lo, High: hi, N: 5} }
	if !at(1, 2).Separated(at(2.1, 3)) || !at(2.1, 3).Separated(at(1, 2)) || at(1, 2).Separated(at(2, 3)) {
		t.Error("Separated is wrong about [1,2] and [2.1,3] or [2,3]")
	}
	if at(1, 2).Separated(stats.Interval([]float64{9}, .95)) {
		t.Error("an estimate without interval is separated")
	}
}

// Reference values: numpy 2.4.6.
func TestMoments(t *testing.T) {
	t.Parallel()
	v := []float64{3.1, 1.2, 9.7, 4.4, 4.4, 0.3, 7.7}
	near(t, "Mean", stats.Mean(v), 4.3999999999999995, 1e-15)
	near(t, "Std", stats.Std(v), 3.1103513811602883, 1e-15)
	near(t, "StdSample", stats.StdSample(v), 3.3595634637057636, 1e-15)
	var a, b stats.Moments
	for i, x := range v {
		if i < 3 {
			a.Add(x)
		} else {
			b.Add(x)
		}
	}
	a.Merge(b)
	near(t, "merged mean", a.Mean(), 4.4, 1e-15)
	near(t, "merged std", a.Std(), 3.1103513811602883, 1e-14)
	near(t, "merged sample std", a.StdSample(), 3.3595634637057636, 1e-14)
	// A large offset must not eat the spread.
	near(t, "Std at 1e9", stats.Std([]float64{1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16}), math.Sqrt(22.5), 1e-12)
	near(t, "Sum", stats.Sum([]float64{1, 1e100, 1, -1e100}), 2, 0)
	if !math.IsNaN(stats.Mean(nil)) || !math.IsNaN(stats.StdSample([]float64{1})) {
		t.Error("moments of too little are not NaN")
	}
}
