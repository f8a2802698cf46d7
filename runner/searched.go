package runner

import (
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/search"
)

// counts tells whether what a run says of itself is about the result. In a search it is
// not where the load fails, since that a server is overloaded there is what was looked
// for, nor where a run was unusable and another one took its place.
func (res *Result) counts(run sweep.Run) bool {
	a := res.Search
	if a == nil {
		return true
	}
	if a.Outcome == search.ClientLost && run.Cell.Load() == a.At {
		return true
	}
	for _, l := range a.Loads {
		if l.Load == run.Cell.Load() {
			if l.State == search.Fails {
				return false
			}
			return run.ID == "" || !a.Unfit(run.Cell.Load(), run.Trial)
		}
	}
	return false
}

// searchExit is what a search ends with: success where a bracket has two ends or the
// whole range holds, missed where nothing in the range does.
func (res *Result) searchExit() diag.Code {
	switch a := res.Search; {
	case a.Outcome == search.ServerLost:
		return diag.Failed
	case a.Outcome == search.Fewer:
		return diag.Missed
	case res.invalid() && !res.Plan.Experiment.AllowInvalid:
		return diag.Invalid
	case !a.Sure, a.Outcome == search.Contrary, a.Outcome == search.ClientLost, a.Holds == nil, a.Fails == nil && a.Outcome != search.AtLeast:
		return diag.Invalid
	}
	return diag.OK
}
