package genaiperf

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"aiperf.dev/aiperf/internal/atomicfile"
)

// AnalysisFile is the table of a sweep that analyze leaves in the artifact directory.
const AnalysisFile = "analyze_export_genai_perf.csv"

// Analysis is a sweep as GenAI-Perf's analyze tells it.
type Analysis struct {
	Load string // what its second column is: Concurrency or Request Rate
	Rows []Swept
}

// Swept is one value of the sweep. A figure that it does not have is NaN.
type Swept struct {
	Name               string // m_run_config_0
	Load, ISL, Entries float64
	// p99 of TTFT, ITL and latency in ms, and of the tokens of an answer
	TTFT, ITL, Latency, OSL float64
	Tokens, Requests        float64 // per second
	GPUs                    []SweptGPU
}

// SweptGPU are the figures of a GPU over one value of the sweep; NaN for none.
type SweptGPU struct {
	Name                                            string
	Power, Energy, Utilization, Memory              float64 // W, MJ, %, GB; p99, energy as it grew
	PowerLimit /* W */, TotalMemory/* GB */ float64 // means
}

// Write writes the table into dir, the highest request throughput first.
func (a *Analysis) Write(dir string) error {
	rows := slices.Clone(a.Rows)
	slices.SortStableFunc(rows, func(x, y Swept) int { return cmp.Compare(y.Requests, x.Requests) })
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	lines := [][]string{{
		"Config Name", a.Load, "ISL", "Num Dataset Entries", "p99 Time To First Token (ms)",
		"p99 Inter Token Latency (ms)", "p99 Request Latency (ms)", "p99 Output Sequence Length (tokens)",
		"Avg. Output Token Throughput (tokens/sec)", "Request Throughput (requests/sec)",
	}}
	for _, r := range rows {
		lines = append(lines, append([]string{r.Name, whole(r.Load), whole(r.ISL), whole(r.Entries)},
			two(r.TTFT, r.ITL, r.Latency, r.OSL, r.Tokens, r.Requests)...))
	}
	lines = append(lines, []string{}, []string{
		"Config Name", "GPU", "p99 GPU Power Usage (W)", "p99 GPU Energy Consumption (MJ)", "p99 GPU Utilization (%)",
		"p99 GPU Memory Used (GB)", "Avg. GPU Power Limit (W)", "Avg. GPU Total Memory (GB)",
	})
	for _, r := range rows {
		for _, g := range r.GPUs {
			lines = append(lines, append([]string{r.Name, g.Name},
				two(g.Power, g.Energy, g.Utilization, g.Memory, g.PowerLimit, g.TotalMemory)...))
		}
	}
	for _, line := range lines {
		if len(line) == 0 {
			w.Flush()
			b.WriteString("\r\n")
			continue
		}
		if err := w.Write(line); err != nil {
			return failed(err)
		}
	}
	w.Flush()
	if err := atomicfile.Write(filepath.Join(dir, AnalysisFile), b.Bytes()); err != nil {
		return failed(err)
	}
	return nil
}

// whole is a number that was asked for; nothing for NaN.
func whole(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// two are figures with two decimals; nothing for NaN.
func two(values ...float64) (out []string) {
	for _, v := range values {
		if math.IsNaN(v) {
			out = append(out, "")
		} else {
			out = append(out, strconv.FormatFloat(v, 'f', 2, 64))
		}
	}
	return out
}

// GPUsOf reads the GPUs of a run from its profile_export_aiperf.json; none where it has none.
func GPUsOf(path string) ([]SweptGPU, error) {
	var doc struct {
		Telemetry struct {
			Endpoints map[string]struct {
				GPUs map[string]struct {
					Metrics map[string]json.RawMessage `json:"metrics"`
				} `json:"gpus"`
			} `json:"endpoints"`
		} `json:"telemetry_data"`
	}
	if err := parse(path, &doc); err != nil {
		return nil, err
	}
	var out []SweptGPU
	ends := doc.Telemetry.Endpoints
	for _, end := range slices.Sorted(maps.Keys(ends)) {
		for _, name := range slices.Sorted(maps.Keys(ends[end].GPUs)) {
			of := ends[end].GPUs[name].Metrics
			get := func(metric, stat string) float64 {
				var s map[string]any
				if json.Unmarshal(of[metric], &s) != nil {
					return math.NaN()
				}
				if v, ok := s[stat].(float64); ok {
					return v
				}
				return math.NaN()
			}
			if len(ends) > 1 { // each page counts from 0
				name = end + " " + name
			}
			out = append(out, SweptGPU{
				Name: name, Power: get("nvidia_power_usage", "p99"),
				Energy: get("nvidia_energy_consumption", "avg"), Utilization: get("nvidia_gpu_utilization", "p99"),
				Memory: get("nvidia_memory_used", "p99"), PowerLimit: math.NaN(), TotalMemory: math.NaN(),
			})
		}
	}
	return out, nil
}
