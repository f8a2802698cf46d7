package main

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
)

// badLine is an experiment for workers whose way to the coordinator is bad: it takes the address of
// a server and how many requests.
const badLine = `schemaVersion: "2.0"
random_seed: 11
allow_invalid: true
benchmark:
  model: demo
  endpoint: {url: %q, type: chat}
  datasets: [{name: default, type: synthetic, entries: 16, prompts: {isl: {mean: 32}, osl: {mean: 4}}}]
  tokenizer: {name: builtin}
  phases: [{name: profiling, type: poisson, rate: 100, requests: %d}]
`

// requested is a server that knows each request that it was asked, in order.
type requested struct {
	mu  sync.Mutex
	ids []string
}

func (a *requested) answer(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err == nil && r.Method == http.MethodPost {
		a.mu.Lock()
		a.ids = append(a.ids, r.Header.Get("X-Request-Id"))
		a.mu.Unlock()
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`)
}

func (a *requested) all() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.ids...)
}

// once wants each request to have been sent once.
func once(t *testing.T, ids []string, want int) {
	t.Helper()
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[id] {
			t.Errorf("%s was sent twice", id)
		}
		seen[id] = true
	}
	if len(seen) != want {
		t.Errorf("%d requests were sent, want %d", len(seen), want)
	}
}
