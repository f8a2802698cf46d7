package metrics_test

import (
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
)

// 1,000 requests whose latencies in ms are their ranks, in an order in which
// neighbours are far apart: no value says less than one. Ranks by hand, as in the interval of order
// statistics: 500 ∓ 1.96·√250, 900 ∓ 1.96·√90, 990 ∓ 1.96·√9.9.
func TestPercentilesHaveIntervals(t *testing.T) {
	t.Parallel()
	const n = 1000
	c := metrics.NewCollector(metrics.Options{Streaming: true, Tokens: true})
	for i := range int64(n) {
		rank := i*619%n + 1
		r := record.New()
		r.Status, r.InWindow = record.OK, true
		r.Intended, r.Admitted, r.Sent = i*msec, i*msec, i*msec
		r.FirstToken, r.LastToken, r.End = r.Sent+rank*msec, r.Sent+rank*msec, r.Sent+rank*msec
		c.Add(&r)
	}
	s, _ := c.Summaries()[0].Get("request_latency")
	if s.NEff != n || s.P50 != 500.5 {
		t.Fatalf("effective n %v, p50 %v; want 1000 and 500.5", s.NEff, s.P50)
	}
	for _, want := range []metrics.Interval{{"p50", 469, 531}, {"p90", 881, 919}, {"p99", 983, 997}} {
		if got, ok := s.Interval(want.Stat); !ok || got != want {
			t.Errorf("interval %+v, %v; want %+v", got, ok, want)
		}
	}
	if in, ok := s.Interval("p999"); ok {
		t.Errorf("an interval of p99.9 from 1,000 values: %+v", in)
	}
}
