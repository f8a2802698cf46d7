package runner

import (
	"testing"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
	"aiperf.dev/aiperf/sweep/sweeptest"
)

// ended is how a plan ended that compares two endpoints and has gates.
type ended struct {
	interrupted, lost, failed bool // a signal; records lost; one run failed
	invalid, allowed          bool // the measurement as a whole; allow_invalid
	named, unnamed            bool // a number is invalid that a gate names; one that only the comparison uses
	missed                    bool // a gate
	compared                  decide.Verdict
}

// want is the exit code by the order of docs/exit-codes.md, where that is what the comparison says.
func (e ended) want(compared decide.Verdict) diag.Code {
	decided := e.missed || compared == decide.Worse
	switch {
	case e.interrupted:
		return diag.Interrupted
	case e.lost:
		return diag.Failed
	case (e.invalid || e.named) && !e.allowed:
		return diag.Invalid
	case e.unnamed && !decided && !e.allowed:
		return diag.Invalid
	case e.failed:
		return diag.Failed
	case decided:
		return diag.Missed
	case compared == decide.Unclear:
		return diag.Invalid
	}
	return diag.OK
}

// result makes a plan that ended so.
func (e ended) result(t *testing.T, plan *sweep.Plan) *Result {
	t.Helper()
	by := 1.0
	switch e.compared {
	case decide.Worse:
		by = 1.5
	case decide.Better:
		by = 0.6
	}
	var outcomes []decide.Outcome
	for _, run := range plan.Runs {
		o := decide.Outcome{
			Run: run, OK: 200, Sent: 200, Records: 200, Taints: validity.Taints{},
			Summaries: []metrics.Summary{{Window: decide.Full}},
		}
		first := 20 * (1 + 0.002*float64((2*run.Trial+run.Cell.Index)%3))
		if e.compared == decide.Unclear && run.Cell.Index == 1 {
			first *= []float64{0.7, 1.4, 1, 0.8, 1.3}[run.Trial]
		}
		if run.Cell.Index == 1 {
			first *= by
		}
		for tag, v := range map[string]float64{metrics.TimeToFirstToken: first, metrics.InterTokenLatency: 5} {
			st := metrics.Blank(tag, "ms")
			st.Count, st.NEff, st.Avg = 200, 200, v
			st.Put("p50", v)
			st.Put("p90", 2*v)
			o.Summaries[0].Stats = append(o.Summaries[0].Stats, st)
		}
		if e.named {
			o.Taints.Add(metrics.InterTokenLatency+".p50", "coalesced", validity.Wrong)
		}
		if e.unnamed && run.Cell.Index == 1 {
			o.Taints.Add(metrics.TimeToFirstToken+".p90", "coalesced", validity.Wrong)
		}
		outcomes = append(outcomes, o)
	}
	res := &Result{Plan: plan, Interrupted: e.interrupted, Verdict: verdict.Degraded, Reports: map[string]*RunReport{}}
	if e.invalid {
		res.Verdict = verdict.Invalid
	}
	res.Results = decide.Aggregate(plan, outcomes)
	res.Outcomes = outcomes
	if e.failed {
		res.Outcomes = append(res.Outcomes, decide.Outcome{Run: sweep.Run{ID: "failed"}, Err: "connection refused"})
	}
	if e.lost {
		res.Reports[outcomes[0].Run.ID] = &RunReport{Lost: "3 records lost"}
	}
	if got := res.Results.Comparisons[0].Outcome(); got != e.compared && got != decide.Unclear ||
		e.compared == decide.Worse && got != decide.Worse { // invalid numbers leave some open, never what is worse
		t.Fatalf("%+v: the comparison is %s", e, got)
	}
	if !e.named && (res.Results.GatesMissed > 0) != e.missed { // a gate without its number counts as missed
		t.Fatalf("%+v: %d gates missed", e, res.Results.GatesMissed)
	}
	return res
}

// What was asked for decides, and a number that no one named does not hide it: every
// combination of what can happen to a plan.
func TestExitCodesOfEveryCombination(t *testing.T) {
	t.Parallel()
	plans := map[[2]bool]*sweep.Plan{}
	for _, missed := range []bool{false, true} {
		for _, allowed := range []bool{false, true} {
			gate := "time_to_first_token.p50 < 1000"
			if missed {
				gate = "time_to_first_token.p50 < 1"
			}
			settings := []string{
				"multi_run.num_runs=5", "compare={axis: endpoint}", "phases.profiling.requests=200",
				"sweep={parameters: {endpoint: [{label: before, url: http://a}, {label: after, url: http://b}]}}",
				`gates=["` + gate + `", "inter_token_latency.p50 < 1000"]`,
			}
			if allowed {
				settings = append(settings, "allow_invalid=true")
			}
			plans[[2]bool{missed, allowed}] = sweeptest.PlanOf(t, settings...)
		}
	}
	spoiled := false
	for bits := range 1 << 8 {
		is := func(i int) bool { return bits>>i&1 == 1 }
		for _, compared := range []decide.Verdict{decide.Worse, decide.Better, decide.Equivalent, decide.Unclear} {
			e := ended{
				interrupted: is(0), lost: is(1), failed: is(2), invalid: is(3), allowed: is(4), named: is(5),
				unnamed: is(6), missed: is(7), compared: compared,
			}
			res := e.result(t, plans[[2]bool{e.missed, e.allowed}])
			if got, want := res.ExitCode(), e.want(res.Results.Comparisons[0].Outcome()); got != want {
				t.Errorf("%+v: exit %d, want %d", e, got, want)
			}
			spoiled = spoiled || len(res.Results.Spoiled(res.Plan)) == 1 && e.unnamed && res.ExitCode() == diag.Missed
		}
	}
	if !spoiled {
		t.Error("no WORSE stood beside a number that is invalid and that no one named")
	}
}
