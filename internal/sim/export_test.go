package sim

import (
	"bytes"
	"context"
	"flag"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/results"
)

// theirs asks for AIPerf's files.
var theirs = schema.Assign("benchmark.artifacts.aiperf", true, schema.Origin{})

var exportAll = flag.Bool("export-all", false,
	"hold AIPerf's files of every example against those that are exported, not of a few")

// AIPerf's files that are made of a finished directory are those that would have been
// written with it, byte for byte: of every load mode, and of examples with records, a
// trace, several servers and one that is flipped; with -export-all of every example.
func TestExportIsWhatIsWritten(t *testing.T) {
	t.Parallel()
	for _, file := range experimentsIn(t, t.TempDir(), true) {
		if name := filepath.Base(file); !*exportAll && name != "experiment.yaml" &&
			!slices.Contains([]string{"aiperf-shape.yaml", "records.yaml", "trace.yaml", "ab-one-server.cue"}, name) {
			continue
		}
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Dir(file)
			simulated := func(set ...schema.Assignment) {
				synctest.Test(t, func(t *testing.T) {
					if _, err := runFile(file, dir, &Worlds{}, append(set, seeded)...); err != nil {
						t.Fatal(err)
					}
				})
			}
			simulated(theirs)
			written := filepath.Join(dir, "written")
			// the same paths stand in the files
			if err := os.Rename(filepath.Join(dir, "results"), written); err != nil {
				t.Fatal(err)
			}
			simulated()
			sameExport(t, written, filepath.Join(dir, "results"))
		})
	}
}

// It is so, too, of a plan that was killed and gone on with, and of any options.
func TestExportAfterAKill(t *testing.T) {
	t.Parallel()
	for i := range uint64(4) {
		root := t.TempDir()
		work, written := filepath.Join(root, "work"), filepath.Join(root, "written")
		for _, theirs := range []bool{true, false} {
			if err := os.Mkdir(work, 0o755); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(22, i))
				w := newWays(t, work, rng)
				w.theirs = theirs
				dir := filepath.Join(work, "killed")
				d := &watchedDriver{killAt: w.moment(rng), left: dir + "-left"}
				plan, _ := w.expand("profile", "", w.words)
				_, _ = runner.Run(d.contexts(plan, w.options("killed", d, false))) // after its death nothing counts
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(d.left, dir); err != nil {
					t.Fatal(err)
				}
				plan, _ = w.expand("profile", "", w.words)
				w.carryOut("killed", plan, &watchedDriver{}, true)
			})
			if theirs {
				if err := os.Rename(work, written); err != nil {
					t.Fatal(err)
				}
			}
		}
		sameExport(t, filepath.Join(written, "killed"), filepath.Join(work, "killed"))
	}
}

// sameExport holds the files that Export makes of dir against those in written, where
// AIPerf's were wanted. All other files of written are in dir, too.
func sameExport(t *testing.T, written, dir string) {
	t.Helper()
	out := filepath.Join(filepath.Dir(dir), "exported")
	files, notes, err := runner.Export(context.Background(), dir, out)
	if err != nil || len(notes) > 0 || len(files) == 0 {
		t.Fatalf("%d files, %q, %v", len(files), notes, err)
	}
	if said, bad, err := results.Recheck(dir); err != nil || len(bad) > 0 || strings.Contains(said, " 0 values") {
		t.Errorf("the directory against itself: %s, %q, %v", said, bad, err)
	}
	compared := 0
	err = filepath.WalkDir(written, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(written, path)
		want, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		got, err := os.ReadFile(filepath.Join(out, rel))
		if err != nil {
			if _, err := os.Stat(filepath.Join(dir, rel)); err != nil {
				t.Errorf("%s is in neither", rel)
			}
			return nil
		}
		compared++
		if !bytes.Equal(want, got) {
			t.Errorf("%s (-written +exported):\n%.2000s", rel,
				cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")))
		}
		return nil
	})
	for _, rel := range files {
		if _, err := os.Stat(filepath.Join(written, rel)); err != nil {
			t.Errorf("%s was not written", rel)
		}
	}
	if err != nil || compared == 0 {
		t.Errorf("%d of %d files compared, %v", compared, len(files), err)
	}
}

// A table whose numbers do not follow from the records that are kept is found.
func TestRecheckFindsOtherRecords(t *testing.T) {
	t.Parallel()
	of := func(ttft string) string {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			text := `{"random_seed": 1, "benchmark": {"model": "demo", "tokenizer": {"name": "builtin"}, "endpoint": {"url": "mock:?ttft=` + ttft + `", "streaming": true}, "phases": {"type": "concurrency", "concurrency": 1, "requests": 4}, "datasets": [{"type": "synthetic", "prompts": {"isl": 8, "osl": 4}}]}}`
			if _, err := Run(text, dir); err != nil {
				t.Fatal(err)
			}
		})
		return filepath.Join(dir, "results")
	}
	slow, fast := of("20ms"), of("10ms")
	if _, bad, err := results.Recheck(slow); err != nil || len(bad) > 0 {
		t.Fatalf("%q, %v", bad, err)
	}
	b, err := os.ReadFile(filepath.Join(fast, resultdir.RecordsKept))
	if err == nil {
		err = os.WriteFile(filepath.Join(slow, resultdir.RecordsKept), b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, bad, err := results.Recheck(slow)
	if err != nil || !slices.ContainsFunc(bad,
		func(line string) bool { return strings.Contains(line, "metrics: time_to_first_token p50 of run ") }) {
		t.Errorf("%q, %v", bad, err)
	}

	// What a later version of the program kept is read by neither of those who look into it.
	if _, err := sinks.WriteArchive(slow, []byte(`{"schema": "aiperf.kept/9"}`), nil); err != nil {
		t.Fatal(err)
	}
	_, _, checked := results.Recheck(slow)
	_, _, exported := runner.Export(t.Context(), slow, t.TempDir())
	for _, err := range []error{checked, exported} {
		if err == nil || !strings.Contains(err.Error(), `written in "aiperf.kept/9"`) {
			t.Errorf("%v, want a refusal of what a later version wrote", err)
		}
	}
}
