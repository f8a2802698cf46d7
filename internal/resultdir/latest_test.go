package resultdir_test

import (
	"os"
	"path/filepath"
	"testing"

	"aiperf.dev/aiperf/internal/resultdir"
)

// The link leads to the directory that was opened last; what is no link stays.
func TestLeadTo(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	link := filepath.Join(home, "latest")
	for _, name := range []string{"a-1", "b-2", filepath.Join("c-3", "search")} {
		dir := filepath.Join(home, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		resultdir.LeadTo(dir, link)
		if at, err := os.Readlink(link); err != nil || at != name {
			t.Fatalf("leads to %q, %v; want %q", at, err, name)
		}
	}
	if names, err := filepath.Glob(filepath.Join(home, "*")); err != nil || len(names) != 4 {
		t.Errorf("beside it lie %q, %v; want three directories and the link", names, err)
	}
	own := filepath.Join(home, "own")
	if err := os.WriteFile(own, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	resultdir.LeadTo(filepath.Join(home, "a-1"), own)
	if b, err := os.ReadFile(own); err != nil || string(b) != "mine" {
		t.Errorf("%q, %v; a file of that name stays", b, err)
	}
}
