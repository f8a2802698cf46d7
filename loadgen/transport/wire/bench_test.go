package wire

import (
	"fmt"
	"testing"
)

// tokenEvent is an event as a chat completion streams it, in a chunk of its own.
func tokenEvent() []byte {
	event := `data: {"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1763700000,"model":"mock-model-8b-instruct","choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}]}` + "\n\n"
	return fmt.Appendf(nil, "%x\r\n%s\r\n", len(event), event)
}

// feeder is an HTTP and an SSE parser in a row, as a connection has them.
type feeder struct {
	Response
	SSE
	events, bytes int
}

func newFeeder() *feeder {
	f := &feeder{}
	f.Response.Sink = f
	f.SSE.Event = func(b []byte, _ bool) error { f.events++; f.bytes += len(b); return nil }
	return f
}

func (f *feeder) Begin()              {}
func (f *feeder) Head(*Head) error    { return nil }
func (f *feeder) Body(b []byte) error { return f.SSE.Feed(b) }

const benchHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

func TestNoAllocations(t *testing.T) {
	f := newFeeder()
	event := tokenEvent()
	if _, err := f.Response.Feed([]byte(benchHead)); err != nil {
		t.Fatal(err)
	}
	half := len(event) / 2
	feed := func(b []byte) {
		if _, err := f.Response.Feed(b); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(100, func() { feed(event) }); n != 0 {
		t.Errorf("an event in one read: %v allocations", n)
	}
	if n := testing.AllocsPerRun(100, func() { feed(event[:half]); feed(event[half:]) }); n != 0 {
		t.Errorf("an event in two reads: %v allocations", n)
	}
	whole := []byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
	if n := testing.AllocsPerRun(100, func() { f.Response.Reset(); feed(whole) }); n != 0 {
		t.Errorf("a short answer: %v allocations", n)
	}
	if f.events != 202 { // AllocsPerRun warms up once
		t.Errorf("%d events, want 202", f.events)
	}
}

func BenchmarkEvent(b *testing.B) {
	f := newFeeder()
	event := tokenEvent()
	f.Response.Feed([]byte(benchHead)) //nolint:errcheck // see TestNoAllocations
	b.ReportAllocs()
	b.SetBytes(int64(len(event)))
	for b.Loop() {
		f.Response.Feed(event) //nolint:errcheck // see TestNoAllocations
	}
}

func BenchmarkShortAnswer(b *testing.B) {
	f := newFeeder()
	whole := []byte("HTTP/1.1 200 OK\r\nDate: Fri, 21 Nov 2025 10:00:00 GMT\r\nServer: uvicorn\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
	b.ReportAllocs()
	for b.Loop() {
		f.Response.Reset()
		f.Response.Feed(whole) //nolint:errcheck // see TestNoAllocations
	}
}
