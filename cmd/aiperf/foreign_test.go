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
	p := aiperf(t, dir, "profile", "-m", "demo", "-u", server.URL, "--request-count", "3", "--tokenizer", "builtin",
		"--artifact-dir", "out")
	p.wants(diag.Failed)
	for where, text := range map[string]string{"stdout": p.out.String(), "stderr": p.err.String()} {
		if !strings.Contains(text, "overloaded again") || strings.ContainsAny(text, "\x1b\a\u202e") {
			t.Errorf("%s: %q, want the server's words and no escapes", where, text)
		}
	}
	harmlessFiles(t, filepath.Join(dir, "out"))
}

// A reason to stop that obeys no list of reasons reaches the CSV tables, and the
// terminal that export prints them on, as plain text.
func TestForeignFinishReasonIsHarmless(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"choices":[{"message":{"role":"assistant","content":"hello"},"finish_reason":"st\u001b[31mop"}]}`))
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	aiperf(t, dir, "profile", "-m", "demo", "-u", server.URL, "--request-count", "3", "--tokenizer",
		"builtin", "--artifact-dir", "out").wants(diag.OK)
	harmlessFiles(t, filepath.Join(dir, "out"))
	p := aiperf(t, dir, "export", "out", "--table", "requests")
	p.wants(diag.OK)
	if text := p.out.String(); !strings.Contains(text, ",stop,") || strings.Contains(text, "\x1b") {
		t.Errorf("export: %q, want the reason stop and no escapes", text)
	}
}

// harmlessFiles fails for escapes in a file below dir that people read.
func harmlessFiles(t *testing.T, dir string) {
	t.Helper()
	people := []string{".csv", ".md", ".html", ".log", ".txt"}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
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
