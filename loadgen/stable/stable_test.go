package stable_test

import (
	"math"
	"strings"
	"testing"

	"aiperf.dev/aiperf/loadgen/stable"
	"aiperf.dev/aiperf/schema"
)

const second = int64(1e9)

// Windows of a second with so many requests of so many ms: it ends at the third in a row that
// agrees with the two before it.
func TestThreeAgree(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		percentage float64
		windows    [][2]float64 // requests, mean latency in ms
		ends       int          // windows at which it does; 0: not at all
		said       string
	}{
		// 110/100 is 10 % apart, 100/91 is 9.9 %
		{"agrees at once", 10, [][2]float64{{100, 10}, {110, 10.5}, {105, 10}}, 3, "throughput of the last three differs by 10.0 %, latency by 5.00 %;"},
		{"just too far", 10, [][2]float64{{100, 10}, {111, 10}, {105, 10}}, 0, "not stable after 3 windows: throughput of the last three differs by 11.0 %, latency by 0 %"},
		{"warms up", 5, [][2]float64{{50, 40}, {80, 20}, {100, 10}, {101, 10}, {102, 10.2}}, 5, "stable after 5 windows"},
		{"latency alone moves", 10, [][2]float64{{100, 10}, {100, 12}, {100, 10}, {100, 12}}, 0, "latency by 20.0 %, and both may differ by 10 %"},
		{"GenAI-Perf's default takes any three", 999, [][2]float64{{10, 100}, {100, 10}, {50, 20}}, 3, "stable after 3 windows"},
		{"999 % is eleven times less one", 999, [][2]float64{{10, 10}, {110, 10}, {50, 10}}, 0, "differs by 1,000 %"},
		{"an empty window", 999, [][2]float64{{10, 10}, {0, 0}, {10, 10}}, 0, "something was answered in only 2 of the last three"},
		{"too few", 10, [][2]float64{{100, 10}, {100, 10}}, 0, "only 2 windows ended, and three must agree"},
	} {
		r := stable.New(&schema.Stability{Percentage: c.percentage})
		ends := 0
		for i, w := range c.windows {
			from := int64(i) * second
			if r.Add(stable.NewWindow(from, from+second, int64(w[0]), w[0]*w[1])) {
				ends = i + 1
				break
			}
		}
		if ends != c.ends || r.Stable != (c.ends > 0) || !strings.Contains(r.Sentence(), c.said) {
			t.Errorf("%s: ends at %d, want %d: %s", c.name, ends, c.ends, r.Sentence())
		}
	}
}

// Rates are by the length of the window, whatever it is.
func TestWindow(t *testing.T) {
	t.Parallel()
	w := stable.NewWindow(second, 4*second, 60, 900)
	if w.Rate != 20 || w.Latency != 15 {
		t.Errorf("%+v, want 20 requests a second of 15 ms", w)
	}
	if rate, _ := stable.New(&schema.Stability{}).Spread(); !math.IsInf(rate, 1) {
		t.Errorf("nothing differs by %g", rate)
	}
}
