package importer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"gopkg.in/yaml.v3"

	"aiperf.dev/aiperf/sinks/importer"
)

// flat puts every number of a document into out, under the names that lead to it.
func flat(out map[string]float64, at string, v any) {
	switch x := v.(type) {
	case map[string]any:
		for k, v := range x {
			path := k
			if at != "" {
				path = at + "." + k
			}
			flat(out, path, v)
		}
	case float64:
		out[at] = x
	case int:
		out[at] = float64(x)
	}
}

// Each figure of a file is imported as it stands there, under the place where it stands;
// the ones that people ask for are there in our units, and come out of the single requests
// again. All samples were written by the tools themselves.
func TestEachFigureIsTheToolsOwn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file       string // below testdata
		of         string // the sample's file with the figures, where file is a folder
		tool       string
		version    string
		label      string
		inside     func(doc map[string]any) any // where the run's figures stand
		atLeast    int                          // figures
		ours       map[string]float64           // "tag.stat" → factor from the file's figure under from
		from       map[string]string
		ok, failed int64
		recomputed int
	}{
		{
			file: "guidellm-0.8.1/guidellm.json", tool: "guidellm", version: "0.8.1", label: "concurrency_2", ok: 12,
			inside: func(doc map[string]any) any { return doc["benchmarks"].([]any)[0] }, atLeast: 200, recomputed: 12,
			from: map[string]string{
				"time_to_first_token.p50":     "metrics.time_to_first_token_ms.successful.median",
				"inter_token_latency.p99":     "metrics.inter_token_latency_ms.successful.percentiles.p99",
				"request_latency.avg":         "metrics.request_latency.successful.mean",
				"output_token_throughput.avg": "metrics.output_tokens_per_second.successful.mean",
				"request_throughput.avg":      "metrics.requests_per_second.successful.mean",
			},
			ours: map[string]float64{"request_latency.avg": 1000},
		},
		{
			file: "inference-perf-0.7.0", of: "stage_0_lifecycle_metrics.json", tool: "inference-perf",
			label: "request_rate_6", ok: 12, atLeast: 80, recomputed: 36,
			from: map[string]string{
				"time_to_first_token.p50":    "successes.latency.time_to_first_token.median",
				"inter_token_latency.p99":    "successes.latency.time_per_output_token.p99",
				"inter_chunk_latency.p50":    "successes.latency.inter_token_latency.median",
				"request_throughput.avg":     "successes.throughput.requests_per_sec",
				"output_sequence_length.p50": "successes.output_tokens.median",
			},
			ours: map[string]float64{
				"time_to_first_token.p50": 1000, "inter_token_latency.p99": 1000, "inter_chunk_latency.p50": 1000,
			},
		},
		{
			file: "genai-bench-0.0.5", of: "D16_8_text-to-text_num_concurrency_2_time_1s.json", tool: "genai-bench",
			label: "concurrency_2", ok: 32, atLeast: 80, recomputed: 30,
			from: map[string]string{
				"time_to_first_token.p99":     "aggregated_metrics.stats.ttft.p99",
				"inter_token_latency.p50":     "aggregated_metrics.stats.tpot.p50",
				"request_latency.avg":         "aggregated_metrics.stats.e2e_latency.mean",
				"output_token_throughput.avg": "aggregated_metrics.mean_output_throughput_tokens_per_s",
			},
		},
		{
			file: "sglang-0.5.23/sglang.jsonl", tool: "sglang", label: "concurrency_4", ok: 28, failed: 12, atLeast: 30, recomputed: 6,
			from: map[string]string{
				"time_to_first_token.p50": "median_ttft_ms", "time_to_first_token.p99": "p99_ttft_ms",
				"inter_token_latency.avg": "mean_tpot_ms", "inter_chunk_latency.p90": "p90_itl_ms",
				"request_latency.p95": "p95_e2e_latency_ms", "output_token_throughput.avg": "output_throughput",
				"request_count.avg": "completed", "total_isl.avg": "total_input_tokens",
			},
		},
		{
			file: "genai-perf-0.0.16", of: "profile_export_genai_perf.json", tool: "genai-perf", label: "concurrency_2", ok: 10,
			atLeast: 90,
			from: map[string]string{
				"time_to_first_token.p99": "time_to_first_token.p99", "inter_token_latency.avg": "inter_token_latency.avg",
				"goodput.avg": "request_goodput.avg", "request_throughput.avg": "request_throughput.avg",
			},
		},
		{
			file: "llm-d-0.2.1/report.yaml", tool: "llm-d", version: "0.2.1", label: "base", ok: 12, atLeast: 70,
			from: map[string]string{
				"time_to_first_token.p99": "results.request_performance.aggregate.latency.time_to_first_token.p99",
				"request_throughput.avg":  "results.request_performance.aggregate.throughput.request_rate.mean",
			},
			ours: map[string]float64{"time_to_first_token.p99": 1000},
		},
		{
			file: "endpoints/result_summary.json", tool: "endpoints", version: "0.1.0", label: "concurrency_1", ok: 40, atLeast: 80,
			from: map[string]string{
				"time_to_first_token.p999": "ttft.percentiles.99.9", "request_throughput.avg": "qps",
				"request_latency.p50": "latency.median", "input_sequence_length.avg": "input_sequence_lengths.avg",
				"benchmark_duration.avg": "duration_ns",
			},
			ours: map[string]float64{
				"time_to_first_token.p999": 1e-6, "request_latency.p50": 1e-6, "benchmark_duration.avg": 1e-9,
			},
		},
	} {
		t.Run(c.tool, func(t *testing.T) {
			t.Parallel()
			r := open(t, c.file)
			if r.Tool != c.tool || r.Version != c.version || len(r.Runs) != 1 || len(r.Notes) > 0 {
				t.Fatalf("tool %s, version %s, %d runs, notes %v", r.Tool, r.Version, len(r.Runs), r.Notes)
			}
			run := &r.Runs[0]
			if run.Label != c.label || run.OK != c.ok || run.Failed != c.failed || run.Err != "" {
				t.Errorf("cell %s, %d requests, %s", run.Label, run.OK, run.Err)
			}
			b, err := os.ReadFile(filepath.Join("testdata", c.file, c.of))
			if err != nil {
				t.Fatal(err)
			}
			var doc map[string]any
			if err := yaml.Unmarshal(b, &doc); err != nil { // JSON, too
				t.Fatal(err)
			}
			inFile, inside := map[string]float64{}, any(doc)
			if c.inside != nil {
				inside = c.inside(doc)
			}
			flat(inFile, "", inside)
			for _, f := range run.Figures {
				if v, ok := inFile[f.Key]; !ok || v != f.Value {
					t.Errorf("%s = %v, the file says %v", f.Key, f.Value, v)
				}
			}
			if len(run.Figures) < c.atLeast {
				t.Errorf("%d figures", len(run.Figures))
			}
			for as, from := range c.from {
				factor := 1.0
				if f := c.ours[as]; f != 0 {
					factor = f
				}
				dot := bytes.LastIndexByte([]byte(as), '.')
				got, want := stat(run, as[:dot], as[dot+1:]), inFile[from]*factor
				if !(math.Abs(got-want) <= 1e-12*math.Abs(want)) {
					t.Errorf("%s = %v, %s says %v", as, got, from, want)
				}
			}
			checked, _, bad, err := r.Recompute()
			if err != nil || len(bad) > 0 || checked != c.recomputed {
				t.Errorf("recomputed %d: %v %v", checked, bad, err)
			}
		})
	}
}

