package decide_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// converging is a plan of one cell that may end early, and the outcomes of its
// trials: one mean of request_latency each, NaN for a run that failed.
func converging(c schema.Convergence, trials int, values ...float64) (*sweep.Plan, []*decide.Outcome) {
	c.Metric, c.Stat = "request_latency", "avg"
	cell := &sweep.Cell{ID: "c", Label: "base", Resolved: &schema.Resolved{}}
	p := &sweep.Plan{
		Cells: []*sweep.Cell{cell}, Trials: trials,
		MultiRun: schema.MultiRun{NumRuns: trials, ConfidenceLevel: 0.95, Convergence: &c},
	}
	var out []*decide.Outcome
	for i, v := range values {
		o := &decide.Outcome{Run: sweep.Run{Cell: cell, Trial: i, Label: "run_000" + string(rune('1'+i))}}
		if math.IsNaN(v) {
			o.Err = "every request failed"
		} else {
			o.Summaries = []metrics.Summary{{
				Window: decide.Full,
				Stats:  []metrics.Stat{{Tag: "request_latency", Unit: "ms", Avg: v, Count: 100}},
			}}
		}
		out = append(out, o)
	}
	return p, out
}

// Hand-computed: for 98, 100, 102 s = 2, so t₀.₉₇₅,₂ = 4.303 makes the interval
// 2·4.303·2/√3 = 9.94 wide, 9.94 % of the mean of 100, and the trials vary by 2 %.
func TestEnough(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	share := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		name   string
		rule   schema.Convergence
		values []float64
		enough bool
		after  int
	}{
		{"AIPerf's minimum: the interval is 9.94 % of the mean", schema.Convergence{Mode: "ci_width", MinRuns: 3}, []float64{98, 100, 102}, true, 3},
		{"… and not below 9.9 %", schema.Convergence{Mode: "ci_width", MinRuns: 3, Threshold: share(0.099)}, []float64{98, 100, 102}, false, 0},
		{"… and not before three", schema.Convergence{Mode: "ci_width", MinRuns: 3}, []float64{100, 100.1}, false, 0},
		{"cv: 2 % is below 5 %", schema.Convergence{Mode: "cv", MinRuns: 3}, []float64{98, 100, 102}, true, 3},
		{"cv: and not below 2 %", schema.Convergence{Mode: "cv", MinRuns: 3, Threshold: share(0.02)}, []float64{98, 100, 102}, false, 0},
		{"without a minimum five trials, and two more", schema.Convergence{Mode: "ci_width"}, []float64{99, 101, 99, 101, 100, 100}, false, 0},
		{"… are seven", schema.Convergence{Mode: "ci_width"}, []float64{99, 101, 99, 101, 100, 100, 120}, true, 5},
		{"the two that follow change nothing of it", schema.Convergence{Mode: "ci_width"}, []float64{99, 101, 99, 101, 100, 500, 900}, true, 5},
		{"a failed run is no trial", schema.Convergence{Mode: "ci_width", MinRuns: 3}, []float64{98, nan, 102}, false, 0},
		{"… and another takes its place", schema.Convergence{Mode: "ci_width", MinRuns: 3}, []float64{98, nan, 102, 100}, true, 3},
		{"trials that are alike", schema.Convergence{Mode: "ci_width", MinRuns: 2}, []float64{100, 100}, true, 2},
		{"a mean of 0 is relative to nothing", schema.Convergence{Mode: "ci_width", MinRuns: 2}, []float64{0, 0, 0}, false, 0},
		{"endless is known to no width", schema.Convergence{Mode: "cv", MinRuns: 2}, []float64{100, math.Inf(1), 100}, false, 0},
	} {
		p, runs := converging(c.rule, 10, c.values...)
		stop, enough := decide.Enough(p, runs)
		if enough != c.enough || stop.After != c.after {
			t.Errorf("%s: got %v after %d (%s), want %v after %d", c.name, enough, stop.After, stop.Why, c.enough,
				c.after)
		}
		if strings.Contains(stop.Why, "NaN") {
			t.Errorf("%s: %s", c.name, stop.Why)
		}
	}
}

