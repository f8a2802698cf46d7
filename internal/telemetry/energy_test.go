package telemetry

import (
	"fmt"
	"math"
	"testing"
)

// gpuRun is what GPUs say at looks each third of a second over 12 s: figures by look.
func gpuRun(collector, source string, looks int, says func(k int, tell func(metric, uuid string, v float64))) []Sample {
	var out []Sample
	last := map[string]float64{}
	for k := range looks {
		at := int64(k) * 333_000_000
		now := map[string]float64{}
		says(k, func(metric, uuid string, v float64) { now[metric+" "+uuid] = v })
		for _, metric := range []string{"nvml_energy_joules_total", "nvml_power_watts"} {
			for _, uuid := range []string{"GPU-a", "GPU-b"} {
				key := metric + " " + uuid
				v, said := now[key]
				if !said {
					if _, had := last[key]; !had {
						continue
					}
					v = math.NaN()
				}
				if had, ok := last[key]; ok && had == v || math.IsNaN(last[key]) && math.IsNaN(v) && ok {
					continue
				}
				last[key] = v
				kind := Gauge
				if metric == "nvml_energy_joules_total" {
					kind = Counter
				}
				out = append(out, Sample{
					At: at, Source: source, Collector: collector, Metric: metric,
					Labels: fmt.Sprintf(`{"UUID":%q,"gpu":"0"}`, uuid), Kind: kind, Value: v,
				})
			}
		}
		out = append(out, Sample{At: at, Source: source, Collector: collector, Metric: Up, Kind: Gauge, Value: 1})
	}
	return out
}

func TestEnergyOfWindows(t *testing.T) {
	t.Parallel()
	const from, to = int64(2e9), int64(10e9) // neither is the moment of a look
	step := func(k int) float64 { return float64(k) * 0.333 }
	counter := func(k int, tell func(string, string, float64)) {
		tell("nvml_energy_joules_total", "GPU-a", 1000+300*step(k))
		tell("nvml_power_watts", "GPU-a", 300)
	}
	for _, c := range []struct {
		name          string
		samples       []Sample
		gpus          int
		joules        float64
		method        string
		coverage, gap float64
		torn          int
		valid         bool
	}{
		{"a counter", gpuRun(NVML, "s", 37, counter), 1, 2400, "counter", 1, 0.333, 0, true},
		{"one GPU by two sources", append(gpuRun(NVML, "s", 37, counter), gpuRun(NVML, "t", 37, counter)...), 1, 2400, "counter", 1, 0.333, 0, true},
		{"power alone", gpuRun(NVML, "s", 37, func(k int, tell func(string, string, float64)) { tell("nvml_power_watts", "GPU-a", 100+10*step(k)) }), 1, 100*8 + 10*48, "trapezoid", 1, 0.333, 0, true},
		{"a counter that begins anew", gpuRun(NVML, "s", 37, func(k int, tell func(string, string, float64)) {
			v := 1000 + 300*step(k)
			if k >= 15 {
				v = 300 * (step(k) - step(14))
			}
			tell("nvml_energy_joules_total", "GPU-a", v)
		}), 1, 2400, "counter", 1, 0.333, 0, true},
		{"an exporter that reads each 4 s", gpuRun(NVML, "s", 37, func(k int, tell func(string, string, float64)) {
			tell("nvml_energy_joules_total", "GPU-a", 300*step(k/12*12))
		}), 1, 2400, "counter", 1, 3.996, 0, false},
		{"the source dies", gpuRun(NVML, "s", 19, counter), 1, 300 * (step(18) - 2), "counter", (step(18) - 2) / 8, 10 - step(18), 0, false},
		{"a GPU is missing from some readings", gpuRun(NVML, "s", 37, func(k int, tell func(string, string, float64)) {
			counter(k, tell)
			if k != 10 && k != 11 {
				tell("nvml_energy_joules_total", "GPU-b", 100*step(k))
			}
		}), 2, 3200, "counter", 1, 0.999, 2, true},
		{"nothing", nil, 0, 0, "counter", 1, 0, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var e Energies
			for _, s := range c.samples {
				e.Add(s)
			}
			got := e.Window(from, to)
			if got.GPUs != c.gpus || math.Abs(got.Joules-c.joules) > 1 || got.Method != c.method ||
				math.Abs(got.Coverage-c.coverage) > 1e-6 || math.Abs(got.Gap-c.gap) > 1e-6 || got.Torn != c.torn {
				t.Errorf("got %+v, want %d GPUs, %g J by %s, coverage %g, gap %g s, %d torn", got, c.gpus,
					c.joules, c.method, c.coverage, c.gap, c.torn)
			}
			if math.Abs(got.Watts-got.Joules/8) > 1e-9 || got.Valid(8) != c.valid {
				t.Errorf("%g W, valid %t; want %t", got.Watts, got.Valid(8), c.valid)
			}
		})
	}
}

// How long limits on power and heat held clocks down is that of the GPU where it was most, of
// both counters together, over the window; a GPU that says nothing of it says nothing.
func TestCappedShareOfWindows(t *testing.T) {
	t.Parallel()
	var e Energies
	if got := e.Window(2e9, 10e9).Capped; !math.IsNaN(got) {
		t.Errorf("of no GPU: %v", got)
	}
	for k := range 13 {
		for uuid, says := range map[string]map[string]float64{
			"a": {"DCGM_FI_DEV_POWER_VIOLATION": 1e8 * float64(k), "DCGM_FI_DEV_THERMAL_VIOLATION": 2e8 * float64(k)},
			"b": {"DCGM_FI_DEV_POWER_VIOLATION": 5e9},
			"c": {"DCGM_FI_DEV_POWER_USAGE": 300},
		} {
			for metric, v := range says {
				e.Add(Sample{
					At: int64(k) * 1e9, Source: "s", Collector: DCGM, Metric: metric, Labels: fmt.Sprintf(`{"UUID":%q}`, uuid),
					Kind: Counter, Value: v,
				})
			}
		}
	}
	if got := e.Window(2e9, 10e9).Capped; math.Abs(got-0.3) > 1e-9 {
		t.Errorf("%v of the time, want 0.3", got)
	}
}
