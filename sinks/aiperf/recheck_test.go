package aiperf_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperf.dev/aiperf/sinks/aiperf"
)

// recorded copies a complete run of AIPerf 0.13 into a directory of the test.
func recorded(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	from := filepath.Join("..", "..", "internal", "metrics", "testdata", name)
	for _, f := range []string{"profile_export.jsonl", "profile_export_aiperf.json"} {
		put(t, filepath.Join(dir, f), load(t, filepath.Join(from, f)))
	}
	put(t, filepath.Join(dir, "profile_export_aiperf.csv"), load(t, filepath.Join("testdata", name+".csv")))
	return dir
}

func put(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// What AIPerf wrote follows from its records; 595 values is what an
// independent program compares in the run with failures.
func TestRecheckAIPerf(t *testing.T) {
	t.Parallel()
	for name, records := range map[string]int{"chat_stream": 12, "errors": 24} {
		c, err := aiperf.RecheckProfile(recorded(t, name))
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Bad) > 0 || c.Records != records || c.Checked < 450 || c.Produced != "0.13.0" {
			t.Errorf("%s: %d records, %d values of %s, bad %q", name, c.Records, c.Checked, c.Produced, c.Bad)
		}
	}
}

// Ours too, and a changed number is found wherever it stands.
func TestRecheckFindsChanges(t *testing.T) {
	t.Parallel()
	v := chatRun(t, nil)
	v.write(t)
	c, err := aiperf.RecheckProfile(v.dir)
	if err != nil || len(c.Bad) > 0 || c.Records != 24 || c.Checked < 400 {
		t.Fatalf("%+v, %v", c, err)
	}
	for _, change := range []struct{ file, from, to, want string }{
		{"profile_export_aiperf.json", `"request_count": {
    "unit": "requests",
    "avg": 24.0`, `"request_count": {
    "unit": "requests",
    "avg": 25.0`, "24 successful requests, the summary counts 25"},
		{"profile_export_aiperf.json", `"total_osl": {
    "unit": "tokens",
    "avg": 192.0`, `"total_osl": {
    "unit": "tokens",
    "avg": 193.0`, "total_osl: written 193"},
		{"profile_export_aiperf.csv", "Request Count,24.00", "Request Count,23.00", "Request Count 23.00"},
		{"profile_export_aiperf.csv", "\r\n", "\n", "CRLF"},
		{"profile_export.jsonl", `"output_sequence_length":{"value":8,`, `"output_sequence_length":{"value":9,`, "output_sequence_length"},
		{"profile_export_aiperf.json", `"request_latency": {
    "unit": "ms"`, `"request_latency": {
    "unit": "s"`, "unit s in the summary"},
	} {
		path := filepath.Join(v.dir, change.file)
		whole := load(t, path)
		changed := strings.Replace(string(whole), change.from, change.to, 1)
		if change.file != "profile_export_aiperf.json" {
			changed = strings.ReplaceAll(string(whole), change.from, change.to)
		}
		if changed == string(whole) {
			t.Fatalf("nothing to change: %q", change.from)
		}
		put(t, path, []byte(changed))
		c, err := aiperf.RecheckProfile(v.dir)
		if err != nil || !strings.Contains(strings.Join(c.Bad, "\n"), change.want) {
			t.Errorf("%q: bad %q, %v; want %q", change.to, c.Bad, err, change.want)
		}
		put(t, path, whole)
	}
	put(t, filepath.Join(v.dir, "profile_export.jsonl"), []byte("{\n"))
	if _, err := aiperf.RecheckProfile(v.dir); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("broken line: %v", err)
	}
}

func TestRecheckDirs(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, dir := range []string{
		"concurrency_1", "concurrency_2", "concurrency_2/phases/profiling",
		"aggregate/concurrency_1",
	} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{
		"concurrency_1/profile_export_aiperf.json", "concurrency_1/profile_export.jsonl", "concurrency_2/run1.json", "concurrency_2/run1.jsonl",
		"concurrency_2/phases/profiling/profile_export_aiperf.json", "aggregate/concurrency_1/profile_export_aiperf_aggregate.json",
	} {
		put(t, filepath.Join(root, f), []byte("{}"))
	}
	got, err := aiperf.RecheckDirs(root)
	want := []string{filepath.Join(root, "concurrency_1"), filepath.Join(root, "concurrency_2")}
	if err != nil || strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("RecheckDirs = %v, %v; want %v", got, err, want)
	}
	if _, err := aiperf.RecheckProfile(root); err == nil {
		t.Error("a directory without a summary was checked")
	}
}

// Requests of several runs as one population, against hand-computed values:
// warmups, failures and lists are left out.
func TestCollated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	line := func(phase string, latency float64, rest string) string {
		return fmt.Sprintf(`{"metadata":{"benchmark_phase":%q},"metrics":{"request_latency":{"value":%v,"unit":"ms"},"inter_chunk_latency":{"value":[1],"unit":"ms"}}%s}`+"\n", phase, latency, rest)
	}
	write := func(name string, lines ...string) aiperf.CollatedRun {
		path := filepath.Join(dir, name+".jsonl")
		if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o644); err != nil {
			t.Fatal(err)
		}
		return aiperf.CollatedRun{Label: name, Records: path}
	}
	runs := []aiperf.CollatedRun{
		write("run_0001", line("warmup", 900, ""), line("profiling", 10, ""), line("profiling", 20, ""),
			line("profiling", 700, `,"error":{"code":500}`)),
		write("run_0002", line("profiling", 40, "")),
	}
	a := &aiperf.Aggregate{
		Version: "0.13.0", Runs: []aiperf.AggregateRun{{Label: "run_0001"}, {Label: "run_0002"}},
		Failed: []aiperf.FailedRun{{Label: "run_0003", Error: "gone"}},
	}
	if _, err := aiperf.WriteCollated(dir, a, runs); err != nil {
		t.Fatal(err)
	}
	got := object(t, load(t, filepath.Join(dir, "profile_export_aiperf_collated.json")))
	// mean 70/3, sample variance ((40/3)² + (10/3)² + (50/3)²)/2 = 700/3; the median
	// is 20, and p90 lies at 0.8 between 20 and 40.
	want := `{"request_latency":{"combined":{"mean":23.333333333333332,"std":15.275252316519467,"p50":20.0,"p90":36.0,"p95":38.0,"p99":39.6,"count":3},` +
		`"per_run":[{"label":"run_0001","mean":15.0,"count":2},{"label":"run_0002","mean":40.0,"count":1}]}}`
	var compact bytes.Buffer
	if err := json.Compact(&compact, got["metrics"]); err != nil {
		t.Fatal(err)
	}
	if compact.String() != want {
		t.Errorf("metrics %s\nwant    %s", &compact, want)
	}
	if m := string(got["metadata"]); !strings.Contains(m, `"num_profile_runs": 3`) ||
		!strings.Contains(m, `"num_successful_runs": 2`) || !strings.Contains(m, "gone") {
		t.Errorf("metadata %s", m)
	}
}
