package metrics_test

import (
	"math"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
)

// 1,000 requests whose latencies in ms are their ranks, in an order in which
// neighbours are far apart: no value says less than one. Ranks by hand, as in the interval of order
// statistics: 500 ∓ 1.96·√250, 900 ∓ 1.96·√90. For the p99 that
// would be 990 ∓ 1.96·√9.9, 983 to 997; ten batches of the slowest say less than the
// values do, which is one rank on either side.
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
	for _, want := range []metrics.Interval{{"p50", 469, 531}, {"p90", 881, 919}, {"p99", 982, 998}} {
		if got, ok := s.Interval(want.Stat); !ok || got != want {
			t.Errorf("interval %+v, %v; want %+v", got, ok, want)
		}
	}
	if in, ok := s.Interval("p999"); ok {
		t.Errorf("an interval of p99.9 from 1,000 values: %+v", in)
	}
}

// Requests that wait for nothing, on open connections: their time is one, told
// by several metrics. Each has its own names, and an effective sample size only
// where it is asked for one.
func TestOneColumnUnderSeveralNames(t *testing.T) {
	t.Parallel()
	const n = 1000
	c := metrics.NewCollector(metrics.Options{Tokens: true})
	for i := range int64(n) {
		rank := i*619%n + 1
		r := record.New()
		r.Status, r.InWindow, r.Reused = record.OK, true, true
		r.Intended, r.Admitted, r.Sent = i*msec, i*msec, i*msec
		r.LastToken, r.End = r.Sent+rank*msec, r.Sent+rank*msec
		c.Add(&r)
	}
	sum := c.Summaries()[0]
	for _, want := range []struct {
		tag, header string
		nEff        float64
		intervals   int // p1 to p99
	}{
		{"request_latency", "Request Latency", n, 9},
		{"effective_latency", "Effective Latency (CO-aware)", n, 9},
		{"http_req_duration", "HTTP Duration (excl. conn)", math.NaN(), 0},
		{"http_req_total", "HTTP Total Time", math.NaN(), 0},
	} {
		s, ok := sum.Get(want.tag)
		if !ok || s.Header != want.header || s.Unit != "ms" || s.Count != n ||
			s.Sum != n*(n+1)/2 || s.P50 != 500.5 || s.Max != n {
			t.Errorf("%s: %+v", want.tag, s)
		}
		if !near(s.NEff, want.nEff) || len(s.Intervals) != want.intervals {
			t.Errorf("%s: effective n %v and %d intervals, want %v and %d", want.tag, s.NEff, len(s.Intervals),
				want.nEff, want.intervals)
		}
	}
}
