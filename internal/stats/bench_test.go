package stats_test

import (
	"testing"

	"aiperf.dev/aiperf/internal/stats"
)

func BenchmarkTQuantile(b *testing.B) {
	for b.Loop() {
		stats.TQuantile(.975, 4)
	}
}

func BenchmarkEffectiveN(b *testing.B) {
	x := ar1(100_000)
	for b.Loop() {
		stats.EffectiveN(x)
	}
}
