package runner

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
	"aiperf.dev/aiperf/sweep/sweeptest"
)

// A run that stopped itself because too many requests failed is a failed run,
// whatever verdict its errors make; one that was interrupted is not.
func TestRunThatGaveUp(t *testing.T) {
	t.Parallel()
	report := &RunReport{Cancelled: "--failed-request-threshold exceeded: 6/10 requests of phase profiling failed"}
	gaveUp := outcome(sweep.Run{ID: "b"}, report, &reading{})
	if gaveUp.Err != report.Cancelled {
		t.Errorf("error %q, want the reason", gaveUp.Err)
	}
	if o := outcome(sweep.Run{ID: "c"}, &RunReport{Cancelled: loadgen.Interrupted}, &reading{}); o.Err != "" {
		t.Errorf("an interrupted run is a failure: %q", o.Err)
	}
	res := &Result{
		Outcomes: []decide.Outcome{{Run: sweep.Run{ID: "a"}}, gaveUp}, Verdict: verdict.Invalid,
		Reports: map[string]*RunReport{"a": {}, "b": report},
	}
	if got := res.ExitCode(); got != 1 {
		t.Errorf("exit code %d, want 1", got)
	}
}

// A plan that an interrupt ended before its first request says that it has nothing,
// and not that its numbers are good.
func TestInterruptedBeforeTheFirstRun(t *testing.T) {
	t.Parallel()
	issue, stop := context.WithCancel(t.Context())
	stop()
	plan := sweeptest.PlanOf(t, "benchmark.endpoint.urls=[mock:]", "tokenizer.name=builtin",
		"datasets.main.prompts.isl=8", "tables.formats=[csv]")
	res, err := Run(issue, t.Context(), plan, Options{Dir: t.TempDir() + "/out"})
	if err != nil {
		t.Fatal(err)
	}
	if v := res.Report().Verdict; v != validity.Failed || res.ExitCode() != diag.Interrupted {
		t.Errorf("verdict %s, exit code %d", v, res.ExitCode())
	}
	if why := res.NothingMeasured(); why == nil || !strings.Contains(why.Error(), "interrupted") {
		t.Errorf("why nothing was measured: %v", why)
	}
}

// A plan whose only run was cut short has no figures, and no verdict on them; one that has a
// whole run has both, and so has the only run of a plan, which shows what it has.
func TestVerdictOfAPlanThatWasInterrupted(t *testing.T) {
	t.Parallel()
	whole := decide.Outcome{Run: sweep.Run{ID: "a"}, Sent: 8, OK: 8}
	cut := decide.Outcome{Run: sweep.Run{ID: "b"}, Sent: 8, OK: 8, Interrupted: true, Err: "interrupted after 8 requests"}
	for _, c := range []struct {
		runs []decide.Outcome
		want verdict.Verdict
	}{
		{nil, validity.Failed},
		{[]decide.Outcome{cut}, validity.Failed},
		{[]decide.Outcome{whole, cut}, verdict.Valid},
		{[]decide.Outcome{whole}, verdict.Valid},
	} {
		res := Result{
			Verdict: verdict.Valid, Outcomes: c.runs, Interrupted: true,
			Reports: map[string]*RunReport{"a": {}, "b": {}},
		}
		if got := res.said(); got != c.want {
			t.Errorf("%d runs: %s, want %s", len(c.runs), got, c.want)
		}
	}
}

// A mistake that shows only when a file is read to its end is still one of the input: nothing
// was sent.
func TestMistakeFarIntoAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "long.jsonl")
	long := `{"text":"` + strings.Repeat("a b ", 9<<20/4) + `"}` + "\n"
	if err := os.WriteFile(file, []byte(long+`{"text": 5}`+"\n{\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	plan := sweeptest.PlanOf(t, "benchmark.endpoint.urls=[mock:]", "tokenizer.name=builtin", "datasets.main.type=file",
		"datasets.main.path="+file, "datasets.main.format=single_turn", "tables.formats=[csv]")
	res, err := Run(t.Context(), t.Context(), plan, Options{Dir: dir + "/out"})
	if err != nil {
		t.Fatal(err)
	}
	why := diag.Of(res.NothingMeasured())
	if res.ExitCode() != diag.Usage || why.Message != file+":2: text: want a string" || len(why.More) != 1 ||
		!strings.HasPrefix(why.More[0], file+":3: not a JSON object") {
		t.Errorf("exit code %d, %q, %q", res.ExitCode(), why.Message, why.More)
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	run := decide.Outcome{}
	run.OK = 1
	failed := decide.Outcome{Err: "connection refused"}
	plan := func(allowInvalid bool) *sweep.Plan {
		return &sweep.Plan{Experiment: schema.Experiment{AllowInvalid: allowInvalid}}
	}
	cases := []struct {
		name string
		res  Result
		want diag.Code
	}{
		{"all well", Result{Outcomes: []decide.Outcome{run}}, 0},
		{"not one answer, for all were cut off", Result{Outcomes: []decide.Outcome{{}}}, 1},
		{"nothing measured", Result{Outcomes: []decide.Outcome{failed}}, 1},
		{"nothing measured of a damaged file", Result{Outcomes: []decide.Outcome{failed}, Failures: map[string]error{"": &onerun.InputError{Err: io.EOF}}}, 2},
		{"nothing measured of two, one by a damaged file", Result{Outcomes: []decide.Outcome{failed, {Run: sweep.Run{ID: "b"}, Err: "refused"}}, Failures: map[string]error{"": &onerun.InputError{Err: io.EOF}, "b": io.EOF}}, 1},
		{"one of two failed", Result{Outcomes: []decide.Outcome{run, failed}}, 1},
		{"gate missed", Result{Outcomes: []decide.Outcome{run}, Results: &decide.Results{GatesMissed: 1}}, 3},
		{"invalid is worse than a gate", Result{Outcomes: []decide.Outcome{run}, Verdict: verdict.Invalid, Results: &decide.Results{GatesMissed: 1}}, 4},
		{"invalid on purpose", Result{Plan: plan(true), Outcomes: []decide.Outcome{run}, Verdict: verdict.Invalid}, 0},
		{"records lost, invalid on purpose", Result{Plan: plan(true), Outcomes: []decide.Outcome{run, failed}, Verdict: verdict.Invalid, Reports: map[string]*RunReport{"b": {Lost: "3 records lost"}}}, 1},
		{"records lost of one of two", Result{Outcomes: []decide.Outcome{run, failed}, Verdict: verdict.Invalid, Reports: map[string]*RunReport{"b": {Lost: "3 records lost"}}}, 1},
		{"invalid on purpose, gate missed", Result{Plan: plan(true), Outcomes: []decide.Outcome{run}, Verdict: verdict.Invalid, Results: &decide.Results{GatesMissed: 1}}, 3},
		{"invalid on purpose, one of two failed", Result{Plan: plan(true), Outcomes: []decide.Outcome{run, failed}, Verdict: verdict.Invalid}, 1},
		{"interrupted is worse than all", Result{Outcomes: []decide.Outcome{failed}, Verdict: verdict.Invalid, Interrupted: true}, 130},
	}
	for _, c := range cases {
		if c.res.Plan == nil {
			c.res.Plan = plan(false)
		}
		if got := c.res.ExitCode(); got != c.want {
			t.Errorf("%s: exit %d, want %d", c.name, got, c.want)
		}
	}
}
