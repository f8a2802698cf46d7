//go:build unix

package atomicfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"aiperf.dev/aiperf/internal/atomicfile"
)

// What somebody names is written to: a link stays and its file changes, also one that
// is not there yet, and a device stays a device.
func TestThrough(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"there", "new"} {
		link, file := filepath.Join(dir, name+".link"), filepath.Join(dir, name)
		if name == "there" {
			if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(name, link); err != nil {
			t.Fatal(err)
		}
		if err := atomicfile.Through(link, []byte("text")); err != nil {
			t.Fatal(err)
		}
		if to, err := os.Readlink(link); err != nil || to != name {
			t.Errorf("the link is %q, %v", to, err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != "text" {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("no pipes here")
	}
	got := make(chan string)
	go func() {
		b, _ := os.ReadFile(pipe)
		got <- string(b)
	}()
	if err := atomicfile.Through(pipe, []byte("text")); err != nil {
		t.Fatal(err)
	}
	if text := <-got; text != "text" {
		t.Errorf("the pipe gave %q", text)
	}
	if st, err := os.Lstat(pipe); err != nil || st.Mode().Type() != fs.ModeNamedPipe {
		t.Errorf("the pipe became %v, %v", st.Mode(), err)
	}
}
