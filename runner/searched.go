package runner

import (
	"fmt"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/search"
	"aiperf.dev/aiperf/sweep/source"
)

// searched is what an earlier process made of the plan's search: its cells, in the order
// in which they were made, since numbers and seeds follow from it, and the runs up to the
// first that was not done. They are taken as they are: with another budget the search
// might have asked for others.
func (r *runner) searched(before map[string]resultdir.Event) (done []source.Decision, err error) {
	if r.plan.Experiment.Search == nil && r.plan.Adaptive == nil {
		return nil, nil
	}
	cells := map[string]*sweep.Cell{}
	for _, c := range r.plan.Cells {
		cells[c.ID] = c
	}
	decided := map[string]resultdir.Event{}
	for _, e := range r.dir.Events {
		switch {
		case e.Made != nil && r.plan.Adaptive != nil:
			x := r.pointOf(e.Made.Point)
			if x == nil {
				return nil, fmt.Errorf("%s: a cell without its point: %v", resultdir.JournalName, e.Made.Point)
			}
			if cells[e.Made.ID], err = r.plan.GrowPoint(x); err != nil {
				return nil, err
			}
		case e.Made != nil:
			load := math.NaN()
			for _, v := range e.Made.Point { // of its only axis
				load, _ = v.(float64)
			}
			if !(load > 0) {
				return nil, fmt.Errorf("%s: a cell without a load: %v", resultdir.JournalName, e.Made.Point)
			}
			if cells[e.Made.ID], err = r.plan.GrowAt(load); err != nil {
				return nil, err
			}
		case e.Event == "decision":
			decided[e.Run] = e
		}
	}
	seen := map[string]bool{}
	for _, e := range r.dir.Events {
		if e.Event != "start" || seen[e.Run] {
			continue
		}
		c := cells[e.Cell]
		if c == nil || before[e.Run].Event != "done" {
			break
		}
		seen[e.Run] = true
		run := r.plan.RunOf(c, e.Trial)
		if r.plan.Adaptive != nil {
			run = r.plan.Iterated(c, e.Trial, len(done))
		}
		done = append(done, source.Decision{Run: run, Why: decided[e.Run].Why, Standing: decided[e.Run].Standing})
	}
	return done, nil
}

// counts reports whether what a run says about itself is about the result. In a search it is
// not where the load fails, since that a server is overloaded there is what was looked
// for, nor where a run was unusable and another one took its place.
func (res *Result) counts(run sweep.Run) bool {
	if res.Adaptive != nil {
		return res.adaptiveCounts(run)
	}
	if res.Search == nil {
		return true
	}
	if len(res.Search.Tiers) == 0 {
		return countsIn(res.Search, run)
	}
	return slices.ContainsFunc(res.Search.Tiers, func(t search.Tiered) bool { return countsIn(t.Answer, run) })
}

// countsIn is the same of the search for one limit.
func countsIn(a *search.Answer, run sweep.Run) bool {
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
	if len(res.Search.Tiers) == 0 {
		return res.exitOf(res.Search)
	}
	code := diag.OK
	for _, t := range res.Search.Tiers { // that of the first in this order
		for _, c := range []diag.Code{diag.Failed, diag.Missed, diag.Invalid} {
			if c == code {
				break
			}
			if res.exitOf(t.Answer) == c {
				code = c
				break
			}
		}
	}
	return code
}

func (res *Result) exitOf(a *search.Answer) diag.Code {
	switch {
	case a.Outcome == search.ServerLost:
		return diag.Failed
	case a.Outcome == search.Fewer:
		return diag.Missed
	case a.Outcome == search.Unbent, a.Outcome == search.BentAtEnd, a.Outcome == search.BentTwice:
		return diag.Invalid
	case res.invalid() && !res.Plan.Experiment.AllowInvalid:
		return diag.Invalid
	case a.Outcome == search.Bent, a.Outcome == search.BentAlone:
		return diag.OK
	case !a.Sure, a.Outcome == search.Contrary, a.Outcome == search.ClientLost, a.Holds == nil,
		a.Fails == nil && a.Outcome != search.AtLeast:
		return diag.Invalid
	}
	return diag.OK
}
