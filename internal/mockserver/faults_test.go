package mockserver

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	stream, whole := fmt.Sprintf(chatBody, true), fmt.Sprintf(chatBody, false)
	cases := []struct {
		query, body, fault string
		check              func(a answer) bool
	}{
		{"error_rate=1", stream, "error", func(a answer) bool { return a.status == 500 && strings.Contains(a.body, "scripted failure") }},
		{"error_rate=1&error_status=503", whole, "error", func(a answer) bool { return a.status == 503 && a.header.Get("Retry-After") == "1" }},
		{"error_rate=1&error_status=429", stream, "error", func(a answer) bool { return a.status == 429 && a.header.Get("Retry-After") == "1" }},
		{"html=1", stream, "html", func(a answer) bool {
			return a.status == 200 && strings.HasPrefix(a.header.Get("Content-Type"), "text/html") &&
				strings.Contains(a.body, "<html") || strings.Contains(a.body, "<title>")
		}},
		{"cut=1", stream, "cut", func(a answer) bool { return a.status == 200 && a.err != nil && len(a.data()) == 4 }},
		{"cut=1", whole, "cut", func(a answer) bool { return a.status == 200 && a.err != nil && a.body != "" }},
		{"empty=1", stream, "empty", func(a answer) bool { return a.status == 200 && a.err == nil && len(a.data()) == 2 }},
		{"stream_error=1", stream, "stream_error", func(a answer) bool {
			d := a.data()
			return a.err == nil && strings.Contains(d[len(d)-1], `"error"`)
		}},
	}
	for _, c := range cases {
		b := start(t, "ttft=0s&itl=0s&"+c.query)
		a := b.post("/v1/chat/completions", c.body)
		if e := b.stop()[0]; !c.check(a) || e.Fault != c.fault || e.Status != a.status {
			t.Errorf("%s: %d %v %q, %v; log %s %d", c.query, a.status, a.header, a.body, a.err, e.Fault, e.Status)
		}
	}
}

// An API whose requests do not say in the body that they want a stream, says it
// by what it accepts.
func TestStreamByAccept(t *testing.T) {
	t.Parallel()
	b := start(t, "ttft=0s&itl=0s&stream_error=1&osl=4")
	for accept, want := range map[string]bool{"text/event-stream": true, "application/json": false} {
		req, err := http.NewRequest(http.MethodPost, b.url+"/rag/api/prompt", strings.NewReader(`{"query":["a"]}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", accept)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if res.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if got := res.Header.Get("Content-Type") == "text/event-stream"; got != want ||
			got != strings.Contains(string(body), "scripted failure in the stream") {
			t.Errorf("Accept: %s gets %s: %s", accept, res.Header.Get("Content-Type"), body)
		}
	}
	b.stop()
}

// The seed and the order of arrival alone decide who fails, and how.
func TestFaultsAreReproducible(t *testing.T) {
	t.Parallel()
	fates := func(seed int) (out []string) {
		b := start(t, fmt.Sprintf("ttft=0s&osl=2&error_rate=.3&error_status=500,503&cut=.2&html=.2&seed=%d", seed))
		for range 60 {
			b.post("/v1/completions", `{"prompt":"a"}`)
		}
		for _, e := range b.stop() {
			out = append(out, fmt.Sprint(e.Fault, e.Status))
		}
		return out
	}
	first, again, other := fates(1), fates(1), fates(2)
	if !slices.Equal(first, again) {
		t.Errorf("seed 1 twice:\n%v\n%v", first, again)
	}
	if slices.Equal(first, other) {
		t.Error("seeds 1 and 2 give the same faults")
	}
	for _, want := range []string{"500", "error500", "error503", "cut200", "html200", "200"} {
		if want != "500" && !slices.Contains(first, want) {
			t.Errorf("60 requests had no %q: %v", want, first)
		}
	}
}

// 4,000 draws of mean 1 and spread s: the mean is within 5 standard errors.
func TestJitter(t *testing.T) {
	t.Parallel()
	const n = 4000
	for _, c := range []struct {
		shape Shape
		std   float64 // for a spread of 0.2
	}{{LogNormal, 0.2}, {Uniform, 0.2 / math.Sqrt(3)}, {Exponential, 1}} {
		rng := rand.New(rand.NewPCG(1, 2))
		var sum, squares float64
		for range n {
			x := spread(c.shape, 0.2, rng)
			sum, squares = sum+x, squares+x*x
		}
		mean := sum / n
		std := math.Sqrt(squares/n - mean*mean)
		if math.Abs(mean-1) > 5*c.std/math.Sqrt(n) || math.Abs(std/c.std-1) > 0.1 {
			t.Errorf("%s: mean %.4f, std %.4f; want 1, %.4f", c.shape, mean, std, c.std)
		}
	}
}

// Nothing is sent during the pause.
func TestPause(t *testing.T) {
	t.Parallel()
	b := start(t, "ttft=0s&itl=1ms&pause=30ms@5ms")
	b.post("/v1/chat/completions", `{"messages":[{"content":"a"}],"max_tokens":12,"stream":true}`)
	e := b.stop()[0]
	from, to := e.Recv+int64(5*time.Millisecond), e.Recv+int64(35*time.Millisecond)
	planned, after := 0, 0
	for _, c := range e.Chunks {
		if c.Kind != "content" {
			continue
		}
		planned++
		if c.At >= to {
			after++
		}
	}
	// tokens 5 … 11 were due at 5 … 11 ms
	if planned != 12 || after < 7 {
		t.Errorf("%d of %d tokens left after the pause (%d … %d), want at least 7: %+v", after, planned, from, to,
			e.Chunks)
	}
}
