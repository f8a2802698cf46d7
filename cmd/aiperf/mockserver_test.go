package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
)

// TestMockServerAlone: the built-in server serves anybody, says where, logs
// what it did and ends when told to.
func TestMockServerAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := aiperf(t, dir, "mock-server", "--port", "0", "--log", "truth.jsonl", "ttft=1ms", "itl=1ms", "model=tiny")
	if !p.until("its address", func() bool { return strings.HasSuffix(p.out.String(), "\n") }) {
		t.Fatalf("ended: %s", &p.err)
	}
	url, ok := strings.CutPrefix(strings.TrimSpace(p.out.String()), "listening ")
	if !ok {
		t.Fatalf("first line %q, want listening URL", &p.out)
	}
	answer := ask(t, url+"/v1/chat/completions",
		`{"model": "tiny", "max_tokens": 3, "messages": [{"role": "user", "content": "hello"}]}`)
	var got struct {
		Usage struct {
			Completion int `json:"completion_tokens"`
		}
	}
	if err := json.Unmarshal(answer, &got); err != nil || got.Usage.Completion != 3 {
		t.Errorf("answer %s: %v, want usage of 3 completion tokens", answer, err)
	}
	if models := ask(t, url+"/v1/models", ""); !strings.Contains(string(models), `"tiny"`) {
		t.Errorf("models %s, want tiny", models)
	}
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.wants(diag.OK)
	if n := lines(filepath.Join(dir, "truth.jsonl")); n != 1 {
		t.Errorf("the log has %d lines, want the one request", n)
	}
}

// ask posts body, or gets when there is none.
func ask(t *testing.T, url, body string) []byte {
	t.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v: %s", url, resp.Status, err, b)
	}
	return b
}
