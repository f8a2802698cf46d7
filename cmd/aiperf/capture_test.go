package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
)

// answering is a server that answers every chat.
func answering(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"choices":[{"message":{"role":"assistant","content":"Good day"},"finish_reason":"stop"}]}`))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// capturing starts a capture and returns where it listens.
func capturing(t *testing.T, dir string, args ...string) (p *process, url string) {
	t.Helper()
	p = aiperf(t, dir, append([]string{"capture", "--listen", "0"}, args...)...)
	if !p.until("its address", func() bool { return strings.HasSuffix(p.out.String(), "\n") }) {
		t.Fatalf("ended: %s", &p.err)
	}
	line, _, _ := strings.Cut(p.out.String(), ",")
	url, ok := strings.CutPrefix(line, "listening ")
	if !ok || !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Fatalf("first line %q, want listening http://127.0.0.1:PORT", &p.out)
	}
	return p, url
}

const askHello = `{"model":"tiny","messages":[{"role":"user","content":"Hello there"}]}`

// TestCaptureIsKilled: a capture that is killed leaves a trace of all that was over.
func TestCaptureIsKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, url := capturing(t, dir, "--to", answering(t), "-o", "t.jsonl")
	file := filepath.Join(dir, "t.jsonl")
	for i := range 5 {
		ask(t, url+"/v1/chat/completions", askHello)
		p.until("the line", func() bool { return lines(file) == i+1 })
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	q := aiperf(t, dir, "analyze-trace", "t.jsonl")
	q.wants(diag.OK)
	if !strings.Contains(q.out.String(), "blocks of 16 tokens\n5 requests in 5 sessions") {
		t.Errorf("the trace of a killed capture: %s", &q.out)
	}
}

// TestCaptureEnds: Ctrl-C ends a capture with a summary and the command that replays it; one
// that recorded nothing leaves no file.
func TestCaptureEnds(t *testing.T) {
	t.Parallel()
	dir, to := t.TempDir(), answering(t)
	p, url := capturing(t, dir, "--to", to, "-o", "t.jsonl", "--tokenizer", "cl100k_base")
	ask(t, url+"/v1/chat/completions", askHello)
	ask(t, url+"/v1/models", "")
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.wants(diag.OK)
	for _, want := range []string{
		"t.jsonl: 1 request in 1 conversation over 0 s\n", "mean input 2 tokens · mean output 2 tokens · 0 streamed\n",
		"1 request of other pages passed\n",
		"replay it: aiperf profile -m tiny -u " + to + " --endpoint-type chat --tokenizer cl100k_base --input-file t.jsonl --fixed-schedule\n",
	} {
		if !strings.Contains(p.out.String(), want) {
			t.Errorf("summary %s, want %q in it", &p.out, want)
		}
	}
	p, _ = capturing(t, dir, "--to", to, "-o", "empty.jsonl")
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.wants(diag.Failed)
	if _, err := os.Stat(filepath.Join(dir, "empty.jsonl")); err == nil ||
		!strings.Contains(p.err.String(), "no request of an inference API came; no trace is written\n  hint: do clients use http://127.0.0.1:") {
		t.Errorf("%v, %s", err, &p.err)
	}
}
