package main

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
)

// What a server says reaches the screen and the files that people read without its
// escape sequences, in the finding, the list of errors and the last line alike.
func TestForeignTextIsHarmless(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte(`{"error":{"message":"\u001b[31mover\u001b[0mloaded\u0007 \u202eagain","type":"x"}}`))
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	p := aiperf(t, dir, "profile", "-m", "demo", "-u", server.URL, "--request-count", "3", "--tokenizer", "builtin", "--artifact-dir", "out")
	p.wants(diag.Failed)
	for where, text := range map[string]string{"stdout": p.out.String(), "stderr": p.err.String()} {
		if !strings.Contains(text, "overloaded again") || strings.ContainsAny(text, "\x1b\a\u202e") {
			t.Errorf("%s: %q, want the server's words and no escapes", where, text)
		}
	}
	people := []string{".md", ".html", ".log", ".txt"}
	err := filepath.WalkDir(filepath.Join(dir, "out"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !slices.Contains(people, filepath.Ext(path)) {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.ContainsAny(string(b), "\x1b\a\u202e") {
			t.Errorf("%s holds escapes of the server", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
