package schema_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/schema"
)

// Issue 20: a panic while an experiment is evaluated is one mistake, with the file
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
	if want := file + ": cannot be evaluated: index out of range [6] with length 2"; bad.Error() != want || bad.Hint == "" || bad.Exit() != diag.Usage {
		t.Errorf("Load: %v, hint %q, want %s", bad, bad.Hint, want)
	}
}
