package mockserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
)

// The test binary is its own mock-server command, and a parent to be killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "mock-server" {
		if err := Serve(context.Background(), os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, diag.Line(err))
			os.Exit(int(diag.Of(err).Exit()))
		}
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == "parent" {
		c, err := Spawn(context.Background(), os.Args[0], "mock:?ttft=1ms", "")
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(c.PID, c.URL)
		select {}
	}
	os.Exit(m.Run())
}

// bench is a running server with its log.
type bench struct {
	t   testing.TB
	s   *Server
	url string
	log *buffer
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// start runs a server scripted by a mock: query.
func start(t testing.TB, query string) *bench {
	t.Helper()
	cfg, err := ParseURL("mock:?" + query)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, log: &buffer{}}
	cfg.Log = b.log
	b.s = New(cfg)
	if b.url, err = b.s.Start(0); err != nil {
		t.Fatal(err)
	}
	return b
}

// stop closes the server and returns its log, by ordinal.
func (b *bench) stop() []Entry {
	b.t.Helper()
	if err := b.s.Close(); err != nil {
		b.t.Fatal(err)
	}
	entries := make([]Entry, b.s.levels.count())
	seen := 0
	for d := json.NewDecoder(&b.log.b); d.More(); seen++ {
		var e Entry
		if err := d.Decode(&e); err != nil {
			b.t.Fatal(err)
		}
		entries[e.N] = e
	}
	if seen != len(entries) {
		b.t.Fatalf("the log has %d lines for %d requests", seen, len(entries))
	}
	return entries
}

// answer is what a client got.
type answer struct {
	status int
	header http.Header
	body   string
	err    error
}

func (b *bench) post(path, body string) answer {
	b.t.Helper()
	resp, err := http.Post(b.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(raw), err}
}

func (b *bench) get(path string) answer {
	b.t.Helper()
	resp, err := http.Get(b.url + path)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(raw), err}
}

// object decodes a JSON answer.
func (a answer) object(t testing.TB) (v map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("%s: %v", a.body, err)
	}
	return v
}

// data are the payloads of an event stream.
func (a answer) data() (out []string) {
	for _, event := range strings.Split(strings.TrimSuffix(a.body, "\n\n"), "\n\n") {
		for _, line := range strings.Split(event, "\n") {
			if d, ok := strings.CutPrefix(line, "data: "); ok {
				out = append(out, d)
			}
		}
	}
	return out
}

// dig follows keys (string) and places (int) into decoded JSON.
func dig(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

// streamed joins the text of one field of the deltas of a stream.
func (a answer) streamed(t testing.TB, path ...any) string {
	t.Helper()
	var s strings.Builder
	for _, d := range a.data() {
		if d == "[DONE]" {
			continue
		}
		var v any
		if err := json.Unmarshal([]byte(d), &v); err != nil {
			t.Fatalf("%s: %v", d, err)
		}
		if text, ok := dig(v, path...).(string); ok {
			s.WriteString(text)
		}
	}
	return s.String()
}
