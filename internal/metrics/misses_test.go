package metrics_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
)

// A request that missed two limits counts for each of them; one that failed, or lies outside the
// window, is counted elsewhere.
func TestMissesCountEachLimit(t *testing.T) {
	t.Parallel()
	const ttft, itl = "time_to_first_token", "inter_token_latency"
	m := metrics.CountMisses(map[string]float64{ttft: 39, itl: 12})
	for _, change := range []func(*record.Record){ // first() has a TTFT of 40 ms
		func(*record.Record) {},
		func(r *record.Record) { r.LastToken += 1e9 }, // both
		func(r *record.Record) { r.Sent += 2e6; r.LastToken += 1e9 },
		func(r *record.Record) { r.Sent += 2e6 }, // none
		func(r *record.Record) { r.Status = record.Timeout },
		func(r *record.Record) { r.InWindow = false },
		func(r *record.Record) { r.Warmup = true },
		func(r *record.Record) { r.Open, r.Sent = true, r.Sent+2e6 }, // its wait begins when it is due
	} {
		r := first()
		change(r)
		m.Add(r)
	}
	if diff := cmp.Diff(map[string]int64{ttft: 3, itl: 2}, m.Of); diff != "" || m.Several != 1 {
		t.Errorf("%d missed several, want 1; -want +got:\n%s", m.Several, diff)
	}
}
