package onerun_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/sim"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sweep"
)

// A spec that was written as JSON and read again is the same run: the same requests
// at the same moments, and in simulated time the same answers.
func TestSpecIsData(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../examples/experiments/*.[cy]*")
	if err != nil || len(files) < 8 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			doc, err := schema.Load(schema.Source{File: file, Command: "run"})
			if err != nil {
				t.Fatal(err)
			}
			plan, err := sweep.Expand(doc)
			if err != nil {
				t.Fatal(err)
			}
			run := plan.Runs[0]
			spec := onerun.Spec{Benchmark: run.Cell.Resolved.Benchmark, Seed: run.Seed, Text: run.Text}
			spec.Benchmark.Endpoint.URLs = []string{"mock:?ttft=9ms&itl=1ms&jitter=0.2"} // some examples name a real server
			for i := range spec.Benchmark.Datasets {
				if d := &spec.Benchmark.Datasets[i]; d.Path != "" {
					d.Path = filepath.Join(filepath.Dir(file), filepath.Base(d.Path))
				}
			}
			b, err := json.Marshal(spec)
			if err != nil {
				t.Fatal(err)
			}
			var again onerun.Spec
			if err := json.Unmarshal(b, &again); err != nil {
				t.Fatal(err)
			}
			want, got := drive(t, spec), drive(t, again)
			if len(want) == 0 {
				t.Fatal("nothing was sent")
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("as JSON (-before +after):\n%.2000s", diff)
			}
		})
	}
}

// drive is the records of a spec in simulated time.
func drive(t *testing.T, spec onerun.Spec) (records []record.Record) {
	t.Helper()
	run, err := onerun.NewLoader().Open(t.Context(), t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	dir, worlds := t.TempDir(), &sim.Worlds{}
	if _, err := (onerun.Simulated{World: worlds.Open}).Drive(t.Context(), t.Context(), run, &onerun.Session{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	if err := worlds.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = sinks.ReadMeasured(filepath.Join(dir, resultdir.StreamName), func(r *record.Record) error {
		keep := *r
		keep.Chunks = slices.Clone(r.Chunks)
		records = append(records, keep)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return records
}
