package metrics_test

import (
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
)

// BenchmarkCollector adds 100,000 streamed records and summarises them.
func BenchmarkCollector(b *testing.B) {
	const n = 100_000
	opt := metrics.Options{Streaming: true, Tokens: true}
	b.ReportAllocs()
	for b.Loop() {
		c := metrics.NewCollector(opt)
		r := first()
		for i := range int64(n) {
			r.Intended, r.Sent, r.End = i*msec, i*msec+2*msec, i*msec+90*msec
			r.LastToken = r.Sent + 80*msec + i%977*1000
			c.Add(r)
		}
		if s := c.Summaries(); len(s[0].Stats) == 0 {
			b.Fatal("no statistics")
		}
	}
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "records/s")
}
