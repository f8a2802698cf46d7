package aiperf_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks/aiperf"
)

// search_history.json has the keys, in the order, and the kinds of values of those that
// AIPerf wrote: under a model with a limit that was missed, and by a planner that met none.
func TestHistoryHasAIPerfsShape(t *testing.T) {
	t.Parallel()
	zero, one := 0, 1
	observed := 147.9
	limit := schema.SLAFilter{MetricTag: "time_to_first_token", Stat: "p95", Op: "lt", Threshold: 120}
	config := aiperf.SearchConfig{
		Adaptive: schema.Adaptive{
			Planner: "bayesian", MaxIterations: 4, InitialPoints: 2, Patience: 10, PlateauWindow: 8, PlateauFlat: 0.01,
			Space: []schema.SearchSpace{{Path: "benchmark.phases.profiling.concurrency", Lo: 1, Hi: 12, Kind: "int"}},
			Objectives: []schema.SearchObjective{
				{Metric: "output_token_throughput", Stat: "avg", Direction: "maximize"},
			},
		},
		Filters: []schema.SLAFilter{limit},
	}
	at := func(n int64) []aiperf.Plain { return []aiperf.Plain{{V: n}} }
	bayesian := &aiperf.SearchHistory{
		Config: config, Best: []int{0}, Reason: "max_iterations",
		Iterations: []aiperf.SearchIteration{
			{Values: at(3), Objectives: []float64{582.5}, Feasible: true}, {Values: at(9), Objectives: []float64{800.9}}, {Values: at(11)},
		},
		Boundary: &aiperf.SearchBoundary{
			Holds: &zero, Fails: &one,
			Breach: &aiperf.Breach{SLAFilter: limit, Observed: &observed},
		},
	}
	monotonic := &aiperf.SearchHistory{
		Config: config, Best: []int{0}, Reason: "max_iterations", Recipe: "max-concurrency-under-sla",
		Iterations: bayesian.Iterations[:1],
		Boundary:   &aiperf.SearchBoundary{Holds: &zero},
	}
	for name, h := range map[string]*aiperf.SearchHistory{
		"search_history.json":           bayesian,
		"search_history_monotonic.json": monotonic,
	} {
		dir := t.TempDir()
		if _, err := aiperf.WriteHistory(dir, h); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(shapeOf(t, filepath.Join("testdata", name)),
			shapeOf(t, filepath.Join(dir, "search_history.json"))); diff != "" {
			t.Errorf("%s (-AIPerf's +ours):\n%s", name, diff)
		}
	}
	dir := t.TempDir()
	bayesian.Best, bayesian.Boundary, bayesian.Reason = nil, &aiperf.SearchBoundary{
		Fails: &one, Kind: "cliff",
		Binding: "time_to_first_token:p95", CI: &[2]float64{8, 9},
	}, ""
	if _, err := aiperf.WriteHistory(dir, bayesian); err != nil {
		t.Fatal(err)
	}
	m := readMap(t, filepath.Join(dir, "search_history.json"))
	last, b := m["iterations"].([]any)[2].(map[string]any), m["boundary_summary"].(map[string]any)
	if last["objective_values"] != nil || last["feasible"] != false || m["best_trials"] != nil ||
		m["convergence_reason"] != nil || b["boundary_type"] != "cliff" || b["feasible_max"] != nil {
		t.Errorf("what is not there: %v", m)
	}
	if diff := cmp.Diff(map[string]any{"lo": 8.0, "hi": 9.0}, b["boundary_ci"]); diff != "" {
		t.Error(diff)
	}
}

// swept is a sweep of concurrency whose cells have a metric.
func swept(tag string, values map[int64]float64) *aiperf.SweepSummary {
	s := &aiperf.SweepSummary{
		Trials: 1, Level: 0.95, Mode: "repeated",
		Parameters: []aiperf.SweepParameter{{Path: "phases.profiling.concurrency"}},
	}
	for at, v := range values {
		st := metrics.Blank(tag, "ms")
		st.Avg, st.P95, st.P99, st.Count = v, v, v, 10
		s.Cells = append(s.Cells, aiperf.SweepCell{Point: []aiperf.Parameter{{
			Name:  "phases.profiling.concurrency",
			Value: aiperf.Plain{V: at},
		}}, Runs: []*metrics.Summary{{Stats: []metrics.Stat{st}}}})
	}
	return s
}

