//go:build unix

package transport_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	fs "aiperf.dev/aiperf/internal/faultserver"
	"aiperf.dev/aiperf/internal/race"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/transport"
)

// held is the memory in use, heap and stacks, after a collection.
func held() int64 {
	runtime.GC()
	runtime.GC() // what pools keep is given up by the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// idleStreams opens n streams that have begun and say nothing more, and returns
// what each of them holds beside what it recorded.
func idleStreams(tb testing.TB, url string, n int) (bytesEach int64) {
	cl, err := transport.Open(transport.Config{Targets: []string{url}, Clock: record.NewClock()})
	if err != nil {
		tb.Fatal(err)
	}
	var begun, over sync.WaitGroup
	exchanges := make([]transport.Exchange, n)
	body := []byte(benchBody)
	before := held()
	for i := range exchanges {
		x := &exchanges[i]
		*x = transport.Exchange{Path: "/idle", Body: body, Stream: true, Deadline: record.None, CancelAfter: record.None}
		begun.Add(1)
		over.Add(1)
		x.OnEvent = func([]byte) { begun.Done() }
		x.Done = func(*transport.Exchange) { over.Done() }
		cl.Start(x)
	}
	begun.Wait()
	each := (held() - before) / int64(n)
	each -= transport.Recorded(&exchanges[0])
	cl.CancelAll(record.Cancelled)
	over.Wait()
	if err := cl.Close(); err != nil {
		tb.Fatal(err)
	}
	return each
}

// BenchmarkIdleStreams tells what a stream in flight holds beside its record.
func BenchmarkIdleStreams(b *testing.B) {
	url := benchServer(b)
	var each int64
	for b.Loop() {
		each = idleStreams(b, url, 1000)
	}
	b.ReportMetric(float64(each), "B/stream")
}

// What a stream holds of its answer is a part of what was said: a hundred tokens
// take less than 8 KB, stamps included.
func TestMemoryOfAnAnswer(t *testing.T) {
	t.Parallel()
	var events []string
	for i := range 100 {
		events = append(events, fmt.Sprintf(`{"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1763700000,"model":"m","choices":[{"index":0,"delta":{"content":" %d"},"finish_reason":null}]}`, 7919*i))
	}
	s := fs.Start(t, fs.Script{fs.Read(), fs.Send(fs.Stream(events...))})
	x := open(t, s.URL()).do(stream)
	if got := texts(x); len(got) != 100 || got[99] != events[99] {
		t.Fatalf("%d events, the last %q", len(got), got[len(got)-1])
	}
	if held := transport.Recorded(x); held > 8<<10 {
		t.Errorf("%d bytes are held", held)
	}
}

// A stream in flight holds at most 6 KB beside what it recorded. Most of it is
// the 4 KB stack of the goroutine that reads it.
func TestMemoryOfAStream(t *testing.T) {
	limit := int64(6 << 10)
	if race.Enabled {
		limit *= 3
	}
	url := benchServer(t)
	each := idleStreams(t, url, 1000)
	for range 2 { // the first time, the runtime's own needs are counted, too
		each = min(each, idleStreams(t, url, 1000))
	}
	if each > limit {
		t.Errorf("%d bytes a stream, want at most %d", each, limit)
	}
}

// A short request costs at most 1.3 times the share of net/http's CPU that was
// recorded. Both run in turns, so that what disturbs the one disturbs the other.
func TestCPUBesideNetHTTP(t *testing.T) {
	const (
		recorded = 0.40 // on two shared cores; 0.33 to 0.42 there
		rounds   = 8
		requests = 1500
	)
	url := benchServer(t)
	var used [2]time.Duration
	for round := range rounds + 1 {
		for i, run := range []exchanger{ours, theirs} {
			before := cpu(t)
			run(t, url, "/json", 64, requests)
			if round > 0 { // the first one warms up
				used[i] += cpu(t) - before
			}
		}
	}
	ratio := float64(used[0]) / float64(used[1])
	t.Logf("%.1f µs a request, net/http %.1f µs: %.2f", float64(used[0].Microseconds())/rounds/requests, float64(used[1].Microseconds())/rounds/requests, ratio)
	if ratio > 1.3*recorded {
		t.Errorf("%.2f of net/http's CPU, want at most 1.3 × %.2f", ratio, recorded)
	}
}
