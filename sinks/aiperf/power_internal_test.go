package aiperf

import (
	"math"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
)

// The metrics of power of a run of AIPerf 0.13 with two sources of two GPUs: 120 requests of
// four users that took 163.8 ms each on average, 2,489 tokens out in 6.06 s. What it wrote of
// energy and power gives all that it wrote beside them.
func TestEfficiencyAsAIPerfs(t *testing.T) {
	t.Parallel()
	const (
		joules, watts = 43488.14359000001, 2152.940526315789
		seconds       = joules / 7176.672186517336
		output        = 2489.0
		all           = 8489.0
	)
	var sum metrics.Summary
	for _, m := range []struct {
		tag string
		v   float64
	}{
		{metrics.BenchmarkDuration, seconds},
		{metrics.RequestCount, 120},
		{metrics.OutputTokenThroughput, output / seconds},
		{metrics.TotalTokenThroughput, all / seconds},
		{metrics.RequestThroughput, 120 / seconds},
		{metrics.RequestLatency, 163.75268},
	} {
		sum.Stats = append(sum.Stats, scalar(m.tag, "", "", m.v))
	}
	got := map[string]float64{}
	for _, s := range (&gpuSet{GPUs: &GPUs{Users: 4}}).efficiency("nvidia", watts, joules, &sum) {
		got[s.Tag] = s.Avg
	}
	want := map[string]float64{
		"nvidia_total_gpu_power": 2152.940526315789, "nvidia_average_gpu_power": 7176.672186517336,
		"nvidia_total_gpu_energy": 43488.14359000001, "nvidia_output_tokens_per_joule": 0.05723399056685279,
		"nvidia_energy_per_output_token": 17472.134829248695, "nvidia_energy_per_total_token": 5122.881798798446,
		"nvidia_energy_per_request": 362.4011965833334, "nvidia_energy_per_user": 10872.035897500002,
		"nvidia_energy_delay_product": 59.34418641017119, "nvidia_performance_per_watt": 0.0027593727874738183,
		"nvidia_output_tps_per_watt": 0.057233990566852785,
	}
	for tag, v := range want {
		if math.Abs(got[tag]/v-1) > 2e-6 {
			t.Errorf("%s: %v, AIPerf %v", tag, got[tag], v)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d metrics, AIPerf has %d: %v", len(got), len(want), got)
	}
}
