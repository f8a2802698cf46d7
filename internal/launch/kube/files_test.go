package kube

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// What Send writes Receive unpacks, and nothing outside of the folder.
func TestSendAndReceive(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "a", "b")
	for name, text := range map[string]string{"x.csv": "1,2\n", "runs/1/y.json": "{}", "runs/empty": ""} {
		at := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(from, "link")); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Send(&b, from); err != nil {
		t.Fatal(err)
	}
	if n, err := Receive(bytes.NewReader(b.Bytes()), to); n != 3 || err != nil {
		t.Fatalf("%d files, %v", n, err)
	}
	for name, want := range map[string]string{"x.csv": "1,2\n", "runs/1/y.json": "{}", "runs/empty": ""} {
		if got, err := os.ReadFile(filepath.Join(to, name)); string(got) != want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := Receive(bytes.NewReader(b.Bytes()), to); err == nil {
		t.Error("it writes into a folder that is not empty")
	}
	if _, err := Receive(bytes.NewReader(b.Bytes()[:600]), t.TempDir()); err == nil {
		t.Error("half an archive is taken for whole")
	}
	for _, name := range []string{"../out", "/out", "a/../../out"} {
		var evil bytes.Buffer
		w := tar.NewWriter(&evil)
		if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: 1, Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		below := filepath.Join(t.TempDir(), "in")
		if _, err := Receive(&evil, below); err == nil {
			t.Errorf("%s is unpacked", name)
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(below), "out")); err == nil {
			t.Errorf("%s is written", name)
		}
	}
}
