package sim

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// searched are AIPerf's ways to search, each with the file that it ends with. Of some there is
// a sample that AIPerf wrote, in testdata/aiperf/search.
var aiperfsSearches = []struct {
	name   string
	sweep  string // the block, or the setting of the phase
	sample string // folder of the sample, "" for none
	file   string
	keys   string // that the file has at least, where there is no sample
}{
	{
		name: "max-concurrency-under-sla, monotonic", sample: "monotonic_sla", file: "search_history.json",
		sweep: "sweep: {recipe: {name: max-concurrency-under-sla, style: monotonic, ttft_sla_ms: 60, concurrency_max: 16}, max_iterations: 6}",
	},
	{
		name: "bayesian", sample: "bayesian", file: "search_history.json",
		sweep: "sweep: {type: adaptive_search, planner: bayesian, max_iterations: 4, n_initial_points: 2, search_space: [{path: phases.profiling.concurrency, lo: 1, hi: 12, kind: int}], objectives: [{metric: output_token_throughput, direction: maximize}], sla_filters: [{metric_tag: time_to_first_token, stat: p95, op: lt, threshold: 20}]}",
	},
	{
		name: "optuna", sample: "bayesian", file: "search_history.json",
		sweep: "sweep: {type: adaptive_search, planner: optuna, max_iterations: 4, n_initial_points: 2, search_space: [{path: phases.profiling.concurrency, lo: 1, hi: 12, kind: int}], objectives: [{metric: output_token_throughput, direction: maximize}], sla_filters: [{metric_tag: time_to_first_token, stat: p95, op: lt, threshold: 20}]}",
	},
	{
		name: "max-concurrency-under-sla", file: "search_history.json",
		keys:  "config iterations best_trials boundary_summary recipe convergence_reason",
		sweep: "sweep: {recipe: {name: max-concurrency-under-sla, ttft_sla_ms: 20, concurrency_max: 16}}",
	},
	{
		name: "max-goodput-under-slo", file: "search_history.json",
		keys:  "config iterations best_trials boundary_summary recipe convergence_reason",
		sweep: "sweep: {recipe: {name: max-goodput-under-slo, ttft_sla_ms: 20, itl_sla_ms: 9, e2e_sla_ms: 900, concurrency_max: 16}}",
	},
	{
		name: "max-throughput-ttft-sla", sample: "bayesian", file: "search_history.json",
		sweep: "sweep: {recipe: {name: max-throughput-ttft-sla, ttft_sla_ms: 20, concurrency_max: 16}, max_iterations: 8}",
	},
	{
		name: "max-throughput-itl-sla", sample: "bayesian", file: "search_history.json",
		sweep: "sweep: {recipe: {name: max-throughput-itl-sla, itl_sla_ms: 20, concurrency_max: 16}, max_iterations: 8}",
	},
	{
		name: "concurrency-ramp", sample: "concurrency_ramp", file: "sweep_aggregate/degradation_knee.json",
		sweep: "sweep: {recipe: {name: concurrency-ramp, concurrency_max: 8, concurrency_steps: 3, degradation_threshold: 0.5}}",
	},
	{
		name: "max-concurrency-under-sla, grid", file: "sweep_aggregate/sla_breach.json",
		keys:  "max_passing_concurrency first_failing_concurrency",
		sweep: "sweep: {recipe: {name: max-concurrency-under-sla, style: grid, ttft_sla_ms: 20, concurrency_max: 16, concurrency_steps: 3}}",
	},
	{
		name: "prefill-ttft-curve", file: "sweep_aggregate/prefill_curve.json",
		keys:  "fit_form coefficients r_squared below_floor r_squared_floor raw_points",
		sweep: "sweep: {recipe: {name: prefill-ttft-curve, isl_min: 8, isl_max: 64, isl_steps: 4}}",
	},
	{
		name: "decode-itl-curve", file: "sweep_aggregate/decode_itl_surface.json",
		keys:  "surface surface.concurrency_axis surface.osl_axis surface.itl_grid",
		sweep: "sweep: {recipe: {name: decode-itl-curve, concurrency_max: 4, concurrency_steps: 2, osl_min: 4, osl_max: 8, osl_steps: 2}}",
	},
	{
		name: "pareto-sweep", file: "sweep_aggregate/pareto_sweep.json",
		keys:  "x_metric x_stat cells cells.isl cells.osl cells.concurrency cells.x cells.y cells.pareto_optimal",
		sweep: "sweep: {recipe: {name: pareto-sweep, isl_osl_pairs: 8/4}}",
	},
	{
		name: "adaptive_scale", sample: "adaptive_scale", file: "phases/profiling/adaptive_scale_summary.json",
		sweep: "SCALE",
	},
}

