//go:build unix

package transport_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	fs "aiperf.dev/aiperf/internal/faultserver"
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
		*x = transport.Exchange{
			Path: "/idle", Body: body, Stream: true,
			Deadline: record.None, CancelAfter: record.None,
		}
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
