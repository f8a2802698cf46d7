package schema

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

const matrix = `schemaVersion: "2.0"
benchmark:
  model: demo
  endpoint: {url: "a:1", streaming: true}
  dataset: {isl: 512, osl: 128}
  profiling: {type: concurrency, concurrency: 8, requests: 20}
sweep:
  type: grid
  parameters:
    concurrency: [1, 4]
    dataset.isl: [64, 128, 256]
    endpoint:
      - {label: old, url: "a:1"}
      - {label: new, url: "b:1", timeout: 30}
`

// A single value from the command line takes its field out of the matrix, and
// --set sweep.… changes the matrix itself.
func TestCommandLineAgainstAxes(t *testing.T) {
	t.Parallel()
	file := write(t, "exp.yaml", matrix)
	for _, c := range []struct {
		name    string
		changed string // in the file, old=>new
		words   []lower.Assignment
		want    string
	}{
		{name: "as written", want: "isl 64,128,256 · endpoint old,new · concurrency 1,4"},
		{name: "scalar axis", words: assign("benchmark.phases.profiling.concurrency", 2), want: "isl 64,128,256 · endpoint old,new"},
		{name: "field of labelled values, which differ in another", words: assign("benchmark.endpoint.urls", "c:1"), want: "isl 64,128,256 · endpoint old,new · concurrency 1,4"},
		{name: "all that labelled values differ in", changed: ", timeout: 30=>", words: assign("benchmark.endpoint.urls", "c:1"), want: "isl 64,128,256 · concurrency 1,4"},
		{name: "field that no value has", words: assign("benchmark.endpoint.streaming", false), want: "isl 64,128,256 · endpoint old,new · concurrency 1,4"},
		{name: "the flags' name for the data set, mean of a number", words: assign("benchmark.datasets.main.prompts.isl.mean", 32), want: "endpoint old,new · concurrency 1,4"},
		{name: "field of labelled data sets", changed: "dataset.isl: [64, 128, 256]=>dataset: [{label: s, isl: 64}, {label: l, isl: 999}]", words: assign("benchmark.datasets.main.prompts.isl.mean", 32), want: "endpoint old,new · concurrency 1,4"},
		{name: "labelled data sets keep the rest", changed: "dataset.isl: [64, 128, 256]=>dataset: [{label: s, isl: 64, osl: 1}, {label: l, isl: 999, osl: 2}]", words: assign("benchmark.datasets.main.prompts.isl.mean", 32), want: "dataset s,l · endpoint old,new · concurrency 1,4"},
		{name: "another axis", words: assign("sweep.parameters.concurrency", []any{int64(2), int64(3), int64(5)}), want: "isl 64,128,256 · endpoint old,new · concurrency 2,3,5"},
		{name: "another axis, other spelling", words: assign("sweep.parameters.benchmark.datasets.default.prompts.isl", []any{int64(9)}), want: "isl 9 · endpoint old,new · concurrency 1,4"},
		{name: "one axis more", words: assign("sweep.parameters", map[string]any{"osl": []any{int64(1), int64(2)}}), want: "isl 64,128,256 · osl 1,2 · endpoint old,new · concurrency 1,4"},
		{name: "a list for a field of labelled data sets", changed: "dataset.isl: [64, 128, 256]=>dataset: [{label: s, isl: 64, osl: 1}, {label: l, isl: 999, osl: 2}]", words: assign("benchmark.datasets.main.prompts.isl.mean", []any{int64(7), int64(8)}), want: "dataset s,l · isl 7,8 · endpoint old,new · concurrency 1,4"},
		{name: "a list for an axis, other spelling", words: assign("benchmark.datasets.main.prompts.isl.mean", []any{int64(7), int64(8)}), want: "isl 7,8 · endpoint old,new · concurrency 1,4"},
		{name: "not a list", words: assign("sweep.parameters.concurrency", int64(2)), want: "sweep.parameters.concurrency: expected a list of values, got a number"},
		{name: "unknown axis", words: assign("sweep.parameters.concurrenzy", []any{int64(2)}), want: "sweep.parameters.concurrenzy: unknown field"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := file
			if from, to, ok := strings.Cut(c.changed, "=>"); ok {
				file = write(t, "exp.yaml", strings.Replace(matrix, from, to, 1))
			}
			d, err := Load(Source{File: file, Command: "run", Assignments: c.words})
			if err != nil {
				if !strings.Contains(err.Error(), c.want) {
					t.Fatalf("%v\nwant %s", err, c.want)
				}
				return
			}
			if got := axesLine(d); got != c.want {
				t.Errorf("axes %s\nwant %s", got, c.want)
			}
		})
	}
}

// What was pinned holds in every cell, beside what is still swept.
func TestPinnedURLInCells(t *testing.T) {
	t.Parallel()
	d, err := Load(Source{
		File: write(t, "exp.yaml", matrix), Command: "run",
		Assignments: assign("benchmark.endpoint.urls", "c:1"),
	})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(d.Sweep().Axes, func(a Axis) bool { return a.Name == "endpoint" })
	for k := range d.Sweep().Axes[i].Values {
		r, err := d.Resolve([]lower.Assignment{d.Sweep().Axes[i].Assignment(k,
			source.Origin{Source: source.ByAxis, Where: "axis endpoint"})})
		if err != nil {
			t.Fatal(err)
		}
		e := r.Benchmark.Endpoint
		if want := []float64{6 * 3600, 30}[k]; len(e.URLs) != 1 || e.URLs[0] != "http://c:1" || e.Timeout != want {
			t.Errorf("value %d: urls %v, timeout %v s; want http://c:1 and %v s", k, e.URLs, e.Timeout, want)
		}
	}
}

func assign(path string, v any) []lower.Assignment {
	_, list := v.([]any)
	a := lower.Assign(path, v, source.Origin{Source: source.BySet, Where: "--set " + path})
	a.Axis = list
	return []lower.Assignment{a}
}

func axesLine(d *Document) string {
	var parts []string
	for _, a := range d.Sweep().Axes {
		parts = append(parts, fmt.Sprintf("%s %s", a.Name, strings.Join(a.Labels, ",")))
	}
	return strings.Join(parts, " · ")
}