// The stamps of perf_analyzer alone give what needs no tokens: from the first event with
// text to the last one, the end mark left out.
func TestStampsOfPerfAnalyzer(t *testing.T) {
	t.Parallel()
	r := open(t, "genai-perf-stamps")
	run := &r.Runs[0]
	if ttft, latency := stat(run, "time_to_first_token", "p50"), stat(run, "request_latency", "max"); r.Tool != "genai-perf" ||
		run.OK != 1 || ttft != 30 || latency != 65 {
		t.Errorf("%s: %d requests, TTFT %v, latency %v", r.Tool, run.OK, ttft, latency)
	}
}

// SGLang's file has a line a run, and says Infinity, which is no JSON.
func TestSGLang(t *testing.T) {
	t.Parallel()
	r := open(t, "sglang/three.jsonl")
	if r.Tool != "sglang" || len(r.Runs) != 2 || r.Runs[0].Label != "concurrency_3" || r.Runs[1].Label != "request_rate_8" ||
		r.Recomputable() {
		t.Fatalf("read %+v", r)
	}
	b, err := os.ReadFile("testdata/sglang/three.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := bytes.Cut(bytes.ReplaceAll(b, []byte("Infinity"), []byte("null")), []byte("\n"))
	var doc map[string]any
	if err := json.Unmarshal(first, &doc); err != nil {
		t.Fatal(err)
	}
	got := figures(&r.Runs[0])
	for key, v := range doc {
		if v, ok := v.(float64); ok && got[key] != v {
			t.Errorf("%s = %v, the file says %v", key, got[key], v)
		}
	}
	if v := stat(&r.Runs[0], "request_latency", "p50"); math.Abs(v-47) > 1e-9 {
		t.Errorf("median latency %v, want 47", v)
	}
	var sums []string
	err = r.Runs[0].Each(func(q *importer.Request) error {
		sums = append(sums, fmt.Sprintf("%.0f %.0f %.0f", q.TTFT, q.Latency, q.OSL))
		return nil
	})
	if err != nil || fmt.Sprint(sums) != "[30 60 4 20 40 3 25 45 2]" {
		t.Errorf("requests %v, %v", sums, err)
	}
}
