package onerun_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
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
	"aiperf.dev/aiperf/sweep/source"
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
			first, _, err := source.Of(plan).Next(nil)
			if err != nil {
				t.Fatal(err)
			}
			run := first.Run
			spec := onerun.Spec{Benchmark: run.Cell.Resolved.Benchmark, Seed: run.Seed, Text: run.Text}
			// some examples name a real server
			spec.Benchmark.Endpoint.URLs = []string{"mock:?ttft=9ms&itl=1ms&jitter=0.2"}
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
	out, err := (onerun.Simulated{World: worlds.Open}).Drive(t.Context(), t.Context(), run, &onerun.Session{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	isData(t, out)
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

// isData reports whether a result is the same when another process sent it.
func isData(t *testing.T, out *onerun.Result) {
	t.Helper()
	var sent bytes.Buffer
	var got onerun.Result
	if err := errors.Join(gob.NewEncoder(&sent).Encode(out), gob.NewDecoder(&sent).Decode(&got)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(out, &got, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("result (-before +after it was sent):\n%.2000s", diff)
	}
}

// Workers number their requests, those that were never sent too, by their shares alone: no
// two of them give one number, and together they send as many as are asked for.
func TestShareNumbersRequests(t *testing.T) {
	t.Parallel()
	spec := onerun.Spec{Seed: 1, Text: 1, Benchmark: schema.Benchmark{
		Models:    schema.Models{Items: []schema.Model{{Name: "demo"}}},
		Tokenizer: schema.Tokenizer{Name: "builtin"},
		Endpoint:  schema.Endpoint{URLs: []string{"mock:?ttft=40ms&itl=1ms&jitter=0.2"}, Type: "chat", Streaming: true},
		Datasets:  []schema.Dataset{{Name: "default", Entries: 16}},
		// Arrivals that find no place are unsent: each part has one place and an arrival every 12.5 ms.
		Phases: []schema.Phase{{
			Name: "main", Kind: "profiling", Type: "constant", Rate: 400,
			Concurrency: 5, OnCap: "skip", Requests: 40,
		}},
	}}
	const of = 5
	seen := map[int64]bool{}
	sent, unsent := 0, 0
	for k := range int64(of) {
		spec.Share = record.Share{K: k, Of: of}
		for _, r := range drive(t, spec) {
			if local := max(r.RequestID, -1-r.RequestID); local%of != k || seen[r.RequestID] {
				t.Errorf("share %+v has a request %d", spec.Share, r.RequestID)
			}
			if seen[r.RequestID] = true; r.RequestID < 0 {
				unsent++
				continue
			}
			sent++
		}
	}
	if sent != 40 || unsent == 0 {
		t.Errorf("%d requests were sent by all shares, and %d were not, of 40", sent, unsent)
	}
	spec.Share.K = of
	if _, err := onerun.NewLoader().Open(t.Context(), t.Context(), spec); err == nil {
		t.Error("share 5 of 5 was opened")
	}
}
