package schema_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/schema"
)

// A panic while an experiment is evaluated is one mistake, with the file
// and a hint.
func TestPanicIsOneMistake(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "e.yaml")
	if err := os.WriteFile(file, []byte("benchmark: {model: '${MODEL}'}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(string) (string, bool) { panic("index out of range [6] with length 2") }
	doc, err := schema.Load(schema.Source{File: file, Env: env})
	var bad *diag.Error
	if !errors.As(err, &bad) || doc != nil {
		t.Fatalf("Load: %v, %v, want no document and a mistake", doc, err)
	}
	if want := file + ": cannot be evaluated: index out of range [6] with length 2"; bad.Error() != want ||
		bad.Hint == "" || bad.Exit() != diag.Usage {
		t.Errorf("Load: %v, hint %q, want %s", bad, bad.Hint, want)
	}
}

// A panic may quote any value that was being read; it is told in one line,
// without what looks like a credential and without the words of the environment.
func TestPanicIsMasked(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "e.yaml")
	if err := os.WriteFile(file, []byte("benchmark: {model: '${MODEL}', endpoint: {urls: ['mock:'], api_key: '${KEY}'}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(name string) (string, bool) {
		return map[string]string{"MODEL": "demo", "KEY": "correct-horse-7"}[name], true
	}
	look := func(string) (schema.Records, error) {
		panic("no value correct-horse-7\n\tin Bearer abcdefghijklmnopqrstuvwxyz12 " + strings.Repeat("é", 300))
	}
	src := schema.Source{
		File: file, Env: env, Command: "profile", Look: look,
		Assignments: []schema.Assignment{schema.Assign("benchmark.datasets.main.path", "x.jsonl",
			schema.Origin{Source: schema.ByFlag, Where: "--input-file"})},
	}
	_, err := schema.Load(src)
	if err == nil || !strings.Contains(err.Error(), "cannot be evaluated: no value ") {
		t.Fatalf("Load: %v, want the panic", err)
	}
	for _, never := range []string{"correct-horse", "abcdefghijkl", "\n", "\t", "\ufffd"} {
		if strings.Contains(err.Error(), never) {
			t.Errorf("Load: %q holds %q", err, never)
		}
	}
}
