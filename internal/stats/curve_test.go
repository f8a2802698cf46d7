package stats_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperf.dev/aiperf/internal/stats"
)

// Values that rise are pooled by their weights, and no others.
func TestFalling(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ y, w, want []float64 }{
		{[]float64{3, 2, 1}, []float64{1, 1, 1}, []float64{3, 2, 1}},
		{[]float64{1, 2, 3}, []float64{1, 1, 1}, []float64{2, 2, 2}},
		{[]float64{1, 0.9, 0.95, 0.2}, []float64{10, 300, 100, 50}, []float64{1, 0.9125, 0.9125, 0.2}},
		{[]float64{0.5, 0.4, 0.9}, []float64{1, 1, 2}, []float64{0.675, 0.675, 0.675}},
		{[]float64{0.5, 0.7}, []float64{0, 0}, []float64{0.7, 0.7}},
		{nil, nil, []float64{}},
	} {
		if diff := cmp.Diff(c.want, stats.Falling(c.y, c.w), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.y, diff)
		}
	}
}

// Points of the law have its parameters back, to the last digits; the intervals of noisy
// points hold them about as often as they say.
func TestScale(t *testing.T) {
	t.Parallel()
	law := func(n, lambda, sigma, kappa float64) float64 {
		return lambda * n / (1 + sigma*(n-1) + kappa*n*(n-1))
	}
	loads := []float64{1, 2, 4, 8, 16, 32, 64}
	for _, c := range []struct{ lambda, sigma, kappa float64 }{
		{12, 0.02, 0.0004},
		{3, 0, 0.001},
		{5, 0.2, 0},
		{7, 0, 0},
	} {
		var x []float64
		for _, n := range loads {
			x = append(x, law(n, c.lambda, c.sigma, c.kappa))
		}
		s, ok := stats.Scale(loads, x)
		if !ok || math.Abs(s.Lambda.Value/c.lambda-1) > 1e-9 || math.Abs(s.Sigma.Value-c.sigma) > 1e-9 ||
			math.Abs(s.Kappa.Value-c.kappa) > 1e-9 || s.Residual > 1e-9 {
			t.Errorf("%+v: %+v", c, s)
			continue
		}
		if want := math.Sqrt((1 - c.sigma) / c.kappa); c.kappa > 0 && math.Abs(s.Peak.Value/want-1) > 1e-6 {
			t.Errorf("%+v: largest at %g, want %g", c, s.Peak.Value, want)
		}
		if got := s.At(10); math.Abs(got/law(10, c.lambda, c.sigma, c.kappa)-1) > 1e-9 {
			t.Errorf("%+v: %g at 10", c, got)
		}
	}
	rng := rand.New(rand.NewPCG(24, 5))
	const times = 400
	held := map[string]int{}
	for range times {
		var n, x []float64
		for _, l := range loads {
			for range 2 {
				n, x = append(n, l), append(x, law(l, 12, 0.03, 0.0005)*math.Exp(0.03*rng.NormFloat64()))
			}
		}
		s, ok := stats.Scale(n, x)
		if !ok {
			t.Fatal("no fit")
		}
		for name, p := range map[string]struct {
			stats.Param
			want float64
		}{"lambda": {s.Lambda, 12}, "sigma": {s.Sigma, 0.03}, "kappa": {s.Kappa, 0.0005}} {
			if p.Low <= p.want && p.want <= p.High {
				held[name]++
			}
		}
	}
	for name, k := range held {
		if k < times*91/100 {
			t.Errorf("the interval of %s holds it in %d of %d", name, k, times)
		}
	}
	for _, bad := range [][2][]float64{
		{{1, 2, 4}, {1, 2, 3}},
		{{1, 1, 2, 2, 4}, {1, 1, 2, 2, 3}},
		{{1, 2, 4, 8}, {1, 2, 0, 3}},
	} {
		if s, ok := stats.Scale(bad[0], bad[1]); ok {
			t.Errorf("%v: %+v", bad, s)
		}
	}
}

// A bend is found where it is, with an interval that holds it; a straight line has none
// in all but a few cases.
func TestFindBend(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(24, 6))
	const times = 300
	held, false5 := 0, 0
	for range times {
		var x, bent, straight []float64
		for i := range 9 {
			v := float64(i)
			x = append(x, v)
			bent = append(bent, v-0.9*max(0, v-4.5)+0.05*rng.NormFloat64())
			straight = append(straight, 0.8*v+0.05*rng.NormFloat64())
		}
		b, ok := stats.FindBend(x, bent)
		if !ok || b.P > 0.01 || math.Abs(b.Before-1) > 0.2 || math.Abs(b.After-0.1) > 0.2 {
			t.Fatalf("%+v", b)
		}
		if b.At.Low <= 4.5 && b.At.High >= 4.5 {
			held++
		}
		if b, _ := stats.FindBend(x, straight); b.P < 0.05 {
			false5++
		}
	}
	if held < times*90/100 || false5 > times*14/100 {
		t.Errorf("held %d of %d, false alarms %d", held, times, false5)
	}
	if _, ok := stats.FindBend([]float64{1, 2, 3, 4, 4, 4}, slices.Repeat([]float64{1}, 6)); ok {
		t.Error("four places are enough")
	}
}
