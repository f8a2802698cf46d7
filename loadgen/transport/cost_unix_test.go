//go:build unix

package transport_test

import (
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"

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
	each -= recorded(&exchanges[0])
	cl.CancelAll(record.Cancelled)
	over.Wait()
	if err := cl.Close(); err != nil {
		tb.Fatal(err)
	}
	return each
}

// recorded is what x has kept of its answer.
func recorded(x *transport.Exchange) int64 {
	return int64(cap(x.Payload)) + int64(cap(x.Events))*int64(unsafe.Sizeof(transport.Event{}))
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

// A stream in flight holds at most 6 KB beside what it recorded. Most of it is
// the 4 KB stack of the goroutine that reads it.
func TestMemoryOfAStream(t *testing.T) {
	limit := int64(6 << 10)
	if raceEnabled {
		limit *= 3
	}
	if each := idleStreams(t, benchServer(t), 1000); each > limit {
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
