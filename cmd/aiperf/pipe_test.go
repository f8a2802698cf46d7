package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
)

func TestReaderThatGoesAway(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	q := &quietPipe{w: w}
	if _, err := io.WriteString(q, "first"); err != nil {
		t.Fatal(err)
	}
	if b := make([]byte, 5); func() error { _, err := io.ReadFull(r, b); return err }() != nil || string(b) != "first" {
		t.Fatalf("read %q", b)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if n, err := io.WriteString(q, "second"); n != 6 || err != nil {
			t.Errorf("writing to nobody: %d, %v", n, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	if code := q.exit(diag.OK, &said); code != diag.OK || said.Len() > 0 {
		t.Errorf("exit code %d, %q, want success", code, &said)
	}
	q = &quietPipe{w: w}
	if _, err := io.WriteString(q, "x"); !errors.Is(err, os.ErrClosed) {
		t.Errorf("writing to a closed file: %v, want that it is said", err)
	}
	if code := q.exit(diag.OK, &said); code != diag.Failed || !strings.Contains(said.String(), "already closed") {
		t.Errorf("exit code %d, %q, want that the result is lost", code, &said)
	}
	if code := q.exit(diag.Missed, &said); code != diag.Missed {
		t.Errorf("exit code %d, want what went wrong before", code)
	}
}

// Nobody reads the report: the results are complete all the same.
func TestRunIntoHead(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no pipes that break on this system")
	}
	dir := t.TempDir()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("aiperf", "profile", "-m", "m", "-u", "mock:?ttft=1ms&itl=0ms",
		"--request-count", "4", "--artifact-dir", "out")
	var said bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, w, &said
	err = cmd.Run()
	if cerr := w.Close(); cerr != nil {
		t.Fatal(cerr)
	}
	if code := diag.Code(cmd.ProcessState.ExitCode()); code != diag.OK && code != diag.Invalid {
		t.Errorf("%v, want the exit code of the result; stderr %s", err, &said)
	}
	if strings.Contains(said.String(), "pipe") {
		t.Errorf("stderr %q, want nothing about the pipe", &said)
	}
	for _, name := range []string{"manifest.json", "summary.md", "requests.parquet", "profile_export_aiperf.json"} {
		if _, err := os.Stat(filepath.Join(dir, "out", name)); err != nil {
			t.Error(err)
		}
	}
}
