package stats_test

import (
	"math"
	"testing"

	"aiperf.dev/aiperf/internal/stats"
)

// Clusters of equal answers count once each, independent ones as they are many; where all
// or none succeed each counts once.
func TestClusterEffect(t *testing.T) {
	t.Parallel()
	alike := []stats.Tally{{Hits: 4, Of: 4}, {Hits: 0, Of: 4}, {Hits: 4, Of: 4}, {Hits: 0, Of: 4}}
	// p = 1/2, Σ(h−2)² = 16, k/(k−1)·16/16 ÷ 1/4
	if got := stats.ClusterEffect(alike); math.Abs(got-4.0/3*4) > 1e-12 {
		t.Errorf("alike: %v", got)
	}
	for _, c := range []struct {
		clusters []stats.Tally
		want     float64
	}{
		{nil, 1},
		{[]stats.Tally{{Hits: 2, Of: 4}, {Hits: 2, Of: 4}}, 1},
		{[]stats.Tally{{Hits: 80, Of: 80}, {Hits: 80, Of: 80}}, 80},
		{[]stats.Tally{{Hits: 0, Of: 1}, {Hits: 0, Of: 1}}, 1},
	} {
		if got := stats.ClusterEffect(c.clusters); got != c.want {
			t.Errorf("%v: %v, want %v", c.clusters, got, c.want)
		}
	}
}

// The interval of flips leaves 0 out exactly where McNemar's exact test finds a change:
// its two-sided p is twice the smaller tail of a fair coin.
func TestFlipsAreMcNemars(t *testing.T) {
	t.Parallel()
	choose := func(n, k int) float64 {
		c := 1.0
		for i := range k {
			c *= float64(n-i) / float64(i+1)
		}
		return c
	}
	for flips := 1; flips <= 30; flips++ {
		for more := 0; more <= flips; more++ {
			tail := 0.0
			for k := range min(more, flips-more) + 1 {
				tail += choose(flips, k) * math.Pow(0.5, float64(flips))
			}
			e := stats.Flips(float64(more), float64(flips-more), 100, 0.95)
			if differs := e.Low > 0 || e.High < 0; differs != (2*tail < 0.05) {
				t.Errorf("%d of %d: [%.4f, %.4f], p = %.4f", more, flips, e.Low, e.High, 2*tail)
			}
			if want := float64(2*more-flips) / 100; math.Abs(e.Mean-want) > 1e-12 || e.Low > want || e.High < want {
				t.Errorf("%d of %d: %v in [%v, %v]", more, flips, e.Mean, e.Low, e.High)
			}
		}
	}
	if e := stats.Flips(0, 0, 100, 0.95); e.Mean != 0 || e.Low != -e.High || e.High < 0.02 || e.High > 0.05 {
		t.Errorf("no flip: %+v", e)
	}
}
