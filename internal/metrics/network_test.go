package metrics_test

import (
	"math"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
)

// Latencies without the round trip are each statistic less its mean, not below 0; what
// the run does not have is not made up.
func TestWithoutRoundTrip(t *testing.T) {
	t.Parallel()
	rtt := metrics.RoundTrip([]float64{1, 2, 6}, 3)
	if rtt.P50 != 2 || rtt.Min != 1 || rtt.Max != 6 || rtt.Count != 3 || math.Abs(rtt.Std-math.Sqrt(14./3)) > 1e-12 {
		t.Errorf("round trip %+v", rtt)
	}
	nan := math.NaN()
	sum := metrics.Summary{Stats: []metrics.Stat{{
		Tag: metrics.RequestLatency, Unit: "ms", Count: 4, Avg: 10, Min: 2,
		Max: 20, Sum: 40, Std: 5, P50: 9, P99: nan,
	}}}
	got := sum.WithoutRoundTrip(rtt)
	if len(got) != 2 || got[0].Tag != "network_rtt" || got[1].Tag != "network_adjusted_request_latency" {
		t.Fatalf("got %+v", got)
	}
	if a := got[1]; a.Avg != 7 || a.Min != 0 || a.Max != 17 || a.Sum != 28 || a.Std != 5 || a.P50 != 6 ||
		!math.IsNaN(a.P99) || a.Header != "Network-Adjusted Request Latency" {
		t.Errorf("adjusted %+v", a)
	}
	if before, _ := sum.Get(metrics.RequestLatency); before.Avg != 10 {
		t.Error("the plain latency has changed")
	}
}