// aiperfsText is an experiment of AIPerf's shape with one of its searches.
func aiperfsText(sweep string) string {
	words, phase := "ttft=15ms&itl=2ms&workers=4", "{name: profiling, type: concurrency, concurrency: 1, requests: 20}"
	if sweep == "SCALE" {
		sweep, words = "", "ttft=150ms&itl=2ms&workers=4"
		phase = "{name: profiling, type: concurrency, concurrency: 1, duration: 60, sla: {time_to_first_token: {p95: {lt: 250}}}, " +
			"adaptive_scale: {control: {variable: concurrency, min: 1, max: 16}, assessment_period: 3, min_completed_requests: 3, " +
			"sustain_duration: 3, strategy: {type: ramp_until_fail, step_policy: fixed_percent_step, step_percent: 50}}}"
	}
	return fmt.Sprintf(`
schemaVersion: "2.0"
random_seed: 7
benchmark:
  model: demo
  endpoint: {url: "mock:?%s", type: chat, streaming: true}
  datasets: [{name: main, type: synthetic, entries: 32, prompts: {isl: {mean: 8}, osl: {mean: 4}}}]
  tokenizer: {name: builtin}
  phases: [%s]
%s
`, words, phase, sweep)
}

// Each of AIPerf's searches runs and writes the files that AIPerf writes, equal in shape: the same folders, keys and
// types, and columns of the same form.
func TestSearchesWriteAIPerfsFiles(t *testing.T) {
	t.Parallel()
	for _, c := range aiperfsSearches {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := carriedOut(t, aiperfsText(c.sweep))
			got := shapeOfJSON(t, filepath.Join(dir, c.file))
			for _, k := range strings.Fields(c.keys) {
				if got[k] == "" {
					t.Errorf("%s has no %s: %v", c.file, k, slices.Sorted(maps.Keys(got)))
				}
			}
			if c.sample == "" {
				return
			}
			sample := filepath.Join("..", "..", "testdata", "aiperf", "search", c.sample)
			sameShape(t, c.file, got, shapeOfJSON(t, filepath.Join(sample, filepath.Base(c.file))))
			have := pathsOf(t, dir)
			tree, err := os.ReadFile(filepath.Join(sample, "tree.txt"))
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range strings.Fields(string(tree)) {
				if !have[numberless(path)] && !unwritten.MatchString(path) {
					t.Errorf("no %s", path)
				}
			}
			if c.sample == "adaptive_scale" {
				const events = "adaptive_scale_events.jsonl"
				sameShape(t, events, shapeOfJSON(t, filepath.Join(dir, "phases/profiling", events)),
					shapeOfJSON(t, filepath.Join(sample, events)))
				const manifest = "adaptive_scale_manifest.json"
				sameShape(t, manifest, shapeOfJSON(t, filepath.Join(dir, manifest)),
					shapeOfJSON(t, filepath.Join(sample, manifest)))
				return
			}
			const table = "profile_export_aiperf_sweep"
			sameHead(t, filepath.Join(dir, "sweep_aggregate", table+".csv"), filepath.Join(sample, table+".head.csv"))
		})
	}
}

