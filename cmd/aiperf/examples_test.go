package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/compat"
	"aiperf.dev/aiperf/internal/diag"
)

// short are the words that make any experiment take a moment: few requests,
// no long phases, one trial.
var short = []string{
	"--set", "multi_run.num_runs=1", "--set", "multi_run.cooldown_seconds=0",
}

// longestExample is how long somebody waits who tries one.
const longestExample = 2 * time.Minute

// TestExamples validates, plans and runs, shortened, every file that people
// are told to copy.
func TestExamples(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "examples", "experiments")
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range files {
		if ext := filepath.Ext(f.Name()); ext != ".cue" && ext != ".yaml" {
			continue
		}
		n++
		t.Run(f.Name(), func(t *testing.T) {
			t.Parallel()
			work := t.TempDir()
			file := filepath.Join(root, f.Name())
			aiperf(t, work, "validate", file).wants(0)
			whole := aiperf(t, work, "plan", file)
			whole.wants(0)
			if m := regexp.MustCompile(`at least ([0-9.]+ ?[a-z0-9]+)`).FindStringSubmatch(whole.out.String()); m != nil {
				if d, err := time.ParseDuration(strings.ReplaceAll(m[1], " ", "")); err != nil || d > longestExample {
					t.Errorf("it takes %s (%v), and an example is tried", m[1], err)
				}
			}
			p := aiperf(t, work, append([]string{"plan", file}, shortened(t, file)...)...)
			p.wants(0)
			if !strings.Contains(p.out.String(), " × 1 trial = ") &&
				!strings.Contains(p.out.String(), ": a search, at most 6 probes") {
				t.Errorf("the plan is not shortened:\n%s", &p.out)
			}
			args := append([]string{"run", file, "--artifact-dir", "out", "--allow-invalid"}, shortened(t, file)...)
			p = aiperf(t, work, args...)
			p.wants(diag.OK, diag.Missed, diag.Invalid) // one trial decides no comparison
			if err := checkTables(filepath.Join(work, "out")); err != nil {
				t.Error(err)
			}
			aiperf(t, work, "validate", "out").wants(0)
		})
	}
	if n < 6 {
		t.Errorf("%d examples, want six at least", n)
	}
}

// shortened picks the words that apply to a file.
func shortened(t *testing.T, file string) []string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	words := short
	switch {
	case strings.Contains(text, "search:"): // so many as its share takes, and no trials
		return []string{"--request-count", "144", "--set", "search.budget.probes=6"}
	case strings.Contains(text, "duration:"):
		words = append(words[:len(words):len(words)], "--set", "duration=0.3")
	case strings.Contains(text, "derive:"):
		words = append(words[:len(words):len(words)], "--set", `sweep.derive.requests="4"`)
	case strings.Contains(text, "requests:"):
		words = append(words[:len(words):len(words)], "--request-count", "4")
	}
	return words
}

// TestTemplates: what config init prints is valid as it stands.
func TestTemplates(t *testing.T) {
	t.Parallel()
	all, err := compat.Templates()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range all {
		names = append(names, x.File)
	}
	if len(names) < 5 {
		t.Fatalf("%d templates", len(names))
	}
	dir := t.TempDir()
	list := aiperf(t, dir, "config", "init", "--list")
	list.wants(0)
	for _, name := range names {
		if !strings.Contains(list.out.String(), name) {
			t.Errorf("config init --list does not name %s", name)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := aiperf(t, dir, "config", "init", name, "--no-server")
			p.wants(0)
			write(t, dir, name, p.out.String())
			aiperf(t, dir, "validate", name).wants(0)
			aiperf(t, dir, "plan", name).wants(0)
		})
	}
}

// TestTeam runs the package of examples whole: each of its experiments, from
// another folder; and writes the smoke experiment flat, which gives the same
// plan.
func TestTeam(t *testing.T) {
	t.Parallel()
	dir, err := filepath.Abs(filepath.Join("..", "..", "examples", "experiments", "team"))
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	list := aiperf(t, work, "list", dir)
	list.wants(0)
	names := strings.Fields(list.out.String())
	if len(names) < 2 {
		t.Fatalf("%s holds %v", dir, names)
	}
	for _, name := range names {
		args := append([]string{
			"run", dir, "-e", name, "--request-count", "4",
			"--artifact-dir", name, "--allow-invalid",
		}, short...)
		aiperf(t, work, args...).wants(diag.OK, diag.Missed, diag.Invalid)
		if err := checkTables(filepath.Join(work, name)); err != nil {
			t.Error(err)
		}
	}
	write(t, work, "flat.cue", `package flat

import "aiperf.dev/schema"

schema.#Experiment & {
	name: "smoke"
	benchmark: {
		model: "demo"
		endpoint: {url: "mock:?ttft=20ms&itl=2ms", type: "chat", streaming: true}
		dataset: {type: "synthetic", entries: 32, isl: 128, osl: 16}
		tokenizer: name: "builtin"
		profiling: {type: "concurrency", concurrency: 2, requests: 40}
	}
}
`)
	pack := aiperf(t, work, "plan", dir, "-e", "experiments.smoke", "-t", "requests=40", "--random-seed", "7", "-o",
		"json")
	pack.wants(0)
	flat := aiperf(t, work, "plan", "flat.cue", "--random-seed", "7", "-o", "json")
	flat.wants(0)
	if pack.out.String() != flat.out.String() {
		t.Errorf("the plan of the package is not that of the same experiment written flat:\n%s\n%s", &pack.out,
			&flat.out)
	}
}
