package metrics_test

import (
	"math"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
)

// overload is ten requests, one a ms: eight answered after 10 to 17 ms, two cut
// off at 40 ms, of which one had begun to answer.
func overload(opt metrics.Options, unsent ...*record.Record) *metrics.Collector {
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
	for _, r := range unsent {
		c.Add(r)
	}
	return c
}

// unsent is a request that was due at a time and never sent.
func unsent(due int64) *record.Record {
	r := record.New()
	r.RequestID, r.Status, r.Measured, r.Open, r.Intended = -1, record.Unsent, true, true, due
	return &r
}

// What was cut off is no success and is not forgotten: it stands at +Inf where
// latencies are told with failures or from the intended time, and among the
// attempts; AIPerf's own figures are beside it.
func TestCutRequestsCount(t *testing.T) {
	t.Parallel()
	c := overload(metrics.Options{}, unsent(6*msec), unsent(30*msec))
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
		{"cut_request_count", "avg", 2},
		{"unsent_request_count", "avg", 2},
		{"error_request_count", "avg", 0},
		{"error_rate", "avg", 0},
		{"cancelled_request_count", "avg", 0},
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

// Rates of the steady window count each request with the part of it that lies inside,
// and of those that were cut off the tokens that came inside: the first of
// request 8, at 13 ms.
func TestSteadyRatesCountParts(t *testing.T) {
	t.Parallel()
	c := overload(metrics.Options{Steady: metrics.Window{Start: 5 * msec, End: 15 * msec}}, unsent(6*msec),
		unsent(30*msec))
	s := c.Summaries()[1]
	// two chunks each, the first 5 ms after sending, the second spread over the time since
	parts := []float64{
		0.5, 1, 1, (1 + 7.0/8) / 2, (1 + 6.0/9) / 2, (1 + 5.0/10) / 2, (1 + 4.0/11) / 2,
		(1 + 3.0/12) / 2,
	}
	sum := 0.0
	for _, p := range parts {
		sum += p
	}
	for _, w := range []struct {
		tag  string
		want float64
	}{
		{"request_throughput", sum / 0.010},
		{"goodput", sum / 0.010},
		{"output_token_throughput", (2*sum + 1) / 0.010},
		{"request_latency", (5 + 7 + 9 + 10 + 10 + 10 + 9 + 8) / sum}, // ms inside, for each delivered inside
		{"request_count", 3},                                          // sent at 5, 6 and 7 ms, as the latencies are
		{"cut_request_count", 2},
		{"unsent_request_count", 1},
		{"good_request_fraction", 3.0 / 6},
	} {
		if st, ok := s.Get(w.tag); !ok || !near(st.Avg, w.want) {
			t.Errorf("%s = %v (%t), want %v", w.tag, st.Avg, ok, w.want)
		}
	}
	if st, _ := s.Get("request_latency"); !near(st.P50, 16) {
		t.Errorf("the percentiles are those of what was sent inside: p50 %v, want 16", st.P50)
	}
}

// What was cancelled as the experiment asked is neither a success nor an error: it is
// in no error rate and in no share of good requests. AIPerf counts it as an error, and
// its files do.
func TestCancelledIsNoError(t *testing.T) {
	t.Parallel()
	c := metrics.NewCollector(metrics.Options{
		Streaming: true, Tokens: true, Window: metrics.Window{End: 100 * msec},
		SLOs: map[string]float64{"request_latency": 70},
	})
	for _, r := range []*record.Record{first(), second()} {
		r.Measured = true
		c.Add(r)
	}
	for range 15 {
		r := late()
		r.ISL = 7
		c.Add(r)
	}
	s := c.Summaries()[0]
	for _, w := range []struct {
		tag          string
		ours, theirs float64
	}{
		{"error_rate", 0, 15.0 / 17},
		{"request_error_rate", 0, 1500.0 / 17},
		{"error_request_count", 0, 15},
		{"completed_request_count", 2, 17},
		{"cancelled_request_count", 15, 15},
		{"good_request_fraction", 0.5, 1.0 / 17},
		{"total_error_isl", 0, 105},
	} {
		st, ok := s.Get(w.tag)
		theirs := st
		if st.Plain != nil {
			theirs = *st.Plain
		}
		if !ok || !near(st.Avg, w.ours) || !near(theirs.Avg, w.theirs) {
			t.Errorf("%s = %v, in AIPerf's files %v, want %v and %v", w.tag, st.Avg, theirs.Avg, w.ours, w.theirs)
		}
	}
	for _, tag := range []string{"adj_request_latency", "error_isl"} {
		if st, ok := s.Get(tag); ok {
			t.Errorf("%s: %+v: nothing failed", tag, st)
		}
	}
	theirs := map[string]int64{}
	for _, st := range s.Stats {
		if st.Plain != nil {
			theirs[st.Tag] = st.Plain.Count
		}
	}
	if theirs["error_isl"] != 15 || theirs["adj_request_latency"] != 17 {
		t.Errorf("AIPerf's files: %v, want 15 error_isl and 17 adj_request_latency", theirs)
	}
}

// In an open loop the user waits from when the request was due. From sending, every
// answer met the limit; with the queue in front of the server one in eight did.
func TestOpenLoopIsJudgedFromIntended(t *testing.T) {
	t.Parallel()
	for _, open := range []bool{true, false} {
		c := metrics.NewCollector(metrics.Options{
			Window: metrics.Window{End: 100 * msec},
			SLOs:   map[string]float64{"request_latency": 10},
		})
		for i := range int64(8) {
			r := record.New()
			r.Status, r.Measured, r.InWindow, r.Open = record.OK, true, true, open
			r.Intended, r.Admitted, r.Sent = 0, i*msec, i*msec
			r.FirstToken, r.LastToken, r.End = r.Sent+10*msec, r.Sent+10*msec, r.Sent+10*msec
			c.Add(&r)
		}
		want := map[string]float64{"good_request_fraction": 1, "goodput": 80}
		if open {
			want = map[string]float64{
				"good_request_fraction": 1.0 / 8, "goodput": 10,
				"good_request_fraction_from_sent": 1, "goodput_from_sent": 80,
			}
		}
		s := c.Summaries()[0]
		for _, tag := range []string{
			"good_request_fraction", "goodput", "good_request_fraction_from_sent",
			"goodput_from_sent",
		} {
			st, ok := s.Get(tag)
			if v, there := want[tag]; ok != there || there && !near(st.Avg, v) {
				t.Errorf("open loop %t: %s = %v (%t), want %v", open, tag, st.Avg, ok, want[tag])
			}
		}
		if st, _ := s.Get("goodput"); open && (st.Plain == nil || !near(st.Plain.Avg, 80)) {
			t.Errorf("goodput in AIPerf's files: %+v, want that from sending, 80", st.Plain)
		}
	}
}

// A throughput of tokens that nobody counted is absent from both windows: the stamps of
// the chunks say when they came, and not how many there were.
func TestUncountedTokensHaveNoRate(t *testing.T) {
	t.Parallel()
	c := metrics.NewCollector(metrics.Options{
		Streaming: true, Tokens: true, Window: metrics.Window{End: 100 * msec},
		Steady: metrics.Window{Start: 1 * msec, End: 95 * msec},
	})
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
