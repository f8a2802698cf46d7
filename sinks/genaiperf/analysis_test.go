package genaiperf_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/sinks/genaiperf"
)

// The table that GenAI-Perf 0.0.16 wrote of four runs with the stamps of runOf, byte by byte,
// its figures computed anew from those stamps.
func TestAnalysisAsGenAIPerf(t *testing.T) {
	t.Parallel()
	table := genaiperf.Analysis{Load: "Concurrency"}
	for i, users := range []int64{1, 2, 4, 8} {
		in := t.TempDir()
		runOf(t, filepath.Join(in, "a"), max(10, 2*users), users)
		runs, err := genaiperf.Find(in)
		if err != nil {
			t.Fatal(err)
		}
		m, err := genaiperf.Merge(runs, byWords{})
		if err != nil {
			t.Fatal(err)
		}
		row := genaiperf.Swept{Name: fmt.Sprintf("m_run_config_%d", i), Load: float64(users), ISL: 40, Entries: 6}
		for _, x := range m.Metrics {
			top := x.Value
			if x.Values != nil {
				top = stats.Quantile(x.Values, 0.99)
			}
			switch x.Tag {
			case "time_to_first_token":
				row.TTFT = top
			case "inter_token_latency":
				row.ITL = top
			case "request_latency":
				row.Latency = top
			case "output_sequence_length":
				row.OSL = top
			case "output_token_throughput":
				row.Tokens = top
			case "request_throughput":
				row.Requests = top
			}
		}
		table.Rows = append(table.Rows, row)
	}
	dir := t.TempDir()
	if err := table.Write(dir); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, genaiperf.AnalysisFile))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("testdata", genaiperf.AnalysisFile))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// What a value does not have is an empty cell, and each GPU has a row of its own.
func TestAnalysisWithGPUs(t *testing.T) {
	t.Parallel()
	dir, none := t.TempDir(), math.NaN()
	put(t, filepath.Join(dir, "profile_export_aiperf.json"), map[string]any{
		"telemetry_data": map[string]any{"endpoints": map[string]any{"n1:9400": map[string]any{"gpus": map[string]any{
			"gpu_1": map[string]any{"metrics": map[string]any{"nvidia_power_usage": map[string]any{"unit": "W", "avg": 500, "p99": 694.502}}},
			"gpu_0": map[string]any{"metrics": map[string]any{"nvidia_energy_consumption": map[string]any{"unit": "MJ", "avg": 0.011}}},
		}}}},
	})
	gpus, err := genaiperf.GPUsOf(filepath.Join(dir, "profile_export_aiperf.json"))
	if err != nil {
		t.Fatal(err)
	}
	table := genaiperf.Analysis{Load: "Request Rate", Rows: []genaiperf.Swept{{
		Name: "m_run_config_0", Load: 2.5, ISL: none, Entries: none, TTFT: none, ITL: none, Latency: 69, OSL: none,
		Tokens: none, Requests: 2.444, GPUs: gpus,
	}}}
	if err := table.Write(dir); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, genaiperf.AnalysisFile))
	if err != nil {
		t.Fatal(err)
	}
	const want = "Config Name,Request Rate,ISL,Num Dataset Entries,p99 Time To First Token (ms)," +
		"p99 Inter Token Latency (ms),p99 Request Latency (ms),p99 Output Sequence Length (tokens)," +
		"Avg. Output Token Throughput (tokens/sec),Request Throughput (requests/sec)\r\n" +
		"m_run_config_0,2.5,,,,,69.00,,,2.44\r\n\r\n" +
		"Config Name,GPU,p99 GPU Power Usage (W),p99 GPU Energy Consumption (MJ),p99 GPU Utilization (%)," +
		"p99 GPU Memory Used (GB),Avg. GPU Power Limit (W),Avg. GPU Total Memory (GB)\r\n" +
		"m_run_config_0,gpu_0,,0.01,,,,\r\nm_run_config_0,gpu_1,694.50,,,,,\r\n"
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
