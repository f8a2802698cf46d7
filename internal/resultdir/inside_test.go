package resultdir

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Whoever names the folder around results is told which one lies there: the newest.
func TestInside(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a [b]*")
	if got := Inside(dir); got != "" {
		t.Errorf("nothing there: %q", got)
	}
	for i, name := range []string{"results/x-1", "results/x-2", "y", "results/deep/er"} {
		to := filepath.Join(dir, name, ManifestName)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		when := time.Unix(int64(1000+[]int{1, 3, 2, 4}[i]), 0)
		if err := os.Chtimes(to, when, when); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("x-1", filepath.Join(dir, "results", "latest")); err != nil {
		t.Fatal(err)
	}
	if got, want := Inside(dir), filepath.Join(dir, "results", "x-2"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
