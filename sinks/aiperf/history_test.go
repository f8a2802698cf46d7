package aiperf_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"aiperf.dev/aiperf/sinks/aiperf"
)

// search_history.json has the keys, in the order, and the kinds of values of one that
// AIPerf wrote.
func TestHistoryHasAIPerfsShape(t *testing.T) {
	t.Parallel()
	zero, one := 0, 1
	observed := 147.9
	limit := aiperf.Filter{Tag: "time_to_first_token", Op: "lt", Threshold: 120}
	h := &aiperf.SearchHistory{
		Adaptive: aiperf.Adaptive{
			Space:      []aiperf.Range{{Lo: 1, Hi: 12, Kind: "int"}},
			Objectives: []aiperf.Goal{{Metric: "output_token_throughput", Direction: "maximize"}}, Filters: []aiperf.Filter{limit}, Most: 4, SearchedFor: "phases.profiling.concurrency",
		},
		Iterations: []aiperf.Iteration{
			{Load: aiperf.Plain{V: int64(3)}, Objectives: []float64{582.5}},
			{Load: aiperf.Plain{V: int64(9)}, Objectives: []float64{800.9}, Breach: &aiperf.Breach{Filter: limit, Observed: &observed}},
			{Load: aiperf.Plain{V: int64(9)}, Breach: &aiperf.Breach{Filter: limit}},
		},
		Best: &zero, Boundary: aiperf.Boundary{Holds: &zero, Fails: &one}, Reason: "max_iterations",
	}
	h.Complete()
	dir := t.TempDir()
	if _, err := aiperf.WriteHistory(dir, h); err != nil {
		t.Fatal(err)
	}
	got := shapeOf(t, filepath.Join(dir, "search_history.json"))
	want := shapeOf(t, filepath.Join("testdata", "search_history.json"))
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if ours := readMap(t, filepath.Join(dir, "search_history.json"))["iterations"].([]any)[2].(map[string]any); ours["objective_values"] != nil || ours["feasible"] != false {
		t.Errorf("an iteration without results: %v", ours)
	}
}

func readMap(t *testing.T, file string) (m map[string]any) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// shapeOf are the paths of a document's values with their kinds, each once; of a list the
// first member counts.
func shapeOf(t *testing.T, file string) (out []string) {
	t.Helper()
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, x := range v {
				walk(path+"."+k, x)
			}
		case []any:
			if len(v) > 0 {
				walk(path+"[]", v[0])
				return
			}
			out = append(out, path+" list")
		default:
			out = append(out, fmt.Sprintf("%s %T", path, v))
		}
	}
	walk("", readMap(t, file))
	slices.Sort(out)
	return out
}
