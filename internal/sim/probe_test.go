package sim

import (
	"bytes"
	"net/http"
	"slices"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/internal/stats"
)

// answer is what a user saw of one request, in ms.
type answer struct {
	failed                    bool
	tokens                    int
	first, gap, latency, sent float64
}

// bench is a server that users ask directly, without the program between them: what a run
// shows of it costs a hundredth of a run of the program.
type bench struct {
	server
	virtual *mockserver.Virtual
	now     int64 // ns
}

// open starts the server.
func (s server) open(t *testing.T) *bench {
	t.Helper()
	cfg, err := mockserver.ParseURL("mock:?" + s.words)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{server: s}
	if b.virtual, err = mockserver.NewVirtual(cfg, func() int64 { return b.now }); err != nil {
		t.Fatal(err)
	}
	return b
}

// run has so many users ask, each again as soon as it has its answer, until so many requests
// were sent after the first warm ones; those are given back in the order of their sending,
// with the requests that were answered per second.
func (b *bench) run(t *testing.T, users, warm, requests, index int) (out []answer, rate float64) {
	t.Helper()
	b.virtual.Slow(1)
	if b.pace != nil {
		b.virtual.Slow(b.pace(float64(users), index))
	}
	out = make([]answer, warm+requests)
	sent, ended, idle := 0, 0, users
	header := http.Header{"Content-Type": {"application/json"}}
	body := []byte(`{"prompt":[7,7,7,7],"max_tokens":4,"stream":true}`)
	for ended < len(out) {
		for ; idle > 0 && sent < len(out); idle-- {
			a := &out[sent]
			a.sent = float64(b.now) / 1e6
			sent++
			b.virtual.Ask("/v1/completions", header, body, func(data []byte) {
				if a.read(data, float64(b.now)/1e6) {
					ended++
					idle++
				}
			}, func() {})
		}
		at, ok := b.virtual.Next()
		if ended < len(out) && !ok {
			t.Fatalf("%d of %d requests were answered", ended, len(out))
		}
		if ok {
			b.now = max(b.now, at)
			b.virtual.Work()
		}
	}
	out = out[warm:]
	good := 0.0
	for _, a := range out {
		if !a.failed {
			good++
		}
	}
	return out, good / (float64(b.now)/1e9 - out[0].sent/1e3)
}

var text = []byte(`"text":"`)

// read takes what the server wrote at a time in ms, and reports whether it was the last.
func (a *answer) read(data []byte, now float64) bool {
	if bytes.HasPrefix(data, []byte("HTTP/1.1 ")) && !bytes.HasPrefix(data, []byte("HTTP/1.1 200")) {
		a.failed = true
		return true
	}
	n := 0
	for rest := data; ; n++ {
		_, after, found := bytes.Cut(rest, text)
		if !found {
			break
		}
		if rest = after; len(rest) > 0 && rest[0] == '"' { // the last event has none
			n--
		}
	}
	if n > 0 {
		if a.tokens == 0 {
			a.first = now - a.sent
		}
		a.tokens += n
		a.latency = now - a.sent
		if a.tokens > 1 {
			a.gap = (a.latency - a.first) / float64(a.tokens-1)
		}
	}
	return bytes.Contains(data, []byte("[DONE]"))
}

// figure is the answer's value of a metric.
func (a answer) figure(metric string) float64 {
	switch metric {
	case metrics.TimeToFirstToken:
		return a.first
	case metrics.InterTokenLatency:
		return a.gap
	}
	return a.latency
}

// share is how many of the answers are good.
func share(of []answer, metric string, limit float64) stats.Tally {
	good := make([]bool, len(of))
	y := stats.Tally{Of: float64(len(of))}
	for i, a := range of {
		if good[i] = !a.failed && a.figure(metric) < limit; good[i] {
			y.Hits++
		}
	}
	y.Effect = stats.DesignEffect(good)
	return y
}

// p95 is that of the answers that did not fail, as AIPerf takes it; NaN without any.
func p95(of []answer, metric string) float64 {
	var xs []float64
	for _, a := range of {
		if !a.failed {
			xs = append(xs, a.figure(metric))
		}
	}
	slices.Sort(xs)
	return stats.Quantile(xs, 0.95)
}