// The files of recipes: AIPerf's shape of the knee, and what each calculation finds.
func TestPostProcess(t *testing.T) {
	t.Parallel()
	const path = "phases.profiling.concurrency"
	write := func(s *aiperf.SweepSummary, p *aiperf.PostProcess) (string, map[string]any) {
		dir := t.TempDir()
		info, err := aiperf.WritePostProcess(dir, s, p)
		if err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, info.Path), readMap(t, filepath.Join(dir, info.Path))
	}
	latencies := swept(metrics.RequestLatency, map[int64]float64{1: 94, 3: 92, 8: 154})
	file, m := write(latencies, &aiperf.PostProcess{
		Handler: "degradation_knee_detect", File: "degradation_knee.json",
		Metric: metrics.RequestLatency, Stat: "p99", Swept: path, Share: 0.5,
	})
	if diff := cmp.Diff(shapeOf(t, filepath.Join("testdata", "degradation_knee.json")), shapeOf(t, file)); diff != "" ||
		m["knee_concurrency"] != 8.0 || m["baseline_p99"] != 94.0 {
		t.Errorf("knee %v (-AIPerf's +ours):\n%s", m, diff)
	}
	if _, m = write(latencies, &aiperf.PostProcess{
		Handler: "degradation_knee_detect", File: "degradation_knee.json",
		Metric: metrics.RequestLatency, Stat: "p99", Swept: path, Share: 0.9,
	}); m["knee_concurrency"] != nil {
		t.Errorf("a knee that is not there: %v", m)
	}
	limit := schema.SLAFilter{MetricTag: metrics.RequestLatency, Stat: "p95", Op: "lt", Threshold: 93}
	_, m = write(latencies, &aiperf.PostProcess{
		Handler: "sla_breach_knee", File: "sla_breach.json",
		Swept: path, Filters: []schema.SLAFilter{limit},
	})
	if m["max_passing_concurrency"] != 3.0 || m["first_failing_concurrency"] != 1.0 || m["monotonicity_check"] != false || m["first_failing_breach"].(map[string]any)["observed"] != 94.0 || len(m["all_points"].([]any)) != 3 {
		t.Errorf("breach: %v", m)
	}
	line := swept(metrics.TimeToFirstToken, map[int64]float64{256: 12.8 + 1, 512: 25.6 + 1, 1024: 51.2 + 1})
	_, m = write(line, &aiperf.PostProcess{
		Handler: "ttft_curve_fit", File: "prefill_curve.json",
		Metric: metrics.TimeToFirstToken, Stat: "avg", Swept: path,
	})
	c := m["coefficients"].([]any)
	if m["fit_form"] != "linear" ||
		math.Abs(c[0].(float64)-0.05) > 1e-9 || math.Abs(c[1].(float64)-1) > 1e-9 || m["below_floor"] != false ||
		len(m["raw_points"].([]any)) != 3 {
		t.Errorf("curve: %v", m)
	}
	bent := swept(metrics.TimeToFirstToken, map[int64]float64{1: 16, 2: 9, 3: 4, 4: 1, 5: 0.5, 6: 1, 7: 4, 8: 9, 9: 16})
	if _, m = write(bent, &aiperf.PostProcess{
		Handler: "ttft_curve_fit", File: "prefill_curve.json",
		Metric: metrics.TimeToFirstToken, Stat: "avg", Swept: path,
	}); m["fit_form"] != "quadratic" ||
		m["below_floor"] != false {
		t.Errorf("bent: %v", m)
	}
	grid := &aiperf.SweepSummary{Trials: 1}
	for _, x := range [][3]float64{{1, 64, 10}, {1, 256, 12}, {10, 64, 11}} {
		st := metrics.Blank("inter_token_latency", "ms")
		st.Avg = x[2]
		grid.Cells = append(grid.Cells, aiperf.SweepCell{
			Point: []aiperf.Parameter{
				{Name: path, Value: aiperf.Plain{V: int64(x[0])}},
				{Name: "datasets.main.prompts.osl", Value: aiperf.Plain{V: int64(x[1])}},
			},
			Runs: []*metrics.Summary{{Stats: []metrics.Stat{st}}},
		})
	}
	_, m = write(grid, &aiperf.PostProcess{
		Handler: "itl_surface_fit", File: "decode_itl_surface.json",
		Metric: "inter_token_latency", Stat: "avg", Swept: path, Other: "datasets.main.prompts.osl",
	})
	if diff := cmp.Diff(map[string]any{
		"concurrency_axis": []any{1.0, 10.0}, "osl_axis": []any{64.0, 256.0},
		"itl_grid": []any{[]any{10.0, 12.0}, []any{11.0, nil}},
	}, m["surface"]); diff != "" {
		t.Errorf("surface: %s", diff)
	}
	shapes := &aiperf.SweepSummary{Trials: 1}
	for _, x := range [][2]float64{{10, 100}, {20, 300}, {30, 200}} {
		first, tokens := metrics.Blank(metrics.TimeToFirstToken, "ms"),
			metrics.Blank(metrics.OutputTokenThroughput, "tokens/sec")
		first.P95, tokens.Avg = x[0], x[1]
		shapes.Cells = append(shapes.Cells, aiperf.SweepCell{Named: map[string]aiperf.Plain{
			"isl": {V: int64(128)},
			"osl": {V: int64(64)}, "concurrency": {V: int64(x[0])},
		}, Runs: []*metrics.Summary{{Stats: []metrics.Stat{first, tokens}}}})
	}
	_, m = write(shapes, &aiperf.PostProcess{Handler: "pareto_sweep", File: "pareto_sweep.json"})
	var on []any
	for _, c := range m["cells"].([]any) {
		on = append(on, c.(map[string]any)["pareto_optimal"])
	}
	if !slices.Equal(on, []any{true, true, false}) || m["x_metric"] != metrics.TimeToFirstToken {
		t.Errorf("front: %v", m)
	}
	if file, m = write(swept("x", nil), &aiperf.PostProcess{
		Handler: "pareto_sweep",
		File:    "pareto_sweep.json",
	}); filepath.Base(file) != "post_process_errors.json" || m["error"] == nil {
		t.Errorf("what cannot be worked out: %s %v", file, m)
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
