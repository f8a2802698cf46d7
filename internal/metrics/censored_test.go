package metrics_test

import (
	"math"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
)

// overload is ten requests, one a ms: eight answered after 10 to 17 ms, two cut
// off at 40 ms, of which one had begun to answer.
func overload(opt metrics.Options) *metrics.Collector {
	opt.Streaming, opt.Tokens, opt.Window = true, true, metrics.Window{End: 40 * msec}
	opt.SLOs = map[string]float64{"request_latency": 35}
	c := metrics.NewCollector(opt)
	for i := range int64(10) {
		r := record.New()
		r.Status, r.Streamed, r.Measured, r.InWindow, r.OSL = record.OK, true, true, true, 2
		r.Intended, r.Admitted, r.Sent = i*msec, i*msec, i*msec
		r.FirstToken, r.LastToken, r.End = r.Sent+5*msec, r.Sent+(10+i)*msec, r.Sent+(10+i)*msec
		r.Chunks = []record.Chunk{{At: r.FirstToken}, {At: r.LastToken}}
		if i >= 8 {
			r.Status, r.InWindow, r.OSL, r.End, r.LastToken = record.Cut, false, record.None, 40*msec, record.None
			r.Chunks = r.Chunks[:1]
			if i == 9 {
				r.FirstToken, r.Chunks = record.None, nil
			}
		}
		c.Add(&r)
	}
	return c
}

// What was cut off is no success and is not forgotten: it stands at +Inf where
// latencies are told with failures or from the intended time, and among the
// attempts; AIPerf's own figures are beside it.
func TestCutRequestsCount(t *testing.T) {
	t.Parallel()
	c := overload(metrics.Options{Unsent: 2})
	s := c.Summaries()[0]
	for _, w := range []struct {
		tag, stat string
		want      float64
	}{
		{"request_count", "avg", 8},
		{"request_latency", "p50", 13.5},
		{"request_latency", "max", 17},
		{"adj_request_latency", "count", 12},
		{"adj_request_latency", "p50", 16},
		{"adj_request_latency", "p75", math.Inf(1)},
		{"request_latency_from_intended", "p50", 15.5},
		{"request_latency_from_intended", "p90", math.Inf(1)},
		{"request_latency_from_intended", "avg", math.Inf(1)},
		{"time_to_first_token_from_intended", "p50", 5},
		{"time_to_first_token_from_intended", "count", 12},
		{"time_to_first_token_from_intended", "p75", math.Inf(1)},
		{"good_request_fraction", "avg", 8.0 / 12},
	} {
		if st, ok := s.Get(w.tag); !ok || !near(st.Value(w.stat), w.want) {
			t.Errorf("%s %s = %v (%t), want %v", w.tag, w.stat, st.Value(w.stat), ok, w.want)
		}
	}
	good, _ := s.Get("good_request_fraction")
	if want := 2.0 / 12; !near(good.Open, want) { // 32 and 31 ms old at the end, the limit is 35
		t.Errorf("undecided share %v, want %v", good.Open, want)
	}
	if good.Plain == nil || good.Plain.Avg != 1 {
		t.Errorf("AIPerf's share is %+v, want 1", good.Plain)
	}
	if adj, _ := s.Get("adj_request_latency"); adj.Plain == nil || adj.Plain.Count != 0 {
		t.Error("AIPerf has no error-adjusted latency where nothing failed")
	}
}

// Both bounds of a percentile hold what it would have been.
func TestCensoringBounds(t *testing.T) {
	t.Parallel()
	c := overload(metrics.Options{})
	c.Summaries()
	got := map[string]metrics.Bounds{}
	for _, b := range c.Censoring() {
		got[b.Tag+" "+b.Stat] = b
	}
	b := got["request_latency p90"]
	if !near(b.Plain, 16.3) || !near(b.Low, 31.1) || !math.IsInf(b.High, 1) {
		t.Errorf("request_latency p90: %+v, want 16.3 without, 31.1 by their age, +Inf", b)
	}
	if b := got["time_to_first_token p50"]; !near(b.Low, 5) || !near(b.High, 5) {
		t.Errorf("time_to_first_token p50: %+v, want 5 at both ends: one of ten is open", b)
	}
	if n := len(small().Censoring()); n != 0 {
		t.Errorf("%d bounds where nothing was cut off", n)
	}
}

// The rate of the steady window counts the tokens that came in it, also those
// of requests that were not over then.
func TestSteadyRateCountsChunks(t *testing.T) {
	t.Parallel()
	s := overload(metrics.Options{Steady: metrics.Window{Start: 5 * msec, End: 15 * msec}}).Summaries()[1]
	// first tokens at 5 … 12 ms and of the cut one at 13; second ones at 10, 12 and 14 ms
	if st, _ := s.Get("output_token_throughput"); !near(st.Avg, 12/0.010) {
		t.Errorf("output_token_throughput = %v, want 1200", st.Avg)
	}
}

// A throughput of tokens that nobody counted is absent from both windows: the stamps of
// the chunks say when they came, and not how many there were.
func TestUncountedTokensHaveNoRate(t *testing.T) {
	t.Parallel()
	c := metrics.NewCollector(metrics.Options{Streaming: true, Tokens: true, Window: metrics.Window{End: 100 * msec}, Steady: metrics.Window{Start: 1 * msec, End: 95 * msec}})
	for _, r := range []*record.Record{first(), second()} {
		r.Measured, r.OSL, r.OutputTokens, r.ReasoningTokens = true, record.None, record.None, record.None
		c.Add(r)
	}
	windows := c.Summaries()
	if len(windows) != 2 {
		t.Fatalf("%d windows", len(windows))
	}
	for _, s := range windows {
		if st, ok := s.Get("output_token_throughput"); ok {
			t.Errorf("%s window: %v tokens a second, of which nobody counted one", s.Window, st.Avg)
		}
		if _, ok := s.Get("request_throughput"); !ok {
			t.Errorf("%s window: no rate of requests", s.Window)
		}
	}
}