// The newest trial against all earlier ones: with the same requests P is 1, with
// others all above them it is 2·3!·6!/9! = 2/84.
func TestEnoughByDistribution(t *testing.T) {
	t.Parallel()
	p, runs := converging(schema.Convergence{Mode: "distribution", MinRuns: 3}, 10, 2, 2, 2)
	for _, o := range runs {
		o.Sample = []float64{1, 2, 3}
	}
	if got := decide.SampleTag(p); got != "request_latency" {
		t.Errorf("SampleTag: %q", got)
	}
	if _, enough := decide.Enough(p, runs); !enough {
		t.Error("the newest trial is as the earlier ones, and more are asked for")
	}
	runs[2].Sample = []float64{11, 12, 13}
	if stop, enough := decide.Enough(p, runs); enough {
		t.Errorf("the newest trial is unlike the earlier ones: %s", stop.Why)
	}
	runs[2].Sample = nil // measured by a program that kept none
	if _, enough := decide.Enough(p, runs); enough {
		t.Error("a trial without requests counts")
	}
}

// Trials that end early: their interval over as many trials as were needed holds
// the truth in 93 % and more, however much trials vary; with AIPerf's minimum of two
// it does not.
func TestCoverageOfTrialsThatEndEarly(t *testing.T) {
	t.Parallel()
	const plans, most = 3000, 30
	covered := func(minimum int, sd float64) (share, trials float64) {
		r := rand.New(rand.NewPCG(7, uint64(1000*sd)))
		for range plans {
			values := make([]float64, most)
			for i := range values {
				values[i] = 100 * math.Exp(sd*r.NormFloat64())
			}
			p, runs := converging(schema.Convergence{Mode: "ci_width", MinRuns: minimum}, most, values...)
			n := most
			if stop, enough := decide.Enough(p, runs); enough {
				if n = stop.After; minimum == 0 {
					n += sweep.Afterwards
				}
			}
			trials += float64(n) / plans
			if e := stats.Level(values[:n], 0.95, 0); e.Low <= 100 && 100 <= e.High {
				share += 1. / plans
			}
		}
		return share, trials
	}
	const luck = 0.011 // 2.33 standard errors of a share of 93 %
	for _, sd := range []float64{0.02, 0.05, 0.08, 0.12, 0.2} {
		ours, n := covered(0, sd)
		theirs, few := covered(2, sd)
		t.Logf("trials vary by %.0f %%: coverage %.1f %% with %.1f trials, five and two more; %.1f %% with %.1f trials, from two on",
			100*sd, 100*ours, n, 100*theirs, few)
		if ours < 0.93-luck {
			t.Errorf("trials vary by %.0f %%: intervals of 95 %% hold the truth in %.1f %%", 100*sd, 100*ours)
		}
		if sd > 0.02 && sd < 0.2 && theirs >= ours {
			t.Errorf("trials vary by %.0f %%: from two trials on intervals hold it in %.1f %%, with the two more in %.1f %%",
				100*sd, 100*theirs, 100*ours)
		}
	}
}

// A cell that ended early is complete, and says why; one of whose runs failed is
// not.
func TestCellThatEndedEarly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		want   decide.Status
	}{
		{[]float64{98, 100, 102}, decide.Complete},
		{[]float64{98, math.NaN(), 100, 102}, decide.Partial},
	} {
		p, runs := converging(schema.Convergence{Mode: "ci_width", MinRuns: 3}, 10, c.values...)
		var outcomes []decide.Outcome
		for _, o := range runs {
			o.Run.ID = o.Run.Label
			p.Runs = append(p.Runs, o.Run)
			outcomes = append(outcomes, *o)
		}
		res := decide.Aggregate(p, outcomes)
		cell := res.Cells[0]
		if cell.Status != c.want || cell.Stopped == nil || cell.Trials != 3 {
			t.Errorf("%v: %s, %d trials, stopped %v", c.values, cell.Status, cell.Trials, cell.Stopped)
		}
		if got := res.StoppedEarly(); !strings.Contains(got,
			"base with 3 trials (request_latency.avg: interval 9.94 % of the mean, below 10 %") {
			t.Errorf("said: %s", got)
		}
	}
}
