package mockserver

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// At most batch sequences share a step: of 6 requests for 4 tokens on a batch
// of 2, only two may have had a token after 4 steps, and so on.
func TestBatchLimits(t *testing.T) {
	t.Parallel()
	const requests, tokens, batch, step = 6, 4, 2, time.Millisecond
	b := start(t, "step=1ms&batch=2&prefill=0s")
	var wg sync.WaitGroup
	for range requests {
		wg.Go(func() {
			b.post("/v1/chat/completions", fmt.Sprintf(`{"messages":[{"content":"a"}],"max_tokens":%d,"stream":true}`,
				tokens))
		})
	}
	wg.Wait()
	log := b.stop()
	began := log[0].Recv
	for _, e := range log {
		began = min(began, e.Recv)
	}
	var all []int64
	for _, e := range log {
		for i, c := range content(e) {
			all = append(all, c)
			if i > 0 && c-content(e)[i-1] <= 0 {
				t.Errorf("request %d: two tokens at once", e.N)
			}
		}
	}
	if len(all) != requests*tokens {
		t.Fatalf("%d tokens, want %d", len(all), requests*tokens)
	}
	for _, at := range all {
		given := 0 // tokens given out up to and including this moment
		for _, other := range all {
			if other <= at {
				given++
			}
		}
		if steps := int((at - began) / int64(step)); given > batch*steps {
			t.Errorf("%d tokens after %d steps of %d", given, steps, batch)
		}
	}
}

func content(e Entry) (at []int64) {
	for _, c := range e.Chunks {
		if c.Kind == "content" {
			at = append(at, c.At)
		}
	}
	return at
}

// A step takes step + seq × running + prefill × input tokens: with 1 ms, 2 ms
// and 3 ms, one request of 4 input tokens cannot have its first token before
// 1 + 2 + 12 ms, nor the next less than 3 ms later.
func TestStepTakesItsTime(t *testing.T) {
	t.Parallel()
	b := start(t, "step=1ms&seq=2ms&prefill=3ms")
	b.post("/v1/chat/completions", `{"messages":[{"content":"one two three four"}],"max_tokens":3,"stream":true}`)
	e := b.stop()[0]
	at := content(e)
	if e.InTokens != 4 || at[0]-e.Recv < int64(15*time.Millisecond) {
		t.Errorf("%d input tokens, first token after %v, want 4 and at least 15 ms", e.InTokens,
			time.Duration(at[0]-e.Recv))
	}
	if at[2]-e.Recv < int64(21*time.Millisecond) {
		t.Errorf("third token after %v, want at least 21 ms", time.Duration(at[2]-e.Recv))
	}
}
