package metrics_test

import (
	"runtime"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
)

// What a collector holds grows with the requests by a hundred bytes each, not
// by eight per metric: a million requests fit beside everything else. Two
// lengths are compared, so that what a collector costs once does not count.
func TestCollectorIsSmall(t *testing.T) { // not parallel: reads the process's heap
	for _, c := range []struct {
		name string
		opt  metrics.Options
		fill func(r *record.Record, x int64) // x: below 2^20, different for each request
		most float64                         // bytes a request
	}{
		{"plain", metrics.Options{Tokens: true}, func(r *record.Record, x int64) {
			r.Streamed, r.Chunks, r.FirstToken, r.FirstOutput = false, nil, record.None, record.None
		}, 90},
		{"streamed", metrics.Options{Streaming: true, Tokens: true}, func(r *record.Record, x int64) {
			r.FirstToken, r.FirstOutput = r.Sent+4*msec+x, r.Sent+4*msec+x
		}, 170},
	} {
		held := func(n int64) float64 {
			before := inUse()
			col := metrics.NewCollector(c.opt)
			r := first()
			for i := range n {
				x := int64(uint64(i)*0x9E3779B97F4A7C15>>44) + 1
				r.Intended, r.Admitted, r.Sent, r.WriteEnd = i*msec/10, i*msec/10+x/100, i*msec/10+x/50, i*msec/10+x/40
				r.FirstByte, r.LastToken, r.End = r.Sent+3*msec+x, r.Sent+80*msec+x, r.Sent+90*msec+2*x
				c.fill(r, x)
				col.Add(r)
			}
			after := inUse()
			runtime.KeepAlive(col)
			return after - before
		}
		const few, many = 50_000, 150_000
		small, large := held(few), held(many)
		got := (large - small) / (many - few)
		t.Logf("%s: %.0f bytes a request", c.name, got)
		if got > c.most {
			t.Errorf("%s: %.0f bytes a request are held, want %.0f at most", c.name, got, c.most)
		}
	}
}

// inUse is the size of the heap's live objects.
func inUse() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
