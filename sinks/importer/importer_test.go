package importer_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/importer"
)

// open reads a sample that the tool itself wrote.
func open(t *testing.T, path string) *importer.Result {
	t.Helper()
	r, err := importer.Open(filepath.Join("testdata", path))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func readJSON(t *testing.T, path string) map[string]any {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", path))
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// figures are those of a run by the place where they stand.
func figures(r *importer.Run) map[string]float64 {
	out := map[string]float64{}
	for _, f := range r.Figures {
		out[f.Key] = f.Value
	}
	return out
}

// stat is a figure in our terms; NaN for none.
func stat(r *importer.Run, tag, name string) float64 {
	for i := range r.Stats {
		if r.Stats[i].Tag == tag {
			return r.Stats[i].Value(name)
		}
	}
	return math.NaN()
}

// Every number of vLLM's files is imported as it stands there.
func TestVLLM(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		label, endpoint string
		kept            bool
	}{
		"chat_detailed":       {"concurrency_2", "chat", true},
		"completions_rate":    {"request_rate_20", "completions", true},
		"completions_summary": {"concurrency_2", "completions", false},
	} {
		file := "vllm-0.32.0/" + name + ".json"
		r := open(t, file)
		if r.Tool != "vllm" || len(r.Runs) != 1 || len(r.Files) != 1 || r.Recomputable() != want.kept {
			t.Fatalf("%s: read %+v", name, r)
		}
		run := &r.Runs[0]
		if run.Label != want.label || run.Setting("endpoint.type") != want.endpoint || run.OK != 12 || run.Failed != 0 ||
			run.Model != "demo" || run.Began.IsZero() {
			t.Errorf("%s: run %+v", name, run)
		}
		got, n := figures(run), 0
		doc := readJSON(t, file)
		for key, v := range doc {
			if v, ok := v.(float64); ok {
				if n++; got[key] != v {
					t.Errorf("%s: %s = %v, the file says %v", name, key, got[key], v)
				}
			}
		}
		if n < 25 || n != len(got) {
			t.Errorf("%s: %d figures of %d", name, len(got), n)
		}
		for key, as := range map[string][2]string{
			"median_ttft_ms": {"time_to_first_token", "p50"}, "p99_tpot_ms": {"inter_token_latency", "p99"},
			"mean_itl_ms": {"inter_chunk_latency", "avg"}, "std_e2el_ms": {"request_latency", "std"},
			"output_throughput": {"output_token_throughput", "avg"}, "duration": {"benchmark_duration", "avg"},
		} {
			if v := stat(run, as[0], as[1]); v != doc[key].(float64) {
				t.Errorf("%s: %s %s = %v, want %v", name, as[0], as[1], v, doc[key])
			}
		}
		checked, _, bad, err := r.Recompute()
		if err != nil || len(bad) > 0 || checked != map[bool]int{true: 15, false: 0}[want.kept] {
			t.Errorf("%s: recomputed %d: %v %v", name, checked, bad, err)
		}
	}
}

// Every statistic of AIPerf's summary is imported as it stands there, and what its CSV
// and its records alone give is the same.
func TestAIPerf(t *testing.T) {
	t.Parallel()
	r := open(t, "aiperf-0.13.0")
	if r.Tool != "aiperf" || r.Version != "0.13.0" || len(r.Runs) != 1 || !r.Recomputable() {
		t.Fatalf("read %+v", r)
	}
	run := &r.Runs[0]
	got, n := figures(run), 0
	for tag, fields := range readJSON(t, "aiperf-0.13.0/profile_export_aiperf.json") {
		m, ok := fields.(map[string]any)
		if !ok || m["unit"] == nil {
			continue
		}
		for name, v := range m {
			if v, ok := v.(float64); ok {
				if n++; got[tag+"."+name] != v {
					t.Errorf("%s %s = %v, the file says %v", tag, name, got[tag+"."+name], v)
				}
			}
		}
	}
	if n < 300 || run.OK != 12 || run.Label != "base" {
		t.Errorf("%d figures of %+v", n, run)
	}
	checked, _, bad, err := r.Recompute()
	if err != nil || len(bad) > 0 || checked != 39 {
		t.Errorf("recomputed %d: %v %v", checked, bad, err)
	}
	for _, file := range []string{"profile_export_aiperf.csv", "profile_export.jsonl"} {
		alone := open(t, "aiperf-0.13.0/"+file)
		for _, tag := range []string{"time_to_first_token", "request_latency", "inter_token_latency"} {
			for _, name := range []string{"avg", "p50", "p99", "std", "min"} {
				v, want := stat(&alone.Runs[0], tag, name), stat(run, tag, name)
				if !(math.Abs(v-want) < .0051) { // the CSV has two decimals
					t.Errorf("%s: %s %s = %v, want %v", file, tag, name, v, want)
				}
			}
		}
		if alone.Runs[0].OK != 12 {
			t.Errorf("%s: %d requests", file, alone.Runs[0].OK)
		}
	}
}

// Summaries of every schema version are imported, each figure as it stands there.
func TestAIPerfSchemas(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"1.0", "1.1", "1.2", "1.3", "1.5"} {
		dir := "aiperf-schemas/" + version
		r := open(t, dir)
		if r.Tool != "aiperf" || len(r.Runs) != 1 || r.Runs[0].OK != 12 || r.Runs[0].Err != "" {
			t.Fatalf("schema %s: %+v", version, r)
		}
		got, n := figures(&r.Runs[0]), 0
		for tag, fields := range readJSON(t, dir+"/profile_export_aiperf.json") {
			m, ok := fields.(map[string]any)
			if !ok || m["unit"] == nil {
				continue
			}
			for name, v := range m {
				if v, ok := v.(float64); ok {
					if n++; got[tag+"."+name] != v {
						t.Errorf("schema %s: %s %s = %v, the file says %v", version, tag, name, got[tag+"."+name], v)
					}
				}
			}
		}
		if n < 50 || n != len(got) {
			t.Errorf("schema %s: %d figures, %d imported", version, n, len(got))
		}
		said := strings.Join(r.Notes, "\n")
		if want := "AIPerf itself calls the run invalid: metric_duration_coverage"; (version == "1.5") != strings.Contains(said, want) {
			t.Errorf("schema %s: notes %q", version, r.Notes)
		}
	}
	text, err := os.ReadFile("testdata/aiperf-schemas/1.5/profile_export_aiperf.json")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "profile_export_aiperf.json")
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), `"1.5"`, `"1.6"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := importer.Open(path)
	if err != nil || len(r.Notes) == 0 || !strings.Contains(r.Notes[0], "schema 1.6 is newer") {
		t.Errorf("schema 1.6: %+v, %v", r, err)
	}
}

// A directory of imported results has the originals, tables and an index; it is read back
// from the originals, and refused where one of them has changed.
func TestWrite(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	from := []string{
		"testdata/vllm-0.32.0/chat_detailed.json", "testdata/vllm-0.32.0/completions_rate.json",
	}
	if _, err := importer.Write(from, dir, "test", nil); err != nil {
		t.Fatal(err)
	}
	r, err := importer.Open(dir)
	if err != nil || len(r.Runs) != 2 || r.Tool != "vllm" || !r.Recomputable() {
		t.Fatalf("read back: %v %+v", err, r)
	}
	requests, err := sinks.ReadTable(dir, "requests", nil)
	if err != nil || requests.N != 24 {
		t.Fatalf("%d requests: %v", requests.N, err)
	}
	ttfts := readJSON(t, "vllm-0.32.0/chat_detailed.json")["ttfts"].([]any)
	for i := range ttfts {
		if v := requests.Floats["ttft_ms"][i]; math.Abs(v-1000*ttfts[i].(float64)) > 1e-6 {
			t.Errorf("ttft_ms of request %d = %v, want %v s", i, v, ttfts[i])
		}
	}
	values, err := sinks.ReadTable(dir, "metrics", nil)
	if err != nil || values.N < 50 || values.Texts["method"][0] != "reported" {
		t.Errorf("%d metrics: %v", values.N, err)
	}
	kept := filepath.Join(dir, "original", "1", "chat_detailed.json")
	b, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kept, append(b, ' '), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := importer.Open(dir); err == nil || !strings.Contains(err.Error(), "not the file that was imported") {
		t.Errorf("a changed original: %v", err)
	}
	if _, err := importer.Write(from, dir, "test", nil); err == nil || !strings.Contains(err.Error(), "holds files already") {
		t.Errorf("into a full directory: %v", err)
	}
}

// What cannot be read is refused in one line that names the place.
func TestRefusals(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile("testdata/vllm-0.32.0/completions_summary.json")
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile("testdata/aiperf-0.13.0/profile_export_aiperf.json")
	if err != nil {
		t.Fatal(err)
	}
	for want, files := range map[string]map[string]string{
		"holds no results":                         {"a.json": `{"of": "somebody"}`},
		"a.json: ends in the middle, at byte":      {"a.json": string(whole[:len(whole)-9])},
		"a.json: byte 2: no JSON":                  {"a.json": "{]"},
		"results of several tools: a.json is of A": {"a.json": string(other), "b/c.json": string(whole)},
		"a.json: \"completed\"":                    {"a.json": strings.Replace(string(whole), `"completed": 12`, `"completed": []`, 1)},
	} {
		dir := t.TempDir()
		for name, text := range files {
			path := filepath.Join(dir, filepath.FromSlash(name))
			err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600))
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := importer.Open(dir)
		var d *diag.Error
		if !errors.As(err, &d) || !strings.Contains(d.Message, want) || strings.Contains(d.Message, "\n") {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := importer.Open(filepath.Join(t.TempDir(), "none")); err == nil ||
		!strings.Contains(err.Error(), "no such file or directory") {
		t.Errorf("nothing there: %v", err)
	}
}

// Of a file in a newer form is read what is known, and said that there may be more.
func TestNewerForms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, was, is, said string }{
		{"guidellm-0.8.1/guidellm.json", `"version": 2`, `"version": 3`, "report version 3 is newer than those that are known here, up to 2"},
		{"llm-d-0.2.1/report.yaml", "version: 0.2.1", "version: 0.9", "report version 0.9 is newer than those that are known here, up to 0.2.1"},
	} {
		b, err := os.ReadFile(filepath.Join("testdata", c.file))
		if err != nil {
			t.Fatal(err)
		}
		newer := strings.Replace(string(b), c.was, c.is, 1)
		if newer == string(b) {
			t.Fatalf("%s holds no %s", c.file, c.was)
		}
		path := filepath.Join(t.TempDir(), filepath.Base(c.file))
		if err := os.WriteFile(path, []byte(newer), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := importer.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Runs) == 0 || len(r.Runs[0].Figures) == 0 || !strings.Contains(strings.Join(r.Notes, "\n"), c.said) {
			t.Errorf("%s: %d runs, notes %q, want %q", c.file, len(r.Runs), r.Notes, c.said)
		}
	}
}

// Whatever a file holds, it is read or refused.
func FuzzOpen(f *testing.F) {
	for _, path := range []string{
		"vllm-0.32.0/completions_rate.json", "vllm-0.32.0/completions_summary.json",
		"aiperf-0.13.0/profile_export_aiperf.json", "aiperf-0.13.0/profile_export_aiperf.csv",
		"aiperf-0.13.0/profile_export.jsonl", "sglang/three.jsonl", "guidellm-0.8.1/guidellm.json",
		"genai-perf-0.0.16/profile_export_genai_perf.json", "genai-perf-0.0.16/profile_export_genai_perf.csv",
		"genai-perf-stamps/profile_export.json", "llm-d-0.2.1/report.yaml", "endpoints/result_summary.json",
		"inference-perf-0.7.0/stage_0_lifecycle_metrics.json",
		"inference-perf-0.7.0/per_request_lifecycle_metrics.json",
		"genai-bench-0.0.5/D16_8_text-to-text_num_concurrency_2_time_1s.json",
	} {
		b, err := os.ReadFile(filepath.Join("testdata", path))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<20 {
			return
		}
		path := filepath.Join(t.TempDir(), "x.json")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := importer.Open(path)
		if err != nil {
			return
		}
		_, _, _, _ = r.Recompute() // damaged further on
	})
}
