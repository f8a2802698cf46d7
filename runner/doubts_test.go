package runner

import (
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
	"aiperf.dev/aiperf/sweep/sweeptest"
)

// What weakens the results of a run stands in its report.
func TestDoubtsOfTheTransport(t *testing.T) {
	t.Parallel()
	const unchecked, late = "TLS certificate was not checked", "this program's and not the kernel's"
	for _, c := range []struct {
		url      string
		insecure bool
		stamps   string
		want     []string
	}{
		{"https://host", false, "kernel", nil},
		{"https://host", true, "kernel", []string{unchecked}},
		{"http://host", true, "kernel", nil}, // there is nothing to check
		{"https://host", true, "application", []string{unchecked, late}},
		{"http://host", false, "application", []string{late}},
	} {
		got := transportDoubts(&schema.Endpoint{URLs: []string{c.url}, Insecure: c.insecure}, c.stamps)
		ok := len(got) == len(c.want)
		for i := range got {
			ok = ok && strings.Contains(got[i], c.want[i])
		}
		if !ok {
			t.Errorf("%s, insecure %v, stamps %s: %q, want %q", c.url, c.insecure, c.stamps, got, c.want)
		}
	}
}

// What matters most stands first: the verdict, then how far the value is beyond
// its limit; never the alphabet.
func TestDoubtsAreOrderedByEffect(t *testing.T) {
	t.Parallel()
	limit := 0.02
	found := func(check string, v verdict.Verdict, value float64) verdict.Finding {
		return verdict.Finding{Check: check, Verdict: v, Value: value, Warn: &limit, Fail: &limit}
	}
	res := &Result{
		Outcomes: []decide.Outcome{{Run: sweep.Run{ID: "a"}}, {Run: sweep.Run{ID: "b"}}},
		Reports: map[string]*RunReport{
			"a": {Verdict: verdict.Degraded, Findings: []verdict.Finding{found("censored", verdict.Degraded, 0.03), found("turnaround", verdict.Degraded, 0.3), found("clean", verdict.Valid, 9)}},
			"b": {Verdict: verdict.Invalid, Findings: []verdict.Finding{found("turnaround", verdict.Degraded, 0.1), found("sink", verdict.Invalid, 0.021)}},
		},
		PlanFindings: []verdict.Finding{found("drift", verdict.Degraded, 0.06)},
	}
	var order []string
	for _, d := range res.doubts() {
		order = append(order, d.Check)
	}
	if got := strings.Join(order, " "); got != "sink turnaround drift censored" {
		t.Errorf("findings in the order %s", got)
	}
}

// Single numbers that are invalid make a run DEGRADED, as failed requests do, which every number
// is about: these come first.
func TestWhatMadeTheVerdictIsFirst(t *testing.T) {
	t.Parallel()
	limit := 0.01
	found := func(check string, v verdict.Verdict, value float64, touched string) verdict.Finding {
		return verdict.Finding{
			Check: check, Verdict: v, Value: value, Warn: &limit, Fail: &limit,
			Taints: verdict.Touched{touched: validity.LevelOf(v)},
		}
	}
	res := &Result{
		Outcomes: []decide.Outcome{{Run: sweep.Run{ID: "a"}}},
		Reports: map[string]*RunReport{"a": {Verdict: verdict.Degraded, Findings: []verdict.Finding{
			found("coalesced", verdict.Invalid, 9, metrics.InterTokenLatency+".p90"),
			found(validity.Errors, verdict.Degraded, 0.02, "*"),
		}}},
	}
	got := res.doubts()
	if len(got) != 2 || got[0].Check != validity.Errors || got[1].Verdict != verdict.Degraded {
		t.Errorf("%+v", got)
	}
}

// Over the trials of a cell the mean of the backlogs decides: one run of three that
// ended with a queue by chance made the whole plan DEGRADED.
func TestBacklogOfOneRunIsNotThatOfThePlan(t *testing.T) {
	t.Parallel()
	limit := 0.1
	plan := sweeptest.PlanOf(t, "multi_run.num_runs=3")
	judged := func(shares ...float64) *Result {
		res := &Result{Plan: plan, Reports: map[string]*RunReport{}}
		for i, run := range plan.Runs {
			v := verdict.Valid
			if shares[i] > limit {
				v = verdict.Degraded
			}
			rep := &RunReport{
				Verdict: v, Backlog: &shares[i], BacklogMax: &limit,
				Findings: []verdict.Finding{{Check: validity.Backlog, Verdict: v, Value: shares[i], Warn: &limit}},
			}
			res.Reports[run.ID] = rep
			res.Outcomes = append(res.Outcomes,
				outcome(run, rep, &reading{summaries: []metrics.Summary{{Window: decide.Full}}}))
		}
		res.Results = decide.Aggregate(plan, res.Outcomes)
		return res
	}
	if res := judged(0.2, 0.01, 0.02); res.worstRun() != verdict.Valid || len(res.doubts()) != 0 ||
		res.Results.Cells[0].Verdict != validity.Valid {
		t.Errorf("one run of three: %s, %+v, cell %s", res.worstRun(), res.doubts(), res.Results.Cells[0].Verdict)
	}
	res := judged(0.2, 0.3, 0.02)
	if res.worstRun() != verdict.Degraded || len(res.doubts()) != 1 ||
		res.Results.Cells[0].Verdict != validity.Degraded {
		t.Errorf("two runs of three: %s, %+v, cell %s", res.worstRun(), res.doubts(), res.Results.Cells[0].Verdict)
	}
	// what the plan finds over them is not a run more
	of := verdict.Finding{Check: validity.Backlog, Verdict: verdict.Degraded, Value: 0.17, Warn: &limit}
	res.PlanFindings = []verdict.Finding{of}
	if d := res.doubts(); len(d) != 1 || d[0].Runs != 2 || len(d[0].Cells) != 1 {
		t.Errorf("two runs of three and the plan: %+v", d)
	}
}

