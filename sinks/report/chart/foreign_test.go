package chart

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/validity"
)

func recorded(name string) string {
	return filepath.Join("..", "..", "..", "testdata", "aiperf", "artifacts", name)
}

// AIPerf's own directories make the same charts: figures are those of its
// summaries, requests those of its lines.
func TestDirectoriesOfAIPerf(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"chat_stream", "errors", "embeddings", "goodput", "multirun3", "sweep_conc"} {
		d, err := Load(recorded(dir))
		if err != nil {
			t.Errorf("%s: %v", dir, err)
			continue
		}
		if d.Verdict != validity.NotJudged || d.Version != "0.13.0" || d.Foreign[d.Dirs[0]] != "AIPerf" {
			t.Errorf("%s: verdict %q, version %q, foreign %q", dir, d.Verdict, d.Version, d.Foreign)
		}
		drawn := map[string]bool{}
		for _, r := range Catalogue() {
			for _, c := range r.All(d) {
				if c.Missing == "" {
					drawn[r.ID] = true
				}
			}
		}
		values := d.Requests.values(d.Cells[0], d.Requests.Latency)
		if p, _ := lengths(d, nil); len(p) == 0 || len(values) == 0 || !drawn["timeline"] ||
			len(values) >= distributed && !drawn["ecdf"] {
			t.Errorf("%s: drawn are %v, with %d latencies", dir, drawn, len(values))
		}
	}
}

func TestFiguresOfAIPerf(t *testing.T) {
	t.Parallel()
	d, err := Load(recorded("chat_stream"))
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]json.RawMessage
	var want struct{ P99 float64 }
	b, err := os.ReadFile(filepath.Join(recorded("chat_stream"), "profile_export_aiperf.json"))
	if err != nil || json.Unmarshal(b, &doc) != nil || json.Unmarshal(doc["time_to_first_token"], &want) != nil {
		t.Fatal(err)
	}
	got := d.Get(d.Cells[0], "time_to_first_token", "p99")
	if got.Value != want.P99 || !got.Unsupported || got.Unit != "ms" {
		t.Errorf("p99 of 12 requests is %+v, want %v, marked as of too few", got, want.P99)
	}
	if d.Requests.Total != 12 || len(d.Requests.TTFT) != 2 || d.Requests.Note == "" ||
		slices.Min(d.Requests.Intended) != 0 { // two of the lines are kept here
		t.Errorf("%d requests, the first at %v", d.Requests.Total, slices.Min(d.Requests.Intended))
	}
}

