package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/runner/onerun"
)

// adaptiveText is an experiment of AIPerf's shape with an adaptive search of a server whose
// first tokens come later from five users on.
func adaptiveText(sweep string) string {
	return fmt.Sprintf(`
schemaVersion: "2.0"
random_seed: 7
benchmark:
  model: demo
  endpoint: {url: "mock:?ttft=15ms&itl=1ms&workers=4&queue=64", type: chat, streaming: true}
  datasets: [{name: main, type: synthetic, entries: 32, prompts: {isl: {mean: 8}, osl: {mean: 4}}}]
  tokenizer: {name: builtin}
  phases: [{name: profiling, type: concurrency, concurrency: 1, requests: 64}]
sweep: %s
`, sweep)
}

// history is search_history.json as far as the test asks.
type history struct {
	Iterations []struct {
		Values     map[string]float64 `json:"variation_values"`
		Objectives []float64          `json:"objective_values"`
		Feasible   bool               `json:"feasible"`
	} `json:"iterations"`
	Best []struct {
		Values   map[string]float64 `json:"variation_values"`
		Feasible bool               `json:"feasible"`
	} `json:"best_trials"`
	Boundary *struct {
		Holds *struct{ Value float64 } `json:"feasible_max"`
		Fails *struct {
			Value  float64
			Breach map[string]any `json:"first_breach"`
		} `json:"infeasible_min"`
	} `json:"boundary_summary"`
	Tiers  []struct{ Label string } `json:"tiers"`
	Reason string                   `json:"convergence_reason"`
}

// AIPerf's search configurations run, in virtual time, from the file to the history: each
// planner ends where the limit is, or the best point, and every iteration has its folder.
func TestAdaptiveSearchesOfAIPerf(t *testing.T) {
	t.Parallel()
	const (
		path = "phases.profiling.concurrency"
		dim  = "search_space: [{path: " + path +
			", lo: 1, hi: 64, kind: int}], objectives: [{metric: output_token_throughput, stat: avg, direction: maximize}]"
		slo = "sla_filters: [{metric_tag: time_to_first_token, stat: p95, op: lt, threshold: 40}]"
	)
	type found struct{ holds, fails, most float64 }
	for name, c := range map[string]struct {
		sweep  string
		reason string
		tiers  int
		want   found // holds at least, fails at most, iterations at most
	}{
		"monotonic": {"{type: adaptive_search, planner: monotonic_sla, max_iterations: 20, " + dim + ", " + slo + "}", "monotonic_precision_reached", 0, found{4, 16, 12}},
		"smooth":    {"{type: adaptive_search, planner: smooth_isotonic, max_iterations: 24, " + dim + ", " + slo + "}", "", 0, found{4, 16, 20}},
		"bayesian":  {"{type: adaptive_search, planner: bayesian, max_iterations: 12, n_initial_points: 4, random_seed: 3, " + dim + ", " + slo + "}", "", 0, found{1, 64, 12}},
		"tiers": {"{type: adaptive_search, planner: monotonic_sla, max_iterations: 30, " + dim + ", sla_tiers: [{label: fast, filters: [{metric_tag: time_to_first_token, stat: p95, op: lt, threshold: 25}]}, " +
			"{label: slow, filters: [{metric_tag: time_to_first_token, stat: p95, op: lt, threshold: 100}]}]}", "monotonic_precision_reached", 2, found{1, 16, 30}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, dir := adapted(t, adaptiveText(c.sweep))
			b := h.Boundary
			if b == nil || b.Holds == nil || b.Fails == nil || b.Holds.Value >= b.Fails.Value ||
				b.Holds.Value < c.want.holds || b.Fails.Value > c.want.fails ||
				b.Fails.Breach["metric_tag"] != "time_to_first_token" {
				t.Fatalf("boundary %+v of %+v", b, h)
			}
			if n := len(h.Iterations); float64(n) > c.want.most || h.Reason == "" || c.reason != "" &&
				h.Reason != c.reason || len(h.Tiers) != c.tiers || len(h.Best) != 1 || !h.Best[0].Feasible {
				t.Errorf("%d iterations, %s, best %+v, %d tiers", n, h.Reason, h.Best, len(h.Tiers))
			}
			for i := range h.Iterations {
				if _, err := os.Stat(filepath.Join(dir,
					fmt.Sprintf("search_iter_%04d/profile_runs/run_0001/profile_export_aiperf.json", i))); err != nil {
					t.Error(err)
				}
			}
			for _, file := range []string{
				"sweep_aggregate/profile_export_aiperf_sweep.json",
				"sweep_aggregate/profile_export_aiperf_sweep.csv",
			} {
				if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// adapted carries out an adaptive search, and reads its history.
func adapted(t *testing.T, text string) (h history, results string) {
	t.Helper()
	results = carriedOut(t, text)
	b, err := os.ReadFile(filepath.Join(results, "search_history.json"))
	if err == nil {
		err = json.Unmarshal(b, &h)
	}
	if err != nil {
		t.Fatal(err)
	}
	return h, results
}

// carriedOut is where the results of an experiment are that was carried out with AIPerf's files.
func carriedOut(t *testing.T, text string) (results string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, fileName)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	plan, err := expand(file)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	results = filepath.Join(dir, "results")
	worlds := &Worlds{}
	if _, err := runner.Run(context.Background(), context.Background(), plan, runner.Options{
		Dir: results, Source: []byte(text), SourceName: file, SourceEnding: ".yaml", Version: "simulation",
		AIPerf: true, Driver: onerun.Simulated{World: worlds.Open},
	}); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return results
}
