package schema_test

import (
	"testing"

	"aiperf.dev/aiperf/schema"
)

// After 0.13 the cap of a trace's gaps belongs to the replay, and the recording keeps its times; a phase that
// primes keeps none, and another kind of replay has what it had.
func TestLaterSemantics(t *testing.T) {
	t.Parallel()
	most := 2.0
	for _, c := range []struct {
		semantics, mode string
		later           bool
	}{
		{"", "agentic_replay", false},
		{"0.13", "agentic_replay", false},
		{"later", "agentic_replay", true},
		{"later", "fixed_schedule", false},
	} {
		b := schema.Benchmark{
			AIPerf: c.semantics, Datasets: []schema.Dataset{{TraceIdleGapCapSeconds: &most}},
			Phases: []schema.Phase{{Type: c.mode, Primes: "profiling"}, {Type: c.mode}},
		}
		b.FollowAIPerf()
		primes, measured := b.Phases[0], b.Phases[1]
		if primes.TreeIdleGapCapSeconds != nil || (measured.TreeIdleGapCapSeconds != nil) != c.later ||
			b.Datasets[0].GapsStay != c.later || primes.LaterReplay != c.later || measured.LaterReplay != c.later {
			t.Errorf("%s of %q: %+v", c.mode, c.semantics, b)
		}
	}
}
