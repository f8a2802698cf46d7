package golden_test

import (
	"os"
	"path/filepath"
	"testing"

	"aiperf.dev/aiperf/internal/golden"
)

// stopped is a test that fails without ending the one that runs it.
type stopped struct {
	testing.TB
	failed bool
}

func (s *stopped) Helper()               {}
func (s *stopped) Name() string          { return "TestPage" }
func (s *stopped) Fatalf(string, ...any) { s.failed = true; panic(s) }

func ends(t *testing.T, path, head string, lines ...string) (failed bool) {
	s := &stopped{TB: t}
	defer func() {
		if p := recover(); p != nil && p != any(s) {
			panic(p)
		}
		failed = s.failed
	}()
	golden.Ends(s, path, head, lines)
	return s.failed
}

// A page is compared behind its heading, and written there alone when that is asked for.
func TestEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte("# Page\n\n## Fields\n\n| a |\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("UPDATE_GOLDEN", "")
	if ends(t, path, "## Fields", "| a |") {
		t.Error("a page that is right fails")
	}
	if !ends(t, path, "## Fields", "| b |") || !ends(t, path, "## Columns", "| a |") {
		t.Error("other lines, or a heading that is missing, do not fail")
	}
	t.Setenv("UPDATE_GOLDEN", "1")
	if ends(t, path, "## Fields", "| b |", "| c |") {
		t.Error("it is not written")
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "# Page\n\n## Fields\n\n| b |\n| c |\n" {
		t.Errorf("%q, %v", b, err)
	}
}
