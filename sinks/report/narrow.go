package report

import (
	"fmt"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
	"aiperf.dev/aiperf/sweep/search"
)

// This file says what makes a bracket narrower, and what it costs.

// searchPrice is what a narrower bracket costs, where there is a wide one.
func (r *Report) searchPrice() string {
	a := r.Search
	if a.Holds == nil || a.Fails == nil || r.adjacent() || a.Outcome != search.Wide && a.Outcome != search.Spent {
		return ""
	}
	low, high := min(a.Holds.Load, a.Fails.Load), max(a.Holds.Load, a.Fails.Load)
	takes := "about 4 more probes"
	if r.needsLonger() {
		takes = "about 4 times as many requests a run"
	}
	return fmt.Sprintf("to halve the gap between %s and %s takes %s", load(low), load(high), takes)
}

// needsLonger reports whether only longer runs make a bracket narrower: as many short ones as a search
// makes did not decide a load in it.
func (r *Report) needsLonger() bool {
	a := r.Search
	low, high := r.ends()
	return a.Outcome == search.Wide || slices.ContainsFunc(a.Loads, func(l search.Load) bool {
		return l.Load >= low && l.Load <= high && l.State == search.Undecided && l.Runs >= sweep.SearchedRuns
	})
}

// ends are those of the bracket, or of the range where one is missing.
func (r *Report) ends() (low, high float64) {
	span := r.Plan.Experiment.Search.Range
	low, high = span[0], span[1]
	for _, l := range []*search.Load{r.Search.Holds, r.Search.Fails} {
		switch {
		case l == nil:
		case (l == r.Search.Holds) == (r.Plan.Experiment.Search.Find != string(search.Min)):
			low = l.Load
		default:
			high = l.Load
		}
	}
	return low, high
}

// narrow is the command that decides what is open between the ends of a bracket: a search there, with
// runs that are longer where short ones could not tell. command is what made this one.
func (r *Report) narrow(command string) []step {
	a, e := r.Search, r.Plan.Experiment.Search
	low, high := r.ends()
	if a.Outcome == search.ClientLost && a.Why == decide.NothingSent {
		if longer := r.longerRuns(); longer != nil {
			return []step{{"to give the requests time", argv.Again(command, longer...), ""}}
		}
	}
	if a.Outcome != search.Wide && a.Outcome != search.Spent || len(a.Tiers) > 0 ||
		sweep.AxisNamed(r.Plan.Searched().Name).Whole && high-low <= 1 || low >= high {
		return nil
	}
	set := []argv.Change{{Flag: "set", Value: fmt.Sprintf("search.range=[%s, %s]", load(low), load(high))}}
	if e.Start != nil {
		set = append(set, argv.Change{Flag: "set", Value: "search.start=" + load(min(max(*e.Start, low), high))})
	}
	if r.needsLonger() {
		longer := r.longerRuns()
		if longer == nil {
			return nil
		}
		set = append(set, longer...)
	}
	return []step{{"to narrow it down", argv.Again(command, set...), ""}}
}

// longerRuns is what makes each run of a search four times as long, which halves the width of its
// intervals; nil where nothing says how long they are.
func (r *Report) longerRuns() (changes []argv.Change) {
	const times = 4
	set := func(path string, value float64) {
		if value = times * value; value != math.Trunc(value) {
			value = math.Round(100*value) / 100
		}
		changes = append(changes, argv.Change{Flag: "set", Value: fmt.Sprintf("%s=%.8g", path, value)})
	}
	p := sweep.Measured(&r.Plan.Cells[0].Resolved.Benchmark)
	at := "benchmark.phases." + p.Name + "."
	if p.Requests > 0 {
		set(at+"requests", float64(p.Requests))
	}
	if p.Duration != nil {
		set(at+"duration", float64(*p.Duration))
	}
	if changes == nil {
		return nil
	}
	if b := r.Plan.Experiment.Search.Budget; b.Time != nil {
		set("search.budget.time", float64(*b.Time))
	}
	return changes
}
