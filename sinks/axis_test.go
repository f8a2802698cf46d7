package sinks_test

import (
	"path/filepath"
	"testing"

	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sweep"
)

// A well-known axis carries what the cell has, swept or not, so that rows of
// different experiments can be told apart. Only what there is no such thing of
// is null.
func TestWellKnownAxesAreFilledWhenNotSwept(t *testing.T) {
	t.Parallel()
	p := demoPlan("a", 2, 1)
	length := 2.5
	for i, c := range p.Cells {
		c.Point = []sweep.Value{{Axis: "concurrency", Value: int64(8 + i)}}
		c.Resolved = &schema.Resolved{Benchmark: schema.Benchmark{
			Phases:   []schema.Phase{{Kind: "warmup", Concurrency: 99}, {Kind: "profiling", Concurrency: 99, Rate: 40}},
			Datasets: []schema.Dataset{{Prompts: schema.Prompts{ISL: &schema.Shape{Mean: &length}}}},
			Models:   schema.Models{Items: []schema.Model{{Name: "m1"}, {Name: "m2"}}},
			Endpoint: schema.Endpoint{URLs: []string{"http://user:secret@h:1/v1?key=secret"}},
		}}
	}
	p.Cells[1].Resolved.Benchmark.Endpoint.Label = "candidate"
	dir := t.TempDir()
	if _, err := sinks.WriteTables(dir, inputOf(t, t.TempDir(), p, 1, 0)); err != nil {
		t.Fatal(err)
	}
	got := readParquet(t, filepath.Join(dir, "runs.parquet"))
	for i, want := range []map[string]string{
		{"axis_concurrency": "8", "axis_request_rate": "40", "axis_isl": "2.5", "axis_osl": "", "axis_model": "m1, m2", "axis_endpoint": "http://h:1/v1"},
		{"axis_concurrency": "9", "axis_request_rate": "40", "axis_isl": "2.5", "axis_osl": "", "axis_model": "m1, m2", "axis_endpoint": "candidate"},
	} {
		for name, value := range want {
			if text := got[i][name]; text != value {
				t.Errorf("run %d: %s = %s, want %s", i, name, text, value)
			}
		}
	}
	for _, a := range sinks.AxesOf(p) {
		if a.Name == "isl" && a.Kind != sinks.Float64 {
			t.Errorf("axis isl of 2.5 is %v, want a double", a.Kind)
		}
	}
}
