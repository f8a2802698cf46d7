package results

import (
	"math"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/rules"
	"aiperf.dev/aiperf/sinks/importer"
)

// Single requests of another program count as ours do: by hand, of five requests in an open loop.
func TestForeignRequestsAgainstALimit(t *testing.T) {
	t.Parallel()
	ms := 1e6
	requests := []importer.Request{
		{Intended: 0, Sent: 0, End: 90 * ms, TTFT: 40, Latency: 90, ITL: 5, Status: "ok"},
		{Intended: 100 * ms, Sent: 120 * ms, End: 210 * ms, TTFT: 40, Latency: 90, ITL: 5, Status: "ok"}, // 60 ms since it was due
		{Intended: 200 * ms, Sent: 200 * ms, End: 260 * ms, TTFT: math.NaN(), Latency: math.NaN(), Status: "error"},
		{Intended: 300 * ms, Sent: 300 * ms, End: 310 * ms, Status: "cancelled"},
		{Intended: 400 * ms, Sent: 400 * ms, End: 500 * ms, TTFT: math.NaN(), Latency: 100, ITL: 5, Status: "ok"}, // not told
	}
	run := &importer.Run{OK: 3, Failed: 1, Each: func(take func(*importer.Request) error) error {
		for i := range requests {
			if err := take(&requests[i]); err != nil {
				return err
			}
		}
		return nil
	}}
	first := rules.Over{Metric: metrics.TimeToFirstToken, Most: 50}
	whole := rules.Over{Metric: metrics.RequestLatency, Most: 95}
	limits := rules.Over{Metric: rules.Limits}
	for _, c := range []struct {
		closed bool
		want   map[rules.Over]rules.Tally
	}{
		{false, map[rules.Over]rules.Tally{first: {N: 3, Over: 2}, whole: {N: 4, Over: 3}}},
		{true, map[rules.Over]rules.Tally{first: {N: 3, Over: 1}, whole: {N: 4, Over: 2}}},
	} {
		run.Closed = c.closed
		x, err := rulesRun(run, []rules.Over{first, whole, limits})
		if err != nil {
			t.Fatal(err)
		}
		for o, want := range c.want {
			if x.Counts[o] != want {
				t.Errorf("closed %t, %s over %g ms: %+v, want %+v", c.closed, o.Metric, o.Most, x.Counts[o], want)
			}
		}
		if _, told := x.Counts[limits]; told || x.Sent != 0.4 || x.Answered != 0.5 || x.OK != 3 {
			t.Errorf("closed %t: %+v, want 0.4 s of sending, 0.5 s until all was answered, and no word on limits", c.closed, x)
		}
	}
}

// Of a summary the times of requests are not known.
func TestForeignSummaryAgainstRules(t *testing.T) {
	t.Parallel()
	x, err := rulesRun(&importer.Run{OK: 40}, []rules.Over{{Metric: metrics.TimeToFirstToken, Most: 50}})
	if err != nil || !math.IsNaN(x.Sent) || !math.IsNaN(x.Answered) || len(x.Counts) > 0 ||
		!math.IsNaN(x.Figure("x", "p50")) {
		t.Errorf("%+v %v", x, err)
	}
}
