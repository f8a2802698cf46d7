package decide_test

import (
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/sweep/decide"
)

// One number of one run is invalid: it is left out and said so, every other
// number of the run counts, and so does the number in the other runs.
func TestAnInvalidNumberLeavesTheOthers(t *testing.T) {
	t.Parallel()
	d := loads(3)
	d.Head.Gates = []string{"output_token_throughput > 1"}
	p := expand(t, d)
	spoil := func(runs int) []decide.Outcome {
		outcomes := measure(p, .001, tokens, ttft)
		for i := range outcomes {
			if o := &outcomes[i]; o.Run.Cell.Index == 3 && o.Run.Trial < runs {
				o.Taints = validity.Taints{"output_token_throughput": {Check: "turnaround", Level: validity.Wrong}}
			}
		}
		return outcomes
	}
	r := decide.Aggregate(p, spoil(1))
	c := &r.Cells[3]
	rate, _ := c.Get("output_token_throughput", "avg")
	first, _ := c.Get("time_to_first_token", "p50")
	if rate.N != 2 || first.N != 3 || c.Trials != 3 || c.Left != 0 || c.Status != decide.Complete {
		t.Errorf("throughput of %d trials, TTFT of %d; %d trials, %d left out, %s", rate.N, first.N, c.Trials, c.Left,
			c.Status)
	}
	if b := r.Best[0]; b.Shown || !strings.Contains(sentence(b),
		"concurrency 8 (invalid in 1 of 3 trials, which are left out, check turnaround)") {
		t.Errorf("best: %s", sentence(b))
	}
	if g := c.Gates[0]; g.State != decide.Undecided ||
		g.Note != "output_token_throughput.avg is invalid in 1 of 3 trials, which are left out (check turnaround)" {
		t.Errorf("gate: %+v", g)
	}
	if s := r.Spoiled(p); len(s) != 1 || s[0].Cell != c ||
		s[0].String() != "output_token_throughput.avg, asked for by the gate output_token_throughput > 1, is invalid in 1 of 3 trials, which are left out (check turnaround)" {
		t.Errorf("spoiled: %+v", s)
	}
	if r = decide.Aggregate(p, spoil(3)); len(r.Objectives) != 2 || r.Objectives[0].Tag != "output_token_throughput" {
		t.Errorf("the objectives depend on which numbers are valid: %+v", r.Objectives)
	}
	if _, ok := r.Cells[3].Get("output_token_throughput", "avg"); ok {
		t.Error("a number that is invalid in every trial is estimated")
	}
	if g := r.Cells[3].Gates[0]; g.Held || g.State != decide.Undecided ||
		g.Text != "output_token_throughput.avg: invalid (check turnaround)" {
		t.Errorf("gate without a number: %+v", g)
	}
	d.Head.AllowInvalid = true
	p = expand(t, d)
	r = decide.Aggregate(p, spoil(1))
	if rate, _ := r.Cells[3].Get("output_token_throughput", "avg"); rate.N != 3 {
		t.Errorf("allowed, and of %d trials", rate.N)
	}
	if r.Best[0].Cell.Cell.Short() != "concurrency 4" {
		t.Errorf("allowed, and ranked: %s", sentence(r.Best[0]))
	}
}

// Only what was asked for moves the exit code.
func TestWhatWasNotAskedForSpoilsNothing(t *testing.T) {
	t.Parallel()
	d := loads(3)
	d.Head.Objectives = []string{"time_to_first_token.p50"}
	p := expand(t, d)
	outcomes := measure(p, .001, tokens, ttft)
	for i := range outcomes {
		outcomes[i].Taints = validity.Taints{
			"output_token_throughput": {Check: "turnaround", Level: validity.Wrong},
			"time_to_first_token.p99": {Check: "turnaround", Level: validity.Wrong},
		}
	}
	r := decide.Aggregate(p, outcomes)
	if s := r.Spoiled(p); len(s) != 0 || !r.Best[0].Shown {
		t.Errorf("spoiled: %+v; best %s", s, sentence(r.Best[0]))
	}
	if k := decide.Asked(p); len(k) != 1 || k[0] != (decide.Key{Tag: "time_to_first_token", Stat: "p50"}) {
		t.Errorf("asked: %v", k)
	}
}

// A load that the server does not keep up with is never best, and leaves no doubt
// about which is: at 146 % the highest throughput was called best, with every check
// passed. Over trials the mean of the backlogs decides.
func TestAnOverloadedCellIsNotBest(t *testing.T) {
	t.Parallel()
	p := expand(t, loads(3))
	spoil := func(shares ...float64) *decide.Results {
		outcomes := measure(p, .001, tokens, ttft)
		for i := range outcomes {
			o := &outcomes[i]
			if o.Run.Cell.Index != 3 {
				continue
			}
			o.Backlog = &decide.Backlog{Share: shares[o.Run.Trial], Limit: 0.1}
			if o.Apart = validity.Valid; o.Backlog.Share > o.Backlog.Limit {
				o.Verdict = validity.Degraded
				o.Taints = validity.Taints{"output_token_throughput": {
					Check: validity.Backlog,
					Level: validity.Doubtful,
				}}
			}
		}
		return decide.Aggregate(p, outcomes)
	}
	r := spoil(0.2, 0.3, 0.08)
	if b := r.Best[0]; !b.Shown || b.Cell.Cell.Short() != "concurrency 4" ||
		!strings.HasSuffix(sentence(b), "; not ranked: concurrency 8 (overloaded)") || len(b.Cell.BestFor) == 0 {
		t.Errorf("best: %v %s", b.Shown, sentence(b))
	}
	if r.Cells[3].Front != decide.NotMarked || r.Cells[3].Verdict != validity.Degraded {
		t.Errorf("an overloaded cell is %s, on the front %v", r.Cells[3].Verdict, r.Cells[3].Front)
	}
	r = spoil(0.12, 0.02, 0.01)
	if b := r.Best[0]; b.Cell.Cell.Short() != "concurrency 8" || r.Cells[3].Verdict != validity.Valid {
		t.Errorf("one run of three had a backlog, and the mean none: %s, %s", r.Cells[3].Verdict, sentence(b))
	}
}
