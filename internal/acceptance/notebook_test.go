package acceptance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/stats"
)

// desk is a folder in which somebody has run the quick start, with what the
// console said.
type desk struct {
	packages []string // the environment of its scripts: what venv.sh is told, nothing for the readers
	dir      string   // holds results/quickstart-1
	result   result
}

// quickstart runs the example, shortened, against a fast server.
func quickstart(t *testing.T, trials int, flags ...string) desk {
	t.Helper()
	d := desk{dir: t.TempDir()}
	d.result = run(t, append([]string{
		"examples/experiments/quickstart.cue", "-u", "mock:?ttft=8ms&itl=1ms&jitter=0.3",
		"--artifact-dir", filepath.Join(d.dir, "results", "quickstart-1"), "--set", fmt.Sprint("multi_run.num_runs=", trials),
	}, flags...)...)
	return d
}

// python runs a script of testdata in the folder and decodes what it prints.
func (d desk) python(t *testing.T, v, stdin any, script string, args ...string) {
	t.Helper()
	exe := python(t, d.packages...)
	script, err := filepath.Abs(filepath.Join("testdata", script))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(script); err != nil { // go test's cache knows it from here on
		t.Fatal(err)
	}
	in, err := json.Marshal(stdin)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, append([]string{script}, args...)...)
	var out, hints bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = d.dir, bytes.NewReader(in), &out, &hints
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, &hints)
	}
	if err := json.Unmarshal(out.Bytes(), v); err != nil {
		t.Fatalf("%s: %v in %s", script, err, &out)
	}
}

// oneLiners are the lines of the README's Python block: pandas, polars, DuckDB.
func oneLiners(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(repository(t), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(b), "```python\n")
	block, _, _ := strings.Cut(after, "```")
	found := strings.Split(strings.TrimSpace(block), "\n")
	if len(found) != 3 || !strings.Contains(found[0], "pandas") || !strings.Contains(found[1], "polars") ||
		!strings.Contains(found[2], "duckdb") {
		t.Fatalf("README.md: want one line each for pandas, polars and duckdb, got %q", found)
	}
	for i, l := range found {
		found[i] = strings.ReplaceAll(l, "results/latest/", "results/quickstart-1/") // where the test has them
	}
	return found
}

// The README's lines give the numbers that the console printed.
func TestOneLiners(t *testing.T) {
	t.Parallel()
	python(t)
	said := oneLiners(t)
	matrix := quickstart(t, 3) // two trials have no interval
	var got [3][]map[string]any
	matrix.python(t, &got, said, "lines.py")
	if len(matrix.result.Cells) != 4 || len(got[0]) != 4 {
		t.Fatalf("the console has %d cells, pandas %d, want 4", len(matrix.result.Cells), len(got[0]))
	}
	for _, c := range matrix.result.Cells {
		i := slices.IndexFunc(got[0], func(r map[string]any) bool {
			return r["axis_isl"] == c.Point["isl"] && r["axis_concurrency"] == c.Point["concurrency"]
		})
		if i < 0 {
			t.Fatalf("pandas has no row for %v: %v", c.Point, got[0])
		}
		want := c.Metrics["time_to_first_token"]["p50"]
		same(t, c.Label+": mean by pandas", got[0][i]["ttft_p50_ms"], want.Mean)
		same(t, c.Label+": low by pandas", got[0][i]["ttft_p50_ms_low"], *want.Low)
		same(t, c.Label+": high by pandas", got[0][i]["ttft_p50_ms_high"], *want.High)
	}
	compareQuantiles(t, got, matrix.pooled(t, "in_window"))

	// With one trial and one axis, the requests of a cell's span are the console's cell.
	single := quickstart(t, 1, "--isl", "64")
	single.python(t, &got, said, "lines.py")
	compareQuantiles(t, got, single.pooled(t, "in_window"))
	for _, c := range single.result.Cells {
		column, known := map[string]string{"full": "in_window", "steady": "steady"}[c.Window]
		if !known {
			t.Fatalf("%s: window %q", c.Label, c.Window)
		}
		of := single.pooled(t, column)[fmt.Sprint(c.Point["concurrency"])]
		for stat, q := range map[string]float64{"p50": 0.5, "p99": 0.99} {
			same(t, c.Label+": "+stat+" of the console", c.Metrics["time_to_first_token"][stat].Mean,
				stats.Quantile(of, q))
		}
	}
}

// What the tables say of requests, chunks, runs and cells follows from the stamps
// of the requests, as somebody else's arithmetic has it.
func TestTablesRecomputed(t *testing.T) {
	t.Parallel()
	python(t)
	var got struct {
		Problems          []string
		Values, Estimates int
	}
	quickstart(t, 3).python(t, &got, nil, "recompute.py", "results/quickstart-1", "allow-invalid")
	for _, p := range got.Problems {
		t.Error(p)
	}
	t.Logf("recomputed: %d values of runs, %d estimates of cells", got.Values, got.Estimates)
	if got.Values < 1000 || got.Estimates < 1000 {
		t.Error("too few to tell anything")
	}
}