// The cells of a sweep are read from the names of its directories, the trials of
// a cell have an interval.
func TestCellsOfAIPerf(t *testing.T) {
	t.Parallel()
	summary, err := os.ReadFile(filepath.Join(recorded("chat_stream"), "profile_export_aiperf.json"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i, at := range []string{
		"concurrency_1/run_0001", "concurrency_1/run_0002", "concurrency_1/run_0003",
		"concurrency_16/run_0001", "concurrency_4/run_0001",
	} {
		text := strings.Replace(string(summary), `"avg": 82.34341866666666`, fmt.Sprintf(`"avg": %d`, 82+i), 1)
		put(t, filepath.Join(dir, filepath.FromSlash(at)), "profile_export_aiperf.json", text)
	}
	d, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d.Load() != "concurrency" || len(d.Cells) != 3 || d.Cells[0].Values["concurrency"].Number != 1 {
		t.Errorf("load is %q over %d cells", d.Load(), len(d.Cells))
	}
	// 82, 83, 84: mean 83, sd 1, half width 4.303/√3.
	if s := d.Get(d.Cells[0], "request_latency", "avg"); d.Cells[0].Trials != 3 ||
		math.Abs(s.Value-83) > 1e-9 || math.Abs(s.High-85.484) > 1e-3 || math.Abs(s.Low-80.516) > 1e-3 {
		t.Errorf("%d trials, %+v", d.Cells[0].Trials, s)
	}
	both, err := Load(recorded("chat_stream"), recorded("completions"))
	if err != nil || !slices.Contains(both.Axes, "result") {
		t.Errorf("two directories: axes %v, %v", both.Axes, err)
	}
}

// What is no directory of results, or a damaged one, says so in a line.
func TestDamagedDirectoriesOfAIPerf(t *testing.T) {
	t.Parallel()
	summary, err := os.ReadFile(filepath.Join(recorded("chat_stream"), "profile_export_aiperf.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"empty":         {nil, "holds no results"},
		"half a file":   {map[string]string{"profile_export_aiperf.json": string(summary[:200])}, "profile_export_aiperf.json"},
		"half a line":   {map[string]string{"profile_export_aiperf.json": string(summary), "profile_export.jsonl": "{\"metadata\":"}, "profile_export.jsonl:1"},
		"too long":      {map[string]string{"profile_export_aiperf.json": string(summary), "profile_export.jsonl": strings.Repeat("x", 16<<20+2)}, "token too long"},
		"interrupted":   {map[string]string{"journal.jsonl": ""}, "cells.parquet"},
		"no lines, too": {map[string]string{"profile_export_aiperf.json": string(summary)}, ""},
	} {
		dir := t.TempDir()
		for f, text := range c.files {
			put(t, dir, f, text)
		}
		_, err := Load(dir)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// AIPerf's plots are made of AIPerf's directories: each one is drawn, or says in
// one line what its directory does not have.
func TestDefaultPlotsOfAIPerf(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]string{
		"slices_srvmetrics": "timeslices_ttft timeslices_itl timeslices_throughput timeslices_latency",
		"chat_stream":       "ttft_over_time itl_over_time latency_over_time",
		"rate_poisson":      "ttft_over_time itl_over_time latency_over_time",
		"embeddings":        "latency_over_time",
	} {
		d, err := Load(recorded(dir))
		if err != nil {
			t.Fatal(err)
		}
		charts, err := Defaults(d)
		if err != nil || len(charts) != 9 {
			t.Fatalf("%s: %d plots, %v", dir, len(charts), err)
		}
		drawn := map[string]bool{}
		for _, c := range charts {
			drawn[c.ID] = c.Missing == ""
			if (c.Missing == "") != (len(c.Panels) > 0) || strings.Contains(c.Missing, "\n") {
				t.Errorf("%s: %s: %d panels, missing %q", dir, c.ID, len(c.Panels), c.Missing)
			}
		}
		for id := range strings.FieldsSeq(want) {
			if !drawn[id] {
				t.Errorf("%s: %s is not drawn", dir, id)
			}
		}
		if drawn["gpu_utilization_and_throughput_over_time"] {
			t.Errorf("%s: GPUs are drawn that nobody measured", dir)
		}
	}
	both, err := Load(recorded("chat_stream"), recorded("completions"))
	if err != nil {
		t.Fatal(err)
	}
	charts, err := Defaults(both)
	if err != nil || len(charts) != 3 || charts[2].ID != "ttft_vs_throughput" || charts[2].Missing != "" ||
		!strings.Contains(charts[0].Missing, "per GPU") {
		t.Errorf("of several: %+v, %v", charts, err)
	}
}

// The bars of time slices are the figures of the file, and the tokens of an
// answer are spread over the time in which they came.
func TestDefaultPlotsByHand(t *testing.T) {
	t.Parallel()
	d, err := Load(recorded("slices_srvmetrics"))
	if err != nil {
		t.Fatal(err)
	}
	panels, missing := d.sliced("Request Latency", "p50")
	if missing != "" || len(panels[0].Series[0].Rects) != 2 ||
		panels[0].Series[0].Rects[0].Y1 != 79.260997 || panels[0].Y.Label != "Request Latency (ms)" {
		t.Errorf("%q, %+v", missing, panels)
	}
	// Twenty answers of 10 tokens, two every half second, each from 0.1 to 0.49 s
	// after it was due: in 10 s 400 tokens.
	d = demo()
	s := newSlicer(d.Requests, d.firstTrial(d.Cells[0]))
	total := 0.0
	for _, v := range s.spread() {
		total += v * s.dt
	}
	if math.Abs(total-400) > 1e-9 {
		t.Errorf("%v tokens, want 400", total)
	}
}

// Percentiles of few samples are marked.
func TestTooFew(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		stat string
		n    float64
		want bool
	}{
		{"p99", 999, true},
		{"p99", 1000, false},
		{"p90", 99, true},
		{"p90", 100, false},
		{"p999", 9999, true},
		{"p50", 4, false},
		{"avg", 1, false},
		{"p1", 100, true},
	} {
		if got := tooFew(c.stat, c.n); got != c.want {
			t.Errorf("%s of %v: %t", c.stat, c.n, got)
		}
	}
}
