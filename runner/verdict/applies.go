package verdict

import (
	"slices"

	"aiperf.dev/aiperf/schema"
)

// Of is what a check judges: how "has no effect" goes on where there is none of it.
type Of string

// What checks judge, where not every run.
const (
	anyRun      Of = ""
	nothing     Of = ": the check describes, and judges nothing"
	closedLoops Of = " without a closed loop (type: concurrency)"
	openLoops   Of = " without an open loop or a replay"
	streams     Of = " without streaming (endpoint.streaming: true)"
	severalRuns Of = " without several runs"
	trials      Of = " without several trials (multi_run.num_runs)"
	sentinels   Of = " without multi_run.sentinel"
	untilStable Of = " without a load that ends when it is stable (stability)"
)

// Idle is why limits of a check have no effect on a cell of experiment e with this
// body, "" where they have one.
func Idle(id string, e schema.Experiment, body *schema.Benchmark, cells int) Of {
	of := anyRun
	for _, c := range checks() {
		if c.ID == id {
			of = c.Of
		}
	}
	for _, c := range planChecks {
		if c.ID == id && c.Of != anyRun {
			of = c.Of
		}
	}
	if of.given(e, body, cells) {
		return anyRun
	}
	return of
}

func (o Of) given(e schema.Experiment, body *schema.Benchmark, cells int) bool {
	loop := func(closed bool) bool {
		return slices.ContainsFunc(body.Phases, func(p schema.Phase) bool {
			return p.Kind != "warmup" && p.Closed() == closed
		})
	}
	switch o {
	case nothing:
		return false
	case closedLoops:
		return loop(true)
	case openLoops:
		return loop(false)
	case untilStable:
		return slices.ContainsFunc(body.Phases, func(p schema.Phase) bool { return p.Kind != "warmup" && p.Stability != nil })
	case streams:
		return body.Endpoint.Streaming
	case severalRuns:
		return cells > 1 || e.MultiRun.NumRuns > 1 || e.Search != nil
	case trials:
		return e.MultiRun.NumRuns > 1 || e.Search != nil
	case sentinels:
		return e.MultiRun.Sentinel
	}
	return true
}
