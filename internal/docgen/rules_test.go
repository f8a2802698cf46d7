package docgen

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// sample is a value that each setting takes which only some types take.
var sample = map[string]any{
	"rate": 3, "rate_ramp": 3, "rate_series": []any{map[string]any{"time_s": 0, "qps": 1}, map[string]any{"time_s": 1, "qps": 2}},
	"smoothness": 2, "users": 2, "auto_offset": true, "start_offset": 1, "end_offset": 9,

	"parameters": map[string]any{"concurrency": []any{1, 2}}, "axes": []any{map[string]any{"grid": map[string]any{"concurrency": []any{1, 2}}}},
	"runs":    []any{map[string]any{"name": "a", "benchmark": map[string]any{"endpoint": map[string]any{"timeout": 9}}}},
	"samples": 4, "dimensions": []any{map[string]any{"path": "concurrency", "lo": 1, "hi": 9, "kind": "int"}},
	"search_space": []any{map[string]any{"path": "concurrency", "lo": 1, "hi": 9, "kind": "int"}}, "objectives": []any{map[string]any{"metric": "goodput", "direction": "maximize"}},
	"outcome_constraints": []any{map[string]any{"metric": "goodput", "op": ">=", "bound": 1}}, "planner": "optuna", "max_iterations": 9, "n_initial_points": 3, "random_seed": 1,
	"sla_tiers":            []any{map[string]any{"label": "a", "filters": []any{map[string]any{"metric_tag": "request_latency", "op": "lt", "threshold": 1}}}, map[string]any{"label": "b", "filters": []any{map[string]any{"metric_tag": "request_latency", "op": "lt", "threshold": 2}}}},
	"improvement_patience": 3, "plateau_window": 3, "plateau_threshold": 0.1, "optuna_sampler": "gp", "optuna_acquisition": "logei", "optuna_terminator": "none", "objective_pooling": "mean",
	"monotonic_stability_trials": 1, "sla_replicates": 1, "sla_precision": "tight", "sla_warmup_seconds": 1, "constraint_mode": "eic",
	"seed": 1, "label_format": "kv", "scramble": true, "optimization": "None",
}

// The program refuses every setting that a type does not take and asks for every
// one that it needs, in the words of the type's row, and takes the rest.
func TestTypesTakeTheirSettings(t *testing.T) {
	t.Parallel()
	rules := FromGo().Rules
	for _, object := range []struct {
		name  string
		types []typed
	}{{"phases", rules.Phase}, {"sweep", rules.Sweep}} {
		for _, kind := range object.types {
			whole := map[string]any{"type": kind.name}
			for _, s := range kind.takes {
				if s.Needed != "" {
					whole[s.Name] = sample[s.Name]
				}
			}
			if err := planned(t, object.name, whole); err != nil {
				t.Errorf("%v: %v", whole, err)
			}
			for _, s := range settingsOf(object.types) {
				if sample[s.Name] == nil {
					t.Fatalf("this test has no value for %s", s.Name)
				}
				with := maps.Clone(whole)
				if whole[s.Name] != nil {
					delete(with, s.Name)
					refusedFor(t, object.name, with, s.Name, "required by type: "+kind.name)
				} else if !slices.Contains(s.takers, kind.name) {
					with[s.Name] = sample[s.Name]
					for _, needed := range kind.takes {
						if slices.Contains(needed.Or, s.Name) {
							delete(with, needed.Name) // it stands in its place, so this mistake alone is made
						}
					}
					refusedFor(t, object.name, with, s.Name, "needs type: "+s.takers[0],
						"cannot be combined with type: "+kind.name)
				}
			}
		}
	}
}

func refusedFor(t *testing.T, object string, with map[string]any, field string, words ...string) {
	t.Helper()
	var all schema.Errors
	err := planned(t, object, with)
	if !errors.As(err, &all) || !slices.ContainsFunc(all, func(e *schema.Error) bool {
		return strings.HasSuffix(e.Path, "."+field) && slices.Contains(words, e.Message) && e.Hint != ""
	}) {
		t.Errorf("%s: %v\n got %v\nwant %s: %q, with a hint", object, with, err, field, words)
	}
}

// planned loads and plans an experiment whose phase or sweep is o.
func planned(t *testing.T, object string, o map[string]any) error {
	t.Helper()
	phase := map[string]any{"name": "profiling", "kind": "profiling", "type": "concurrency", "requests": 4}
	experiment := map[string]any{"benchmark": map[string]any{
		"models": "m", "endpoint": map[string]any{"url": "mock:"},
		"dataset": map[string]any{"type": "file", "format": "multi_turn", "records": []any{map[string]any{"turns": []any{map[string]any{"text": "a"}, map[string]any{"text": "b"}}}}},
		"phases":  []any{phase},
	}}
	if object == "sweep" {
		experiment["sweep"] = o
	} else {
		maps.Copy(phase, o)
	}
	text, err := json.Marshal(experiment)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), fmt.Sprintf("%s.json", object))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	doc, err := schema.Load(schema.Source{File: file, Env: func(string) (string, bool) { return "", false }})
	if err != nil {
		return err
	}
	_, err = sweep.Expand(doc)
	return err
}
