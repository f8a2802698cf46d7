package decide_test

import (
	"testing"

	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// thousand is 10 × 10 × 10 cells.
func thousand(trials int) *document {
	ten := func(path, name string) schema.Axis {
		a := axis(path, name)
		for i := range 10 {
			a.Values, a.Labels = append(a.Values, int64(i+1)), append(a.Labels, "")
		}
		return a
	}
	return grid(trials, ten(concurrency, "concurrency"), ten(isl, "isl"), ten(requests, "requests"))
}

func BenchmarkAggregate1000(b *testing.B) {
	p, err := sweep.Expand(thousand(5))
	if err != nil {
		b.Fatal(err)
	}
	x := make([]float64, 1000)
	for i := range x {
		x[i] = float64(i + 1)
	}
	outcomes := measure(p, .01, x, x)
	for b.Loop() {
		decide.Aggregate(p, outcomes)
	}
}
