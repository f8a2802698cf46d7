package verdict_test

import (
	"testing"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/runner/verdict"
)

// What was cancelled on purpose is no error: beside "61 of 576 failed" the kinds
// of errors counted 65.
func TestCancelledRequestsAreNoErrors(t *testing.T) {
	t.Parallel()
	e := verdict.NewEvidence(loadgen.Result{Phases: []loadgen.PhaseResult{{Name: "profiling"}}}, telemetry.Host{})
	for status, n := range map[record.Status]int{
		record.OK: 5, record.Cancelled: 4, record.HTTPError: 3,
		record.Timeout: 2,
	} {
		for range n {
			r := &record.Record{Phase: "profiling", Status: status, HTTPStatus: record.None}
			if status == record.HTTPError {
				r.HTTPStatus = 503
			}
			e.Add(r)
		}
	}
	got := e.Errors().Frequent(9)
	if len(got) != 2 || got[0].Count != 3 || got[0].HTTP != 503 || got[1].Count != 2 {
		t.Errorf("errors %+v, want 3 of http_503 and 2 timeouts", got)
	}
}
