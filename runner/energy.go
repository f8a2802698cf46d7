package runner

import (
	"math"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/sinks"
)

// windowEnergy is what GPUs took over a window of a run.
type windowEnergy struct {
	window  string
	seconds float64
	telemetry.Energy
}

// energies are those of the run's windows in which a GPU was read.
func energies(rep *RunReport, all *telemetry.Energies) (out []windowEnergy) {
	for _, w := range windowsOf(rep) {
		if e := all.Window(w.start, w.end); e.GPUs > 0 {
			out = append(out, windowEnergy{w.name, float64(w.end-w.start) / 1e9, e})
		}
	}
	return out
}

// energyMetrics are the rows of a run about its GPUs: whether their energy can be relied
// on, and, where it can, power, energy and what a token, a request and a user took of it.
// Of all requests, also those that failed or were cut off: energy does not tell them
// apart.
func energyMetrics(at sinks.Place, sum *metrics.Summary, all []windowEnergy) (rows []sinks.MetricRow) {
	for _, e := range all {
		if e.window != sum.Window {
			continue
		}
		add := func(metric, stat, unit string, v float64) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return
			}
			nan := math.NaN()
			rows = append(rows, sinks.MetricRow{
				Place: at, Level: "run", Window: e.window, Metric: metric, Stat: stat, Value: v, Unit: unit,
				Low: nan, High: nan, CV: nan, N: record.None, NEff: nan, Certified: record.None, Method: e.Method,
			})
		}
		of := func(tag string) float64 {
			s, ok := sum.Get(tag)
			if !ok || !(s.Avg > 0) {
				return math.NaN()
			}
			return s.Avg
		}
		add("gpu_count", "avg", "", float64(e.GPUs))
		add("gpu_coverage", "avg", "ratio", e.Coverage)
		add("gpu_gap", "max", "s", e.Gap)
		add("gpu_torn_readings", "sum", "", float64(e.Torn))
		add("gpu_capped", "avg", "ratio", e.Capped)
		if !e.Valid(e.seconds) {
			continue
		}
		add("gpu_power", "avg", "W", e.Watts)
		add("gpu_energy", "sum", "J", e.Joules)
		add("output_tokens_per_joule", "avg", "tokens/J", of(metrics.OutputTokenThroughput)/e.Watts)
		add("joules_per_request", "avg", "J/request", e.Watts/of(metrics.RequestThroughput))
		add("watts_per_user", "avg", "W/user", e.Watts/of(metrics.EffectiveConcurrency))
	}
	return rows
}
