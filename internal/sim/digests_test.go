package sim

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/schema"
)

var digestsIn = flag.String("digests", "",
	"simulate every example and load mode in this folder, and write the digest of every result file to digests.txt in it")

// A simulated plan depends on its experiment and seed alone: two of them leave the
// same bytes in every file. With -digests DIR it is also how a change of the engine is
// shown to change nothing: DIR/digests.txt before and after are equal.
func TestSamePlanSameFiles(t *testing.T) {
	t.Parallel()
	dir, kept := *digestsIn, *digestsIn != ""
	if !kept {
		dir = t.TempDir()
	}
	files := experimentsIn(t, dir, kept)
	got := simulateAll(t, files)
	if kept {
		if err := os.WriteFile(filepath.Join(dir, "digests.txt"), []byte(strings.Join(got, "\n")+"\n"),
			0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, f := range files { // the same paths stand in the files
		if err := os.RemoveAll(filepath.Join(filepath.Dir(f), "results")); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(got, simulateAll(t, files)); diff != "" {
		t.Errorf("simulated again:\n%.2000s", diff)
	}
}

// simulateAll are the digests of everything that the experiments leave. Each of them
// has a clock that begins at the same moment and stands still unless all wait.
func simulateAll(t *testing.T, files []string) (digests []string) {
	t.Helper()
	for _, file := range files {
		synctest.Test(t, func(t *testing.T) {
			if _, err := runFile(file, filepath.Dir(file), &Worlds{}, seeded); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
		})
		digests = append(digests, digestsOf(t, filepath.Dir(file))...)
	}
	return digests
}

// seeded is a seed for experiments that have none.
var seeded = schema.Assign("random_seed", int64(7), schema.Origin{})

func digestsOf(t *testing.T, dir string) (lines []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "results"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(filepath.Dir(dir), path)
		lines = append(lines, fmt.Sprintf("%x %s", sha256.Sum256(b), name))
		return err
	})
	if err != nil || len(lines) == 0 {
		t.Fatalf("%s: %v, %d files", dir, err, len(lines))
	}
	return lines
}

// experimentsIn puts one experiment for each load mode into dir, of several runs, and
// with all also the examples.
func experimentsIn(t *testing.T, dir string, all bool) (files []string) {
	t.Helper()
	write := func(name, file string, text []byte) {
		to := filepath.Join(dir, name, file)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(file, ".jsonl") {
			files = append(files, to)
		}
	}
	of := loads(12)
	for _, m := range mode.Catalogue() {
		write(m.Name, "experiment.yaml", fmt.Appendf(nil, `
benchmark:
  model: demo
  endpoint: {url: "mock:?ttft=12ms&itl=1ms&cv=0.3&osl_cv=0.4", streaming: true}
  tokenizer: {name: builtin}
  datasets: [%s]
  phases:
    - {name: warmup, kind: warmup, type: concurrency, requests: 3, concurrency: 2}
    - {name: main, kind: profiling, %s}
sweep: {parameters: {endpoint.url: ["mock:?ttft=12ms&itl=1ms&cv=0.3", "mock:?ttft=15ms&itl=1ms&cv=0.3"]}}
multi_run: {num_runs: 3, cooldown_seconds: 0.25, convergence: {metric: request_latency, stat: p50, mode: cv, threshold: 0.9, min_runs: 2}}
`, of[m.Name][1], of[m.Name][0]))
	}
	if !all {
		return files
	}
	examples, err := filepath.Glob("../../examples/experiments/*.*")
	if err != nil || len(examples) < 10 {
		t.Fatalf("%v, %v", examples, err)
	}
	slices.Sort(examples)
	trace, err := os.ReadFile("../../examples/experiments/trace.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range examples {
		text, err := os.ReadFile(e)
		if err != nil {
			t.Fatal(err)
		}
		if name := filepath.Base(e); !strings.HasSuffix(name, ".jsonl") {
			write(name, "trace.jsonl", trace)
			write(name, name, text)
		}
	}
	return files
}
