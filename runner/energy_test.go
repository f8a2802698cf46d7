package runner

import (
	"math"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/sinks"
)

// Energy is told per token, request and user over its own window; where it cannot be
// relied on, only why is told.
func TestEnergyRows(t *testing.T) {
	t.Parallel()
	sum := &metrics.Summary{Window: "full", Stats: []metrics.Stat{
		{Tag: metrics.OutputTokenThroughput, Scalar: true, Avg: 1400}, {Tag: metrics.RequestThroughput, Scalar: true, Avg: 7}, {Tag: metrics.EffectiveConcurrency, Avg: 20},
	}}
	good := windowEnergy{"full", 10, telemetry.Energy{
		GPUs: 2, Joules: 7000, Watts: 700, Method: "counter", Coverage: 1,
		Gap: 0.4, Capped: math.NaN(),
	}}
	poor := good
	poor.Coverage, poor.Capped = 0.8, 0.25
	idle := &metrics.Summary{Window: "full"} // nothing was answered
	for _, c := range []struct {
		name string
		sum  *metrics.Summary
		of   []windowEnergy
		want map[string]float64
	}{
		{"valid", sum, []windowEnergy{good, {window: "steady"}}, map[string]float64{
			"gpu_count": 2, "gpu_coverage": 1, "gpu_gap": 0.4, "gpu_torn_readings": 0, "gpu_power": 700, "gpu_energy": 7000,
			"output_tokens_per_joule": 2, "joules_per_request": 100, "watts_per_user": 35,
		}},
		{"not covered", sum, []windowEnergy{poor}, map[string]float64{"gpu_count": 2, "gpu_coverage": 0.8, "gpu_gap": 0.4, "gpu_torn_readings": 0, "gpu_capped": 0.25}},
		{"nothing was answered", idle, []windowEnergy{good}, map[string]float64{"gpu_count": 2, "gpu_coverage": 1, "gpu_gap": 0.4, "gpu_torn_readings": 0, "gpu_power": 700, "gpu_energy": 7000}},
		{"no GPU", sum, nil, map[string]float64{}},
	} {
		rows := energyMetrics(sinks.Place{}, c.sum, c.of)
		if len(rows) != len(c.want) {
			t.Errorf("%s: %d rows, want %d", c.name, len(rows), len(c.want))
		}
		for _, r := range rows {
			if want, ok := c.want[r.Metric]; !ok || math.Abs(r.Value-want) > 1e-9 || r.Window != "full" {
				t.Errorf("%s: %s is %g over %q, want %g", c.name, r.Metric, r.Value, r.Window, want)
			}
		}
	}
}
