package runner

import (
	"testing"

	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/sweep"
)

// A run that stopped itself because too many requests failed is a failed run,
// whatever verdict its errors make; one that was interrupted is not.
func TestRunThatGaveUp(t *testing.T) {
	t.Parallel()
	report := &RunReport{Cancelled: "phase profiling: 6 of 10 requests failed, more than failed_request_threshold allows"}
	gaveUp := outcome(sweep.Run{ID: "b"}, report, nil)
	if gaveUp.Err != report.Cancelled {
		t.Errorf("error %q, want the reason", gaveUp.Err)
	}
	if o := outcome(sweep.Run{ID: "c"}, &RunReport{Cancelled: loadgen.Interrupted}, nil); o.Err != "" {
		t.Errorf("an interrupted run is a failure: %q", o.Err)
	}
	res := &Result{Outcomes: []sweep.Outcome{{Run: sweep.Run{ID: "a"}}, gaveUp}, Verdict: Invalid, Reports: map[string]*RunReport{"a": {}, "b": report}}
	if got := res.ExitCode(); got != 1 {
		t.Errorf("exit code %d, want 1", got)
	}
}
