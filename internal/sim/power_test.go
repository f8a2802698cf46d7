package sim

import (
	"fmt"
	"slices"
	"testing"

	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/sweep/decide"
)

// closed is two servers under a load that waits for answers, 1,000 requests a
// run: the log-ratios of a p50 and of the throughput then spread by some 3 %.
func closed(slowdown string) design {
	const words = "ttft=40ms&itl=5ms&cv=0.5"
	return design{
		cells: []string{words, words + "&slowdown=" + slowdown}, phase: "type: concurrency, concurrency: 8",
		requests: 1000, trials: 5,
		compare: "margin: 0.05",
	}
}

// limited makes the good share a fifth primary metric, beside throughput, TTFT
// at the median and at its highest supported percentile, and ITL.
const limited = `
  slos: {time_to_first_token: 100}`

// worse counts for each primary metric in how many plans it is WORSE.
type worse struct {
	plans, primaries int
	of               map[decide.Key]int
}

func (w *worse) count(c conclusion) {
	if w.of == nil {
		w.of = map[decide.Key]int{}
	}
	w.plans++
	w.primaries = c.Comparisons[0].Compared
	for _, r := range c.Comparisons[0].Rows {
		if r.Primary && r.Outcome == decide.Worse {
			w.of[r.Key]++
		}
	}
}

var (
	throughput = decide.Key{Tag: "output_token_throughput", Stat: "avg"}
	ttft50     = decide.Key{Tag: "time_to_first_token", Stat: "p50"}
)

// A slowdown of 10 % is WORSE at a margin of 5 % in four plans of five and more,
// in the median latency and in the throughput of a closed loop.
func TestTenPercentSlower(t *testing.T) {
	t.Parallel()
	d := closed("1.1")
	d.body = limited
	var w worse
	d.simulate(t, 2**times, w.count)
	t.Logf("%+v", w)
	for _, k := range []decide.Key{throughput, ttft50} {
		if n := w.of[k]; n < w.plans-most(0.2, w.plans) || w.primaries != 5 {
			t.Errorf("%v is WORSE in %d of %d plans, with %d primary metrics; want 80 %% with five", k, n, w.plans,
				w.primaries)
		}
	}
}

// One of 2 % is WORSE in at most 2 % of plans by each of five primary metrics,
// and in 6 % where it is the only one.
func TestTwoPercentSlower(t *testing.T) {
	t.Parallel()
	five := closed("1.02")
	five.body = limited
	one := closed("1.02")
	one.compare = "margin: 0.05, metrics: [time_to_first_token.p50]"
	for _, c := range []struct {
		design
		share float64
		plans int
	}{{five, 0.02, 1}, {one, 0.06, 1}} {
		var w worse
		c.simulate(t, c.plans**times, w.count)
		t.Logf("%+v", w)
		for k, n := range w.of {
			if n > most(c.share, w.plans) {
				t.Errorf("%v is WORSE in %d of %d plans, with %d primary metrics; want %.0f %%", k, n, w.plans,
					w.primaries, 100*c.share)
			}
		}
	}
}

// One server that becomes slower by a tenth while the plan goes on, under two
// names: trials run in turns, so nothing is told apart in more than 5 % of plans.
func TestDrift(t *testing.T) {
	t.Parallel()
	const words = "ttft=40ms&itl=5ms&cv=0.3"
	d := design{
		cells: []string{words, words}, one: true, requests: 100, trials: 6, compare: "margin: 0.05",
		fresh: true,
	}
	took := 0.0 // by the plan, in s of its own time
	d.simulate(t, 1, func(c conclusion) {
		for _, o := range c.outcomes {
			s, _ := o.Summaries[0].Get("benchmark_duration")
			took += s.Avg + between/1e9
		}
	})
	if !(took > 1) {
		t.Fatalf("a plan takes %v s", took)
	}
	d.cells = []string{words + drifting(took), words + drifting(took)}
	var a alarms
	d.simulate(t, 3**times, a.count)
	t.Logf("%+v", a)
	if m := most(0.05, a.plans); a.best > m || a.dominated > m || a.told > m {
		t.Errorf("of %d plans with drift %d have a best cell, %d a dominated one, %d a BETTER or WORSE; want at most %d",
			a.plans, a.best, a.dominated, a.told, m)
	}
}

// A sentinel finds a server that becomes slower by a tenth while the plan goes on,
// and says nothing of one that stays the same.
func TestSentinelSeesDrift(t *testing.T) {
	t.Parallel()
	if raced {
		t.Skip("single runs are enough for the race detector")
	}
	const words = "ttft=40ms&itl=5ms&cv=0.3"
	d := design{
		cells: []string{words}, phase: "type: concurrency, concurrency: 8", requests: 1000, trials: 2,
		multi: ", sentinel: true",
	}
	took := 0.0
	seen := func(d design, plan int) bool {
		o, err := RunPaced(d.text(plan), scratch(t), d.pace)
		if err != nil {
			t.Fatal(err)
		}
		if n := o.Results.Cells[0].Trials; n != d.trials || len(o.Results.Sentinel) != 3 {
			t.Fatalf("%d trials and %d runs of the sentinel", n, len(o.Results.Sentinel))
		}
		took = 0
		for _, x := range o.Outcomes {
			s, _ := x.Summaries[0].Get("benchmark_duration")
			took += s.Avg + between/1e9
		}
		i := slices.IndexFunc(o.PlanFindings, func(f verdict.Finding) bool { return f.Check == "sentinel" })
		moved := o.PlanFindings[i].Verdict > verdict.Valid
		if mark := o.Results.Cells[0].Taint(decide.Key{Tag: "request_latency", Stat: "p50"}); moved && mark.None() {
			t.Error("the sentinel moved, and the latency is not marked")
		}
		return moved
	}
	n, alarms, found := *times, 0, 0
	for i := range n {
		if seen(d, i) {
			alarms++
		}
		slower := d
		slower.cells = []string{words + drifting(took)}
		if seen(slower, i) {
			found++
		}
	}
	t.Logf("of %d plans the sentinel moved in %d without drift and in %d with it", n, alarms, found)
	if alarms > most(0.01, n) || found < n-most(0.2, n) {
		t.Errorf("of %d plans the sentinel moved in %d without drift and in %d with it", n, alarms, found)
	}
}

// drifting makes a server 10 % slower after so many seconds.
func drifting(seconds float64) string { return fmt.Sprintf("&drift=%.6f", 0.1/seconds) }

// The same server is EQUIVALENT at 5 % once there are enough trials.
func TestEnoughTrialsAreEquivalent(t *testing.T) {
	t.Parallel()
	d := design{
		cells:    []string{"ttft=40ms&itl=5ms&cv=0.3&workers=20", "ttft=40ms&itl=5ms&cv=0.3&workers=20"},
		phase:    "type: poisson, rate: 60",
		requests: 200, trials: 12, osl: "{mean: 8, stddev: 3}",
		compare: "margin: 0.05, metrics: [time_to_first_token.p50, inter_token_latency.p50]",
	}
	equal, plans := 0, 0
	d.simulate(t, 2**times, func(c conclusion) {
		plans++
		if c.Comparisons[0].Outcome() == decide.Equivalent {
			equal++
		}
	})
	if equal < plans-most(0.2, plans) {
		t.Errorf("the same server, 12 trials: EQUIVALENT in %d of %d plans", equal, plans)
	}
}