// unwritten are files that are not written here, as docs/differences.md says, and pictures.
var unwritten = regexp.MustCompile(`^(search_checkpoint\.json$|plots/)`)

var number = regexp.MustCompile(`_\d+`)

func numberless(path string) string { return number.ReplaceAllString(path, "_N") }

// pathsOf are the files below a folder, without the numbers in their names.
func pathsOf(t *testing.T, dir string) map[string]bool {
	t.Helper()
	have := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			have[numberless(filepath.ToSlash(rel))] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return have
}

// shapeOfJSON are the types of all values of a JSON file, or of the lines of one, by the keys that lead to them.
func shapeOfJSON(t *testing.T, file string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(b)); ; {
		var v any
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		shapeOf(v, "", out)
	}
}

func shapeOf(v any, at string, out map[string]string) {
	kind := ""
	switch v := v.(type) {
	case map[string]any:
		kind = "object"
		for k, x := range v {
			shapeOf(x, strings.TrimPrefix(at+"."+k, "."), out)
		}
	case []any:
		kind = "list"
		for _, x := range v {
			shapeOf(x, at, out)
		}
		if len(v) > 0 { // the type is that of its members
			return
		}
	case nil:
		kind = "null"
	case float64:
		kind = "number"
	case bool:
		kind = "bool"
	default:
		kind = "string"
	}
	if was := out[at]; was == "" || was == "null" || was == "list" { // which a value tells more about
		out[at] = kind
	}
}

// sameShape wants the keys of a file to be those of the sample, and their types where both have a value.
func sameShape(t *testing.T, file string, got, want map[string]string) {
	t.Helper()
	under := func(shape map[string]string, k string) bool { // null or an empty list, below which nothing is known
		for at := strings.LastIndexByte(k, '.'); at > 0; at = strings.LastIndexByte(k[:at], '.') {
			if of := shape[k[:at]]; of == "null" || of == "list" {
				return true
			}
		}
		return false
	}
	for k, kind := range want {
		switch is := got[k]; {
		case is == "" && !under(got, k):
			t.Errorf("%s: no %s", file, k)
		case is != "" && is != kind && is != "null" && kind != "null" && is != "list" && kind != "list":
			t.Errorf("%s: %s is of type %s, AIPerf's is of type %s", file, k, is, kind)
		}
	}
	for k := range got {
		if want[k] == "" && !under(want, k) {
			t.Errorf("%s: AIPerf's has no %s", file, k)
		}
	}
}

// sameHead wants the table of a sweep to have the blocks of the sample, columns in the same form and as many
// decimals. One run has no spread, which AIPerf writes as 0.
func sameHead(t *testing.T, file, sample string) {
	t.Helper()
	form := func(name string) (out, decimals []string) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		r := csv.NewReader(bytes.NewReader(b))
		r.FieldsPerRecord = -1
		rows, err := r.ReadAll()
		if err != nil || len(rows) < 4 {
			t.Fatalf("%s: %d rows, %v", name, len(rows), err)
		}
		out = append(out, rows[0][0])
		for _, stat := range rows[0][1:6] {
			out = append(out, stat[strings.LastIndexByte(stat, '_'):])
		}
		for _, cell := range rows[1][1:6] {
			_, after, _ := strings.Cut(cell, ".")
			decimals = append(decimals, after)
		}
		for _, row := range rows[1:] {
			if slices.Contains([]string{"Best Configurations", "Pareto Optimal Points", "Metadata", "Field"}, row[0]) {
				out = append(out, strings.Join(row, ","))
			}
		}
		return out, decimals
	}
	got, decimals := form(file)
	want, wanted := form(sample)
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", filepath.Base(file), got, want)
	}
	for i, d := range decimals {
		if len(d) != len(wanted[i]) && d != "" {
			t.Errorf("%s: %s has %d decimals, AIPerf's %d", filepath.Base(file), got[i+1], len(d), len(wanted[i]))
		}
	}
}
