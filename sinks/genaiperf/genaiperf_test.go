package genaiperf_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperf.dev/aiperf/sinks/genaiperf"
	"aiperf.dev/aiperf/sinks/importer"
)

// byWords counts words.
type byWords struct{}

func (byWords) Name() string                     { return "words" }
func (byWords) Encode(dst []int, _ string) []int { return dst }
func (byWords) Decode([]int) string              { return "" }
func (byWords) Count(text string) int            { return len(strings.Fields(text)) }

// run writes what GenAI-Perf leaves of a run of ten requests, two at a time.
func run(t *testing.T, dir string) {
	t.Helper()
	runOf(t, dir, 10, 2)
}

// runOf writes a run of so many requests, slots at a time: of each the first token comes after
// 30 + (n mod 5) ms, seven more each 5 ms later, and an end mark.
func runOf(t *testing.T, dir string, count, slots int64) {
	t.Helper()
	const ms, chunk = int64(1e6), `data: {"choices": [{"delta": {"content": " token"}}]}`
	free := make([]int64, slots)
	var requests []any
	for n := range count {
		slot := n % slots
		sent := 1_700_000_000_000*ms + free[slot]*ms
		var stamps []int64
		var outputs []any
		for k := range int64(9) {
			stamps = append(stamps, sent+(30+n%5+5*k)*ms)
			text := chunk + "\n\n"
			if k == 8 {
				text = "data: [DONE]\n\n"
			}
			outputs = append(outputs, map[string]any{"response": text})
		}
		free[slot] += 30 + n%5 + 40 + 1
		payload := fmt.Sprintf(`{"messages": [{"role": "user", "content": %q}]}`, strings.Repeat("a ", 40))
		requests = append(requests, map[string]any{
			"timestamp": sent, "request_inputs": map[string]any{"payload": payload},
			"response_timestamps": stamps, "response_outputs": outputs,
		})
	}
	put(t, filepath.Join(dir, "profile_export.json"), map[string]any{
		"experiments": []any{map[string]any{
			"experiment": map[string]any{"mode": "concurrency", "value": 2}, "requests": requests,
			"window_boundaries": []int64{0, 1},
		}},
		"version": "2.60.0", "service_kind": "openai", "endpoint": "v1/chat/completions",
	})
	put(t, filepath.Join(dir, "profile_export_genai_perf.json"), map[string]any{
		"request_latency": map[string]any{"unit": "ms", "avg": 67},
		"input_config": map[string]any{
			"model_names": []string{"org/m"}, "endpoint": map[string]any{"type": "chat", "backend": "tensorrtllm"},
			"perf_analyzer": map[string]any{"stimulus": map[string]any{"concurrency": 2}},
			"input":         map[string]any{"goodput": map[string]any{"time_to_first_token": 33, "inter_token_latency": 6}},
			"tokenizer":     map[string]any{"name": "words"},
		},
	})
	put(t, filepath.Join(dir, "inputs.json"), map[string]any{})
}