// compareQuantiles holds what polars and DuckDB found at concurrency 1 and 4
// against what is wanted.
func compareQuantiles(t *testing.T, got [3][]map[string]any, pooled map[string][]float64) {
	t.Helper()
	if len(got[1]) != 2 || len(got[2]) != 2 {
		t.Fatalf("polars %v, DuckDB %v; want two rows each", got[1], got[2])
	}
	for _, row := range got[1] {
		c := fmt.Sprint(row["axis_concurrency"])
		same(t, "polars: p50 at concurrency "+c, row["ttft_ms"], stats.Quantile(pooled[c], 0.5))
	}
	for _, row := range got[2] {
		c := fmt.Sprint(row["axis_concurrency"])
		delete(row, "axis_concurrency")
		for _, quantiles := range row { // the only other column, named after its expression
			q, ok := quantiles.([]any)
			if !ok || len(q) != 2 {
				t.Fatalf("DuckDB: %v, want two quantiles", quantiles)
			}
			same(t, "DuckDB: p50 at concurrency "+c, q[0], stats.Quantile(pooled[c], 0.5))
			same(t, "DuckDB: p99 at concurrency "+c, q[1], stats.Quantile(pooled[c], 0.99))
		}
		if len(row) != 1 {
			t.Errorf("DuckDB: columns %v, want one besides the axis", row)
		}
	}
}

// pooled are the times to first token that count, by concurrency, sorted.
func (d desk) pooled(t *testing.T, span string) map[string][]float64 {
	t.Helper()
	out := map[string][]float64{}
	for _, row := range table(t, filepath.Join(d.dir, "results", "quickstart-1"), "requests") {
		if row["status"] != "ok" || row[span] != "true" {
			continue
		}
		first, err := strconv.ParseInt(row["first_token_ns"], 10, 64) // ttft_ms has three digits there
		sent, also := strconv.ParseInt(row["sent_ns"], 10, 64)
		if err := errors.Join(err, also); err != nil {
			t.Fatal(err)
		}
		out[row["axis_concurrency"]] = append(out[row["axis_concurrency"]], float64(first-sent)/1e6)
	}
	for _, v := range out {
		slices.Sort(v)
	}
	return out
}

func same(t *testing.T, what string, got any, want float64) {
	t.Helper()
	if g, ok := got.(float64); !ok || !near(g, want) || math.IsNaN(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// The notebook runs from top to bottom, and finds the latencies of the whole
// measured span, and the console's gates and doubts.
func TestNotebook(t *testing.T) {
	t.Parallel()
	python(t)
	d := quickstart(t, 1, "--isl", "64", "--set",
		`gates=["time_to_first_token.p99 < 250", "error_rate == 0", "output_token_throughput > 1e6"]`)
	var got struct {
		Latency map[string]map[string]float64
		Gates   []map[string]bool
		Doubts  map[string]int
	}
	d.python(t, &got, nil, "notebook.py", filepath.Join(repository(t), "examples", "notebooks", "read_results.ipynb"))
	if len(got.Latency) != 2 || len(got.Gates) != len(d.result.Cells) {
		t.Fatalf("the notebook found %+v, the console has %d cells", got, len(d.result.Cells))
	}
	pooled := d.pooled(t, "in_window")
	for c, q := range got.Latency {
		same(t, "p50 at concurrency "+c, q["0.5"], stats.Quantile(pooled[c], 0.5))
		same(t, "p99 at concurrency "+c, q["0.99"], stats.Quantile(pooled[c], 0.99))
	}
	missed := 0
	for i, c := range d.result.Cells {
		if len(c.Gates) != 3 || len(got.Gates[i]) != 3 {
			t.Fatalf("%s: gates %+v, in the notebook %v", c.Label, c.Gates, got.Gates[i])
		}
		for _, g := range c.Gates {
			if held, ok := got.Gates[i][g.Gate]; !ok || held != g.Held {
				t.Errorf("%s: gate %s: the notebook says %t, the console %t", c.Label, g.Gate, held, g.Held)
			}
			if !g.Held {
				missed++
			}
		}
	}
	if missed != len(d.result.Cells) {
		t.Errorf("%d gates missed, want the impossible one in each of %d cells", missed, len(d.result.Cells))
	}
	for _, c := range d.result.Checks {
		if got.Doubts[c.Check] == 0 {
			t.Errorf("the notebook has no doubt about %s: %v", c.Check, got.Doubts)
		}
		delete(got.Doubts, c.Check)
	}
	if len(got.Doubts) > 0 {
		t.Errorf("the notebook doubts %v, the console does not", got.Doubts)
	}
}
