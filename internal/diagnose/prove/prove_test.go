package prove_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/diagnose/prove"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/sim"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// Whatever the share of the prompts is, each two causes expect different things of some
// effect: their ranges have at most a narrow strip in common.
func TestCausesDiffer(t *testing.T) {
	t.Parallel()
	causes := prove.Causes()
	for _, prompts := range []float64{0.02, 0.29, 0.31, 0.5, 0.69, 0.71, 0.98} {
		for i, a := range causes {
			for _, b := range causes[i+1:] {
				least := math.Inf(1)
				x, y := a.Expects(prompts), b.Expects(prompts)
				for e := range x {
					least = min(least, min(x[e].High, y[e].High)-max(x[e].Low, y[e].Low))
				}
				if least > 0.101 {
					t.Errorf("%s and %s are alike where prompts are %g of the tokens: %g", a.Name, b.Name, prompts, least)
				}
			}
		}
	}
}

// An experiment can be run, keeps the budget, and says how long it takes where the budget
// is too short for it.
func TestExperimentFitsBudget(t *testing.T) {
	t.Parallel()
	const benchmark = `{"models": {"items": [{"name": "demo"}]}, "endpoint": {"urls": ["mock:"], "type": "chat", "extra": {}},
		"datasets": [{"type": "file", "path": "x.jsonl"}], "server_metrics": {"enabled": false, "urls": []}}`
	for _, budget := range []time.Duration{20 * time.Second, time.Minute, 5 * time.Minute, time.Hour} {
		for _, b := range []prove.Base{
			{Users: 8, ISL: 32, OSL: 16, Latency: 40, Rate: 200},
			{Users: 64, ISL: 512, OSL: 128, Latency: 3000, Rate: 21},
			{Users: 2, ISL: 7, OSL: 5, Latency: 60_000, Rate: 0.033},
		} {
			b.Benchmark, b.Streams = json.RawMessage(benchmark), true
			x, err := b.Experiment(budget)
			if err != nil {
				var e *diag.Error
				if !errors.As(err, &e) || e.Code != diag.Invalid || !strings.HasPrefix(e.Hint, "--budget ") {
					t.Errorf("%s, %+v: %v", budget, b, err)
					continue
				}
				longer, _ := time.ParseDuration(strings.TrimPrefix(e.Hint, "--budget "))
				if _, err := b.Experiment(longer); err != nil || longer <= budget {
					t.Errorf("%s, %+v: hint %s: %v", budget, b, e.Hint, err)
				}
				continue
			}
			if x.Takes > budget || x.Trials%2 != 0 {
				t.Errorf("%s, %+v: %d trials in %s", budget, b, x.Trials, x.Takes)
			}
			plan := planOf(t, x.Text)
			if len(plan.Cells) != 1+len(prove.Changes()) || plan.Trials != x.Trials || !b.Made ||
				plan.Cells[0].Resolved.Benchmark.ServerMetrics.Enabled {
				t.Errorf("%d cells, %d trials, made %v", len(plan.Cells), plan.Trials, b.Made)
			}
		}
	}
}

// Prompts that share a prefix are as long in the experiment as they were, and the half of
// them has half the prefix.
func TestPrefixIsPartOfThePrompt(t *testing.T) {
	t.Parallel()
	b := prove.Base{Users: 8, ISL: 300, OSL: 16, Latency: 40, Rate: 200, Streams: true, Benchmark: json.RawMessage(
		`{"models": {"items": [{"name": "demo"}]}, "endpoint": {"urls": ["mock:"], "type": "chat"}, "datasets": [{"type": "synthetic",
		"prompts": {"isl": {"mean": 100}, "osl": {"mean": 16}}, "prefix_prompts": {"pool_size": 2, "length": 200}}]}`)}
	x, err := b.Experiment(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	plan := planOf(t, x.Text)
	for _, c := range plan.Cells {
		of, want := c.Resolved.Benchmark.Datasets[0], [2]float64{100, 200}
		if c.Short() == "half the prompt" {
			want = [2]float64{50, 100}
		}
		if got := [2]float64{*of.Prompts.ISL.Mean, float64(of.Prefix.Length)}; got != want {
			t.Errorf("%s: %v tokens and a prefix of %v, want %v", c.Short(), got[0], got[1], want)
		}
	}
}

// What no experiment can be made of is refused in one line.
func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ server, load, osl, says string }{
		{"mock:?step=5ms", "concurrency: 1", "16", "fewer than four requests were in flight"},
		{"mock:?step=5ms", "concurrency: 8", "2", "answers have 2 tokens"},
		{"mock:?step=5ms&error_rate=1", "concurrency: 8", "16", "no request of this cell was answered"},
	} {
		dir := t.TempDir()
		_, err := sim.Run(`benchmark:
  models: demo
  endpoint: {url: "`+c.server+`", streaming: true}
  datasets: [{name: main, type: synthetic, prompts: {isl: 64, osl: `+c.osl+`}}]
  phases: [{name: profiling, type: concurrency, `+c.load+`, requests: 40}]
  tokenizer: {name: builtin}
random_seed: 1
allow_invalid: true
`, dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := prove.Read(filepath.Join(dir, "results"), -1); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s, %s: %v, want %q", c.server, c.load, err, c.says)
		}
		if _, err := prove.Read(filepath.Join(dir, "results"), 3); err == nil || !strings.Contains(err.Error(), "cells 0 to 0") {
			t.Errorf("cell 3: %v", err)
		}
	}
}

// planOf is the plan of an experiment.
func planOf(t *testing.T, text []byte) *sweep.Plan {
	t.Helper()
	file := filepath.Join(t.TempDir(), "prove.json")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	doc, err := schema.Load(schema.Source{File: file, Command: "run", Tags: metrics.Tags()})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	plan, err := sweep.Expand(doc)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return plan
}
