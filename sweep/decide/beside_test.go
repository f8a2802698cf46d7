package decide_test

import (
	"math"
	"strings"
	"testing"

	"aiperf.dev/aiperf/sweep/decide"
)

// Gates on what servers and GPUs say are held as any others are: over trials, of several
// pages by the worst, and open where a histogram's buckets leave it open.
func TestGatesBesideRequests(t *testing.T) {
	t.Parallel()
	exact := func(v float64) decide.Told { return decide.Told{Value: v, Low: math.NaN(), High: math.NaN()} }
	kv, e2e := decide.Key{Tag: "server_kv_use", Stat: "max"}, decide.Key{Tag: "server_e2e", Stat: "p99"}
	hits := decide.Key{Tag: "server_prefix_hit_rate", Stat: "avg"}
	for _, c := range []struct {
		gate   string
		trials int
		state  decide.State
		says   string
	}{
		{"server_kv_use.max < 0.9", 1, decide.Missed, "0.95"},
		{"server_kv_use.max < 0.99", 3, decide.Held, ""},
		{"server_e2e.p99 < 2", 1, decide.Undecided, "buckets"},
		{"server_e2e.p99 < 3", 1, decide.Held, ""},
		{"server_prefix_hit_rate > 0.5", 1, decide.Missed, "0.2"},
		{"server_preemptions.sum == 0", 1, decide.Undecided, "no server tells it"},
		{"output_tokens_per_joule > 1", 1, decide.Undecided, "no GPU was read"},
	} {
		d := loads(c.trials)
		d.Head.Gates = []string{c.gate}
		p := expand(t, d)
		for _, cell := range p.Cells {
			b := &cell.Resolved.Benchmark
			b.ServerMetrics.Enabled, b.GPUTelemetry.Enabled = true, true
		}
		outcomes := measure(p, .001, tokens, ttft)
		for i := range outcomes {
			b := decide.Beside{}
			b.Add(decide.Full, kv, exact(0.5))
			b.Add(decide.Full, kv, exact(0.95)) // the other page
			b.Add(decide.Full, kv, exact(0.1))
			b.Add(decide.Full, hits, exact(0.8))
			b.Add(decide.Full, hits, exact(0.2))
			b.Add(decide.Full, e2e, decide.Told{Value: 1.8, Low: 1.5, High: 2.5})
			b.Add(decide.Full, e2e, decide.Told{Value: math.NaN(), Low: 1, High: 9})
			outcomes[i].Beside = b
		}
		if bad := decide.CheckGates(p, decide.Names()); bad != nil {
			t.Fatalf("%s: %v", c.gate, bad)
		}
		g := decide.Aggregate(p, outcomes).Cells[0].Gates[0]
		if g.State != c.state || !strings.Contains(g.Text+" "+g.Note, c.says) {
			t.Errorf("%s: %s, %q, %q; want %s and %q", c.gate, g.State, g.Text, g.Note, c.state, c.says)
		}
	}
}

// A gate names a statistic that the figure has, and a figure that is read.
func TestWrongGatesBesideRequests(t *testing.T) {
	t.Parallel()
	for gate, says := range map[string]string{
		"server_kv_use < 1":       "no single value",
		"server_kv_use.p42 < 1":   "unknown statistic p42",
		"server_kv_use.max > 1.5": "no value of server_kv_use.max holds this",
		"gpu_powr < 1":            "unknown metric gpu_powr",
		"gpu_power < 1":           "whose metrics are not read",
	} {
		d := loads(1)
		d.Head.Gates = []string{gate}
		bad := decide.CheckGates(expand(t, d), decide.Names())
		if bad == nil || !strings.Contains(bad.Error(), says) {
			t.Errorf("%s: %v, want %q", gate, bad, says)
		}
	}
}