// A finding over the plan marks the numbers of the cells that it touches, as one of a
// run does: they are in no ranking.
func TestPlanFindingsMarkNumbers(t *testing.T) {
	t.Parallel()
	const trials = 5
	plan := sweeptest.PlanOf(t, "multi_run.num_runs=5", "sweep={parameters: {phases.profiling.concurrency: [1, 2, 4]}}")
	latency := decide.Key{Tag: metrics.RequestLatency, Stat: "p50"}
	judged := func(change func(*verdict.PlanEvidence)) *Result {
		res := &Result{Plan: plan, Reports: map[string]*RunReport{}}
		e := verdict.PlanEvidence{Trials: trials}
		for _, c := range plan.Cells {
			cell := verdict.CellEvidence{Index: c.Index, Label: c.Short(), OK: trials}
			for trial := range trials {
				noise := 0.001 * float64((3*c.Index+2*trial)%5)
				cell.Medians, cell.Shifts = append(cell.Medians, 100*(1+noise)), append(cell.Shifts, noise)
			}
			e.Cells = append(e.Cells, cell)
		}
		change(&e)
		for _, run := range plan.Runs {
			s := metrics.Blank(metrics.RequestLatency, "ms")
			s.Put("p50", 100/float64(1+run.Cell.Index)+0.01*float64(run.Trial))
			res.Outcomes = append(res.Outcomes, decide.Outcome{
				Run: run, OK: 100, Sent: 100, Taints: validity.Taints{},
				Summaries: []metrics.Summary{{Window: decide.Full, Stats: []metrics.Stat{s}}},
			})
		}
		res.Results = decide.Aggregate(plan, res.Outcomes)
		res.PlanFindings = verdict.JudgePlan(&e, nil)
		if MarkByPlan(res.Outcomes, res.PlanFindings) {
			res.Results = decide.Aggregate(plan, res.Outcomes)
		}
		return res
	}
	for _, c := range []struct {
		name   string
		change func(*verdict.PlanEvidence)
		want   [3]string // by cell, what touches its latency
	}{
		{"clean", func(*verdict.PlanEvidence) {}, [3]string{}},
		{"a drifting server", func(e *verdict.PlanEvidence) {
			for _, cell := range e.Cells {
				for trial := range cell.Medians {
					cell.Medians[trial] *= 1 + 0.05*float64(trial)
				}
			}
		}, [3]string{"drift: doubtful", "drift: doubtful", "drift: doubtful"}},
		{"two cells that warm up", func(e *verdict.PlanEvidence) {
			for _, i := range []int{0, 2} {
				for trial := range e.Cells[i].Shifts {
					e.Cells[i].Shifts[trial] -= 0.2
				}
			}
		}, [3]string{"warmup: doubtful", "", "warmup: doubtful"}},
		{"one run with stamps of its own", func(e *verdict.PlanEvidence) {
			e.Stamps = map[string][]verdict.Spot{"kernel": {{Cell: 0, Trial: 0}}, "application": {{Cell: 1, Trial: 3}}}
		}, [3]string{"", "stamps: doubtful in 1 of 5 trials", ""}},
		{"a sentinel that moved", func(e *verdict.PlanEvidence) {
			e.Sentinel = []verdict.Median{
				{Value: 100, Low: 99, High: 101},
				{Value: 100, Low: 99, High: 101},
				{Value: 120, Low: 119, High: 121},
			}
		}, [3]string{"sentinel: doubtful", "sentinel: doubtful", "sentinel: doubtful"}},
	} {
		res := judged(c.change)
		for i := range res.Results.Cells {
			cell := &res.Results.Cells[i]
			if got := cell.Taint(latency).String(); got != c.want[i] {
				t.Errorf("%s: latency of cell %d: %q, want %q", c.name, i, got, c.want[i])
			}
			if rate := cell.Taint(decide.Key{Tag: metrics.RequestThroughput, Stat: "avg"}); !rate.None() {
				t.Errorf("%s: throughput of cell %d: %s, want no mark", c.name, i, rate)
			}
		}
	}
}
