package mockserver

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// firstTokens are the times to the first token, in ms, of so many requests that come at once.
func (w *world) firstTokens(n int) (ms []int64) {
	const asked = `{"prompt":[7],"max_tokens":1,"stream":true}`
	for range n {
		i, came := len(ms), w.now
		ms = append(ms, 0)
		w.s.Ask("/v1/completions", http.Header{}, []byte(asked), func(b []byte) {
			if strings.Contains(string(b), `"text":"`) {
				ms[i] = (w.now - came) / int64(time.Millisecond)
			}
		}, nil)
	}
	w.run()
	return ms
}

// What a number of requests at a time does to a server: it refuses what is above a limit,
// it stays slow once it was overloaded, it is slow in a range of loads alone.
func TestCrowds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "ttft=10ms&concurrency_limit=2&metrics=off")
	var third *[]byte
	for range 3 {
		third = w.ask("/v1/completions", `{"prompt":[7],"max_tokens":1}`)
	}
	w.run()
	if got := string(*third); !strings.HasPrefix(got, "HTTP/1.1 429") || !strings.Contains(got, "Retry-After: 1") {
		t.Errorf("the third of two: %s", got)
	}
	if again := w.firstTokens(1); again[0] != 10 {
		t.Errorf("after it: %d ms", again)
	}
	w = newWorld(t, "ttft=10ms&overload=20@3")
	for i, c := range []struct{ at, want int64 }{{2, 10}, {3, 200}, {1, 200}} {
		got := w.firstTokens(int(c.at))
		if last := got[len(got)-1]; last != c.want {
			t.Errorf("overload, %d: %d at once: %d ms, want %d", i, c.at, last, c.want)
		}
	}
	w = newWorld(t, "step=10ms&prefill=0s&hump=20@3-4")
	for _, c := range []struct{ at, want int64 }{{1, 10}, {2, 20}, {4, 210}, {5, 210}, {7, 20}, {2, 20}} {
		got := w.firstTokens(int(c.at)) // the first has a step of its own
		if last := got[len(got)-1]; last != c.want {
			t.Errorf("hump: %d at once: %d ms, want %d", c.at, last, c.want)
		}
	}
}

// A server that crashes breaks off what it works on, and takes nothing any more.
func TestCrash(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "ttft=10ms&crash=3")
	gone := 0
	ask := func() {
		w.s.Ask("/v1/completions", http.Header{}, []byte(`{"prompt":[7],"max_tokens":4,"stream":true}`), func([]byte) {},
			func() { gone++ })
	}
	ask()
	ask()
	if gone != 0 || w.s.Crashed() {
		t.Fatalf("%d of 2 are gone", gone)
	}
	ask()
	if _, due := w.s.Next(); gone != 3 || !w.s.Crashed() || due {
		t.Errorf("%d of 3 are gone, crashed: %v, something is due: %v", gone, w.s.Crashed(), due)
	}
	ask()
	w.run()
	if gone != 4 {
		t.Errorf("after the crash: %d of 4 are gone", gone)
	}
}

// The same of a process: it ends, and its address takes no connection.
func TestCrashEndsTheServer(t *testing.T) {
	t.Parallel()
	b := start(t, "ttft=10ms&crash=1")
	if a := b.post("/v1/completions", `{"prompt":"a"}`); a.err == nil {
		t.Errorf("answered with %d", a.status)
	}
	<-b.s.crashed
	b.stop()
}
