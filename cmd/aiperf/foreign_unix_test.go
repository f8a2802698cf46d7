//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
)

// Whatever a measurement writes into its directory is refused before anything is
// sent when somebody else's file of that name lies there, and left as it was.
func TestNothingForeignIsWrittenOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "paced.yaml", paced)
	p := aiperf(t, dir, "run", "paced.yaml", "--artifact-dir", "out", "--allow-invalid")
	p.wants(diag.OK)
	made, err := os.ReadDir(filepath.Join(dir, "out"))
	if err != nil || len(made) < 20 {
		t.Fatalf("%d files, %v", len(made), err)
	}
	for _, e := range made {
		name := e.Name()
		switch name {
		case ".lock": // left by a run that was killed: it locks nothing
			continue
		case "logs": // a folder that may be shared
			name = "logs/aiperf.log"
		}
		there := filepath.Join(t.TempDir(), "there")
		path := filepath.Join(there, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if e.IsDir() && name == e.Name() {
			path = filepath.Join(path, "theirs")
			if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		write(t, filepath.Dir(path), filepath.Base(path), "theirs")
		code, _, said := in(t, "run", filepath.Join(dir, "paced.yaml"), "--artifact-dir", there)
		if text, err := os.ReadFile(path); code != diag.Usage || err != nil || string(text) != "theirs" {
			t.Errorf("%s: exit %d, it holds %q, %v\n%s", name, code, text, err, said)
		}
	}
}
