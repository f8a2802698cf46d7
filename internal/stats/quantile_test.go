package stats_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"aiperf.dev/aiperf/internal/stats"
)

// Reference values: numpy 2.4.6, numpy.quantile(…, method="linear"); exact.
func TestQuantileIsNumpys(t *testing.T) {
	t.Parallel()
	v := []float64{3.1, 1.2, 9.7, 4.4, 4.4, 0.3, 7.7}
	stats.Sort(v)
	for _, c := range [][2]float64{
		{0, .3},
		{.01, .354},
		{.1, .8400000000000001},
		{.25, 2.15},
		{.5, 4.4},
		{.75, 6.050000000000001},
		{.9, 8.5},
		{.95, 9.099999999999998},
		{.99, 9.579999999999998},
		{.999, 9.687999999999999},
		{1, 9.7},
	} {
		if got := stats.Quantile(v, c[0]); got != c[1] {
			t.Errorf("Quantile(%g) = %.17g, want %.17g", c[0], got, c[1])
		}
	}
	long := uniform(10000, 3) // long enough for the radix sort
	stats.Sort(long)
	for _, c := range [][2]float64{
		{.01, 0.009594413094297925},
		{.5, 0.49772213072322036},
		{.99, 0.9910753784762031},
		{.999, 0.9988529214556157},
	} {
		if got := stats.Quantile(long, c[0]); got != c[1] {
			t.Errorf("Quantile(%g) of 10,000 = %.17g, want %.17g", c[0], got, c[1])
		}
	}
	if got := stats.Quantile(nil, .5); !math.IsNaN(got) {
		t.Errorf("the median of nothing = %v", got)
	}
	if got := stats.Quantile([]float64{7}, .99); got != 7 {
		t.Errorf("p99 of one 7 = %v", got)
	}
}

func TestSortAgreesWithSlices(t *testing.T) {
	t.Parallel()
	var s stats.Sorter
	for _, n := range []int{0, 1, 2, 100, 4096, 5000, 50000, 4097} {
		v := uniform(n, uint64(n)+1)
		for i := range v {
			v[i] = math.Exp(40*(v[i]-.5)) * []float64{1, -1, 0, 1e-300}[i%4]
		}
		if n > 3 {
			v[0], v[1], v[2] = math.Inf(1), math.Inf(-1), math.MaxFloat64
		}
		want := slices.Clone(v)
		slices.Sort(want)
		s.Sort(v)
		if !slices.Equal(v, want) {
			t.Errorf("Sort of %d values differs from slices.Sort", n)
		}
	}
}

// The published table of floors.
func TestFloor(t *testing.T) {
	t.Parallel()
	for q, want := range map[float64]int{
		.5: 11, .75: 24, .9: 64, .95: 130, .97: 219, .99: 662, .999: 6636, .01: 662,
		.25: 24,
	} {
		if got := stats.Floor(q); got != want {
			t.Errorf("Floor(%g) = %d, want %d", q, got, want)
		}
	}
	for _, q := range []float64{.001, .01, .1, .5, .51, .75, .9, .95, .99, .999} {
		n := float64(stats.Floor(q))
		if stats.Certified(q, n-1) || stats.Certified(q, n-.01) || !stats.Certified(q, n) ||
			!stats.Certified(q, n+.5) || !stats.Certified(q, math.Inf(1)) || stats.Certified(q, math.NaN()) {
			t.Errorf("Certified(%g, …) does not follow Floor, which is %g", q, n)
		}
	}
	if stats.Certified(.99, 661) || !stats.Certified(.99, 662) || stats.Certified(1, 1e18) {
		t.Error("Certified does not follow Floor")
	}
}

func TestQuantileInterval(t *testing.T) {
	t.Parallel()
	v := make([]float64, 1000)
	for i := range v {
		v[i] = float64(i + 1) // the value is its rank
	}
	for _, c := range []struct {
		q, nEff float64
		lo, hi  float64
		ok      bool
	}{
		// 500 ∓ 1.96·√250 = 469.01, 530.99
		{.5, 1000, 469, 531, true},
		// half as many: 500 ∓ 1.96·√125·2 = 456.17, 543.83
		{.5, 500, 456, 544, true},
		// 990 ∓ 1.96·√9.9 = 983.83, 996.17
		{.99, 1000, 983, 997, true},
		{.99, 661, 0, 0, false},   // below the floor
		{.999, 1000, 0, 0, false}, // likewise
		{.5, math.NaN(), 469, 531, true},
	} {
		lo, hi, ok := stats.QuantileInterval(v, c.q, c.nEff, .95)
		if ok != c.ok || ok && (lo != c.lo || hi != c.hi) {
			t.Errorf("QuantileInterval(%g, nEff %g) = %v, %v, %v; want %v, %v, %v", c.q, c.nEff, lo, hi, ok, c.lo, c.hi,
				c.ok)
		}
	}
}

// The share of samples whose interval holds the true quantile is near the
// level: 2,000 samples of 800, binomial sd 0.5 %.
func TestQuantileIntervalCovers(t *testing.T) {
	t.Parallel()
	hit := 0
	for s := range 2000 {
		v := uniform(800, uint64(s)*977+5)
		stats.Sort(v)
		if lo, hi, ok := stats.QuantileInterval(v, .9, 800, .95); ok && lo <= .9 && .9 <= hi {
			hit++
		}
	}
	if share := float64(hit) / 2000; share < .935 || share > .985 {
		t.Errorf("coverage %.3f, want about 0.95", share)
	}
}

func BenchmarkSort(b *testing.B) {
	for _, n := range []int{2048, 4096, 1_000_000} {
		src := uniform(n, 1)
		v := make([]float64, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var s stats.Sorter
			for b.Loop() {
				copy(v, src)
				s.Sort(v)
			}
		})
	}
}
