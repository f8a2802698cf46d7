package sweep_test

import (
	"testing"

	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/sweeptest"
)

func BenchmarkExpand1000(b *testing.B) {
	d := where(sweeptest.Thousand(5), "isl*concurrency <= 1000")
	for b.Loop() {
		if _, err := sweep.Expand(d); err != nil {
			b.Fatal(err)
		}
	}
}
