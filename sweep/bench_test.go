package sweep_test

import (
	"testing"

	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
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

func BenchmarkExpand1000(b *testing.B) {
	d := where(thousand(5), "isl*concurrency <= 1000")
	for b.Loop() {
		if _, err := sweep.Expand(d); err != nil {
			b.Fatal(err)
		}
	}
}
