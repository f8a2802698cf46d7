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
	p := &sweep.Plan{Cells: []*sweep.Cell{cell}, Trials: trials, MultiRun: schema.MultiRun{NumRuns: trials, ConfidenceLevel: 0.95, Convergence: &c}}
	var out []*decide.Outcome
	for i, v := range values {
		o := &decide.Outcome{Run: sweep.Run{Cell: cell, Trial: i, Label: "run_000" + string(rune('1'+i))}}
		if math.IsNaN(v) {
			o.Err = "every request failed"
		} else {
			o.Summaries = []metrics.Summary{{Window: decide.Full, Stats: []metrics.Stat{{Tag: "request_latency", Unit: "ms", Avg: v, Count: 100}}}}
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
			t.Errorf("%s: got %v after %d (%s), want %v after %d", c.name, enough, stop.After, stop.Why, c.enough, c.after)
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
// the truth as often as it claims, about; AIPerf's minimum of two does not.
func TestCoverageOfTrialsThatEndEarly(t *testing.T) {
	t.Parallel()
	const plans, most = 1500, 30
	covered := func(minimum int) float64 {
		sd := 0.08 // about a dozen trials are needed
		r := rand.New(rand.NewPCG(7, uint64(minimum)))
		hit := 0
		for range plans {
			values := make([]float64, 0, most)
			for n := 1; n <= most; n++ {
				values = append(values, 100*math.Exp(sd*r.NormFloat64()))
				if n < 2 || minimum == 0 && n < 7 {
					continue
				}
				p, runs := converging(schema.Convergence{Mode: "ci_width", MinRuns: minimum}, most, values...)
				if _, enough := decide.Enough(p, runs); enough {
					break
				}
			}
			if e := stats.Level(values, 0.95, 0); e.Low <= 100 && 100 <= e.High {
				hit++
			}
		}
		return float64(hit) / plans
	}
	ours, theirs := covered(0), covered(2)
	t.Logf("coverage %.3f with five and two more, %.3f from two on", ours, theirs)
	if ours < 0.92 {
		t.Errorf("five trials, and two more: intervals of 95 %% hold the truth in %.1f %%", 100*ours)
	}
	if theirs >= ours {
		t.Errorf("from two trials on they hold it in %.1f %%: then the two more are for nothing", 100*theirs)
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
		if got := res.StoppedEarly(); !strings.Contains(got, "base with 3 trials (request_latency.avg: interval 9.94 % of the mean, below 10 %") {
			t.Errorf("said: %s", got)
		}
	}
}
