package mockserver

import (
	"fmt"
	"reflect"
	"testing"
	"time"
)

// Two sequences of 3 tokens for room of 3 blocks of 2 tokens each: worked out
// by hand, in virtual time. The first joins at 0, the second a step later. For
// the next step each needs 2 blocks: the younger goes, and comes back when the
// older has ended, its prompt and first token read again.
func TestPreemption(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "step=10ms&prefill=1ms&batch=8&kv_blocks=3&block=2&seed=1")
	for range 2 {
		w.ask("/v1/completions", `{"prompt":[7],"max_tokens":3,"stream":true}`)
	}
	w.run()
	log := w.stop()
	for i, want := range [][]time.Duration{{11, 22, 32}, {22, 44, 54}} {
		var got []time.Duration
		for _, at := range content(log[i]) {
			got = append(got, time.Duration(at-log[i].Recv)/time.Millisecond)
		}
		if !reflect.DeepEqual(got, want) || log[i].Preempted != i {
			t.Errorf("request %d: tokens after %d ms, want %d; preempted %d times", i, got, want, log[i].Preempted)
		}
	}
}

// More work than memory: everybody gets everything in the end, the same way
// every time, and later than with memory for all; a request larger than the
// memory is refused.
func TestPreemptedAnswersAreWhole(t *testing.T) {
	t.Parallel()
	play := func(query string) (log []Entry, preempted int, end int64) {
		w := newWorld(t, "step=2ms&seq=0.1ms&prefill=0.1ms&jitter=0.2&seed=5&batch=16&"+query)
		for i := range 12 {
			w.ask("/v1/completions", fmt.Sprintf(`{"prompt":[1,2,3,4,%d],"max_tokens":%d,"stream":true}`, i, 10+i))
		}
		w.ask("/v1/completions", `{"prompt":[1],"max_tokens":200}`)
		w.run()
		for _, e := range w.stop() {
			e.Conn, e.WallOffset = 0, 0
			log, preempted = append(log, e), preempted+e.Preempted
			if e.N < 12 {
				end = max(end, e.End)
			}
		}
		return log, preempted, end
	}
	tight, n, end := play("kv_blocks=20&block=4")
	again, _, _ := play("kv_blocks=20&block=4")
	_, none, soon := play("kv_blocks=1000&block=4")
	if n == 0 || none != 0 || end <= soon || !reflect.DeepEqual(tight, again) {
		t.Errorf("%d preemptions until %d, %d until %d with room; twice the same %t", n,
			end, none, soon, reflect.DeepEqual(tight, again))
	}
	for i, e := range tight[:12] {
		if e.OutTokens != 10+i || e.Status != 200 {
			t.Errorf("request %d: status %d, %d tokens", i, e.Status, e.OutTokens)
		}
	}
	if tight[12].Status != 400 || tight[0].Preempted != 0 {
		t.Errorf("the large request got %d, the oldest was preempted %d times", tight[12].Status, tight[0].Preempted)
	}
}
