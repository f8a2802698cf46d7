package mockserver

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// The cache holds whole blocks of what came before, for one model, and says so
// in the usage, the log and the books; a prompt that it holds still has its
// last token read.
func TestPrefixCache(t *testing.T) {
	t.Parallel()
	b := start(t, "ttft=0s&itl=0s&osl=1&cache=100&block=4")
	eight := "one two three four five six seven eight"
	steps := []struct {
		path, body string
		cached     int
	}{
		{"/v1/completions", fmt.Sprintf(`{"model":"a","prompt":%q}`, eight), 0},
		{"/v1/completions", fmt.Sprintf(`{"model":"a","prompt":%q}`, eight), 4}, // the second block holds the last token
		{"/v1/completions", fmt.Sprintf(`{"model":"a","prompt":%q}`, eight+" nine"), 8},
		{"/v1/completions", fmt.Sprintf(`{"model":"b","prompt":%q}`, eight+" nine"), 0},
		{"/v1/completions", fmt.Sprintf(`{"model":"a","prompt":%q}`, "zero "+eight), 0},
		{"/v1/chat/completions", fmt.Sprintf(`{"model":"a","messages":[{"role":"system","content":%q},{"role":"user","content":"more"}]}`, eight), 8},
		{"/v1/chat/completions", fmt.Sprintf(`{"model":"a","messages":[{"role":"user","content":[{"type":"text","text":%q},{"type":"image_url","image_url":{"url":"data:,x"}}]}]}`, eight+" nine"), 0},
		{"/v1/completions", `{"model":"a","prompt":[1,2,3,4,5]}`, 0},
		{"/v1/completions", `{"model":"a","prompt":[1,2,3,4,6]}`, 4},
	}
	total := 0
	for i, s := range steps {
		got := dig(b.post(s.path, s.body).object(t), "usage", "prompt_tokens_details", "cached_tokens")
		if got != float64(s.cached) {
			t.Errorf("request %d: usage says %v cached tokens, want %d", i, got, s.cached)
		}
		total += s.cached
	}
	if a := b.get("/metrics"); !strings.Contains(a.body,
		fmt.Sprintf("\nvllm:prefix_cache_hits_total{engine=\"0\",model_name=\"mock-model\"} %d.0\n", total)) ||
		b.s.Stats().CachedTokens != int64(total) {
		t.Errorf("the books: %s", a.body)
	}
	for i, e := range b.stop() {
		if e.Cached != steps[i].cached {
			t.Errorf("request %d: the log says %d cached tokens, want %d", i, e.Cached, steps[i].cached)
		}
	}
}

// What is cached takes no time: in virtual time to the nanosecond, with both
// kinds of timing.
func TestCachedTokensTakeNoTime(t *testing.T) {
	t.Parallel()
	const block = 16
	words := strings.Repeat(" the", 33) // two blocks and a token
	for query, base := range map[string]time.Duration{
		"ttft=5ms&itl=1ms&prefill=1ms&cache=10": 5 * time.Millisecond, "step=2ms&prefill=1ms&cache=10": 2 * time.Millisecond,
	} {
		w := newWorld(t, query+"&osl=2")
		for range 2 {
			w.ask("/v1/completions", fmt.Sprintf(`{"prompt":%q,"stream":true}`, words))
			w.run()
		}
		log := w.stop()
		for i, read := range []time.Duration{33, 33 - 2*block} {
			if got, want := time.Duration(log[i].First-log[i].Recv), base+read*time.Millisecond; got != want {
				t.Errorf("%s: first token of request %d after %v, want %v", query, i, got, want)
			}
		}
	}
}

// A cache that is too small for two prompts holds neither when they alternate.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	for room, want := range map[int]int{4: 4, 2: 0} {
		b := start(t, fmt.Sprintf("ttft=0s&itl=0s&osl=1&block=4&cache=%d", room))
		for i := range 6 {
			b.post("/v1/completions", fmt.Sprintf(`{"prompt":[%d,1,2,3,4,5,6,7]}`, i%2))
		}
		if e := b.stop()[5]; e.Cached != want {
			t.Errorf("room for %d blocks: %d tokens of the last prompt were cached, want %d", room, e.Cached, want)
		}
	}
}
