package runner

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"aiperf.dev/aiperf/schema"
)

// called is a benchmark against a server that answers as told, and how often each path
// was called.
func called(
	t *testing.T, answer func(path string, n int64) int,
) (b *schema.Benchmark, targets []string, times func(path string) int64) {
	t.Helper()
	counts := map[string]*atomic.Int64{"/reset_prefix_cache": {}, "/flush_cache": {}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int64(0)
		if c := counts[r.URL.Path]; c != nil {
			n = c.Add(1)
		}
		status := answer(r.URL.Path, n)
		w.WriteHeader(status)
		if status >= 400 {
			fmt.Fprint(w, `{"error":{"message":"said \u001b[31mno"}}`)
		}
	}))
	t.Cleanup(srv.Close)
	b = &schema.Benchmark{Models: schema.Models{Items: []schema.Model{{Name: "m"}}}}
	b.Endpoint.Type, b.Endpoint.URLs, b.Endpoint.WaitInterval = "chat", []string{srv.URL}, 1
	return b, b.Endpoint.URLs, func(path string) int64 { return counts[path].Load() }
}

// A cache is reset at the first path that the server knows, and a busy server is asked
// again for as long as it is allowed.
func TestResetCache(t *testing.T) {
	t.Parallel()
	vllm := func(path string, _ int64) int {
		if path == "/reset_prefix_cache" {
			return 200
		}
		return 404
	}
	busyOnce := func(path string, n int64) int {
		switch {
		case path != "/flush_cache":
			return 404
		case n == 1:
			return 400
		}
		return 200
	}
	broken := func(string, int64) int { return 500 }
	for _, c := range []struct {
		name         string
		answer       func(string, int64) int
		conf         schema.ResetKVCache
		reset, flush int64
		says         string
	}{
		{"vLLM", vllm, schema.ResetKVCache{}, 1, 0, ""},
		{"SGLang", busyOnce, schema.ResetKVCache{}, 1, 1, "POST /flush_cache: returned 400: said no"},
		{"SGLang, with patience", busyOnce, schema.ResetKVCache{Retry: 60}, 2, 2, ""},
		{"a path", busyOnce, schema.ResetKVCache{Path: "reset_prefix_cache", Retry: 60}, 1, 0, "returned 404"},
		{"broken", broken, schema.ResetKVCache{}, 1, 0, "POST /reset_prefix_cache: returned 500"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, targets, count := called(t, c.answer)
			err := resetCache(t.Context(), b, targets, &c.conf)
			if said := fmt.Sprint(err); c.says == "" && err != nil || !strings.Contains(said, c.says) ||
				strings.ContainsAny(said, "\n\x1b") {
				t.Errorf("%q, want %q", said, c.says)
			}
			if count("/reset_prefix_cache") != c.reset || count("/flush_cache") != c.flush {
				t.Errorf("%d and %d calls, want %d and %d", count("/reset_prefix_cache"), count("/flush_cache"), c.reset, c.flush)
			}
		})
	}
}

// A call that hangs ends when its time is over.
func TestCallThatHangs(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	b, targets, _ := called(t, func(string, int64) int {
		<-hold
		return 200
	})
	defer close(hold)
	err := callAll(t.Context(), *b, targets, request{path: "/x", method: "POST", seconds: 0.05, shown: "POST /x"})
	if err == nil || err.Error() != "POST /x: gave no answer in time" {
		t.Errorf("%v", err)
	}
}