func put(t *testing.T, path string, v any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Three copies of a run, as GenAI-Perf 0.0.16 merged them: its own figures.
func TestMergeAsGenAIPerf(t *testing.T) {
	t.Parallel()
	in, out := t.TempDir(), filepath.Join(t.TempDir(), "merged")
	for _, name := range []string{"a", "b", "c"} {
		run(t, filepath.Join(in, name))
	}
	runs, err := genaiperf.Find(in)
	if err != nil {
		t.Fatal(err)
	}
	m, err := genaiperf.Merge(runs, byWords{})
	if err != nil {
		t.Fatal(err)
	}
	if m.Requests() != 30 || m.Folder() != "org_m-openai-chat-concurrency2" || m.Alike() != "" {
		t.Errorf("%d requests in %s, %s", m.Requests(), m.Folder(), m.Alike())
	}
	if err := m.Write(out); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(out, "profile_export_genai_perf.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]map[string]any
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{
		"request_throughput.avg": 83.56545961002786, "request_goodput.avg": 66.85236768802228,
		"request_count.avg": 30, "output_token_throughput.avg": 668.5236768802229,
		"request_latency.avg": 67, "request_latency.p1": 65, "request_latency.p25": 66, "request_latency.p90": 69,
		"request_latency.std": 1.414213562373095, "time_to_first_token.avg": 32, "time_to_first_token.p99": 34,
		"time_to_second_token.max": 5, "inter_token_latency.p50": 5, "output_token_throughput_per_user.avg": 200,
		"output_sequence_length.min": 8, "input_sequence_length.avg": 40,
	} {
		tag, stat, _ := strings.Cut(name, ".")
		if got, _ := doc[tag][stat].(float64); math.Abs(got-want) > 1e-9*want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	table, err := os.ReadFile(filepath.Join(out, "profile_export_genai_perf.csv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Metric,avg,min,max,p99,p95,p90,p75,p50,p25,p10,p5,p1\r\n" +
			"Time To First Token (ms),32.00,30.00,34.00,34.00,34.00,34.00,33.00,32.00,31.00,30.00,30.00,30.00\r\n",
		"\r\n\r\nMetric,Value\r\nOutput Token Throughput (tokens/sec),668.52\r\nRequest Throughput (per sec),83.57\r\n" +
			"Request Goodput (per sec),66.85\r\nRequest Count (count),30.00\r\n",
	} {
		if !strings.Contains(string(table), want) {
			t.Errorf("the CSV has no\n%s\nbut\n%s", want, table)
		}
	}
	// What was written is a result of GenAI-Perf's again: it is read, and can be merged.
	res, err := importer.Open(out)
	if err != nil || res.Tool != "genaiperf" && res.Tool != "genai-perf" || len(res.Runs) != 1 || res.Runs[0].OK != 30 {
		t.Errorf("read back: %+v, %v", res, err)
	}
	again, err := genaiperf.Find(filepath.Dir(out))
	if err != nil || len(again) != 1 {
		t.Errorf("found again: %d, %v", len(again), err)
	}
}

// Without a tokenizer there is what takes no tokens.
func TestMergeWithoutTokens(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	run(t, filepath.Join(in, "a"))
	runs, err := genaiperf.Find(in)
	if err != nil {
		t.Fatal(err)
	}
	m, err := genaiperf.Merge(runs, nil)
	if err != nil {
		t.Fatal(err)
	}
	var tags []string
	for _, x := range m.Metrics {
		tags = append(tags, x.Tag)
	}
	const want = "request_throughput request_latency request_count time_to_first_token time_to_second_token"
	if got := strings.Join(tags, " "); got != want {
		t.Errorf("figures %s, want %s", got, want)
	}
}

// What is no run of GenAI-Perf is refused in one line that names the place.
func TestNoRuns(t *testing.T) {
	t.Parallel()
	empty, lacking, broken, foreign := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	put(t, filepath.Join(lacking, "a", "profile_export.json"), map[string]any{})
	run(t, filepath.Join(broken, "a"))
	if err := os.WriteFile(filepath.Join(broken, "a", "profile_export.json"), []byte(`{"experiments": [`), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, filepath.Join(foreign, "a"))
	put(t, filepath.Join(foreign, "a", "profile_export.json"), map[string]any{"runs": 3})
	for dir, want := range map[string]string{
		empty: "holds no folder with a run", lacking: "has no *_genai_perf.json", broken: "unexpected end of JSON input",
		foreign: "has no answered request", filepath.Join(empty, "none"): "no such file",
	} {
		_, err := genaiperf.Find(dir)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add([]byte(`{"experiments": [{"requests": [{"timestamp": 1, "response_timestamps": [2], "response_outputs": [{"response": "data: {\"choices\": [{\"text\": \"a\"}]}"}]}]}]}`))
	f.Add([]byte(`{"experiments": [{"requests": [null, {}]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		in := t.TempDir()
		run(t, filepath.Join(in, "a"))
		if err := os.WriteFile(filepath.Join(in, "a", "profile_export.json"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		runs, err := genaiperf.Find(in)
		if err != nil {
			return
		}
		m, err := genaiperf.Merge(runs, byWords{})
		if err == nil {
			err = m.Write(filepath.Join(t.TempDir(), "out"))
		}
		_ = err // refused or written, never a panic
	})
}
