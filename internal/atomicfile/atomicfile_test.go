package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"aiperf.dev/aiperf/internal/atomicfile"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestWriteReplaces(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.json")
	for _, text := range []string{"one", "two"} {
		if err := atomicfile.Write(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != text {
			t.Fatalf("read %q, %v; want %q", got, err, text)
		}
	}
	if got := names(t, filepath.Dir(path)); len(got) != 1 {
		t.Errorf("directory holds %q, want only a.json", got)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o644 {
		t.Errorf("mode %v, %v; want 0644", st.Mode(), err)
	}
}

func TestUncommittedLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	if err := atomicfile.Write(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	f, err := atomicfile.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("new")); err != nil {
		t.Fatal(err)
	}
	f.Abort()
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("after Abort the file holds %q, want the old text", got)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("directory holds %q after Abort", got)
	}
	if err := f.Commit(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Commit after Abort: %v, want ErrClosed", err)
	}
}

func TestErrorsNameThePath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(taken, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		want error
	}{
		{filepath.Join(dir, "no", "such", "a.json"), fs.ErrNotExist},
		{taken, nil}, // a directory that is not empty stands there
	} {
		err := atomicfile.Write(c.path, []byte("x"))
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("Write(%s) = %v, want %v", c.path, err, c.want)
			continue
		}
		if m := err.Error(); !strings.HasPrefix(m, "write "+c.path+": ") || strings.Contains(m, ".tmp") ||
			strings.Contains(m, "\n") {
			t.Errorf("Write(%s): message %q", c.path, m)
		}
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("directory holds %q after failures", got)
	}
}

// A write that the system refuses is told with the path, again by Commit, and
// leaves nothing behind. The device only ever receives bytes.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full on this system")
	}
	dir := t.TempDir()
	f, err := atomicfile.Create(filepath.Join(dir, "big.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	f.Redirect(full)
	_, err = f.Write([]byte("x"))
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "big.parquet: no space left") {
		t.Fatalf("Write = %v, want no space left, named by path", err)
	}
	if err := f.Commit(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Commit = %v, want the first error again", err)
	}
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("directory holds %q", got)
	}
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Errorf("the device is gone: %v", err)
	}
}
