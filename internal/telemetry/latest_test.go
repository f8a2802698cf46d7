package telemetry_test

import (
	"math"
	"testing"

	"aiperf.dev/aiperf/internal/telemetry"
)

// What servers said last is folded as over a window: engines add up, ranks repeat, and a
// page that cannot be read any more says nothing.
func TestLatest(t *testing.T) {
	t.Parallel()
	var l telemetry.Latest
	if now, known := l.Now(); known {
		t.Fatalf("nothing was read, and yet %+v", now)
	}
	sample := func(source, metric, labels string, v float64) telemetry.Sample {
		return telemetry.Sample{
			Source: source, Collector: "server", Metric: metric, Labels: labels, Kind: telemetry.Gauge, Value: v,
		}
	}
	l.Add([]telemetry.Sample{
		sample("a", "vllm:num_requests_running", `{"engine":"0"}`, 9),
		sample("a", "vllm:num_requests_running", `{"engine":"0"}`, 3),
		sample("a", "vllm:num_requests_running", `{"engine":"1"}`, 4),
		sample("a", "vllm:kv_cache_usage_perc", `{"engine":"0"}`, 0.25),
		sample("a", "vllm:kv_cache_usage_perc", `{"engine":"1"}`, 0.75),
		sample("b", "sglang:num_running_reqs", `{"tp_rank":"0"}`, 5),
		sample("b", "sglang:num_running_reqs", `{"tp_rank":"1"}`, 5),
		sample("b", "sglang:full_token_usage", `{"tp_rank":"0"}`, 0.9),
		{Source: "host", Collector: "host", Metric: "vllm:num_requests_waiting", Kind: telemetry.Gauge, Value: 7},
	})
	now, known := l.Now()
	if !known || now.Running != 12 || now.KVUse != 0.9 || !math.IsNaN(now.Waiting) {
		t.Errorf("%+v, known %v; want 12 running, 0.9 of a cache, waiting not known", now, known)
	}
	l.Add([]telemetry.Sample{sample("b", telemetry.Up, "", 0), sample("a", telemetry.Up, "", 1)})
	if now, _ := l.Now(); now.Running != 7 || now.KVUse != 0.5 {
		t.Errorf("with b gone %+v; want 7 running and the mean of a's engines", now)
	}
}
