package search

import (
	"math"
	"slices"
	"time"

	"aiperf.dev/aiperf/internal/stats"
)

// State of a load, and of what a run shows by itself.
type State string

// The states.
const (
	Holds     State = "holds"
	Fails     State = "fails"
	Undecided State = "undecided"
)

// Run is a probe: what one run at a load gave.
type Run struct {
	Load float64
	// Worst is the share of good requests with those that were cut off counted as bad,
	// Best with them counted as good. Of is 0 where no limit is about single requests.
	Worst, Best stats.Tally
	// Tiers are the same of each tier, where there are several; Worst and Best are not asked then.
	Tiers []Shares
	// Own is what the run shows beside the share: conditions on its figures, and whether
	// the server kept up. Holds where there are none.
	Own State
	// Rate is how many requests it answered per second, Latency the mean in ms; 0 where
	// it is not known.
	Rate, Latency float64
	Unfit         string // why the run says nothing about the server, "" for one that does
	Died          bool   // Unfit because the server was gone
	Took          time.Duration
}

// Load is all that is known of one load.
type Load struct {
	Load      float64
	State     State
	Runs      int     // usable ones
	Share     float64 // of good requests, pooled; NaN without a limit on requests
	Low, High float64 // its interval
	Of        float64 // requests
	Torn      bool    // of an Answer: one of its runs holds by itself and another one fails by itself
	differ    bool    // its runs differ by more than independent requests would
	apart     float64 // by how much: Pearson's statistic, 1 on average for each run after the first if all are alike
	flat      bool    // nearly all of its requests are good, or bad, which does not show how runs differ
	above     bool    // some run came after one at a larger load
	below     bool
	last      int // index of its last usable run
}

// judged pools the usable runs of each load.
func judged(t Terms, runs []Run) []Load {
	var loads []Load
	before := math.NaN()
	for i, r := range runs {
		if r.Unfit != "" {
			continue
		}
		at, known := slices.BinarySearchFunc(loads, r.Load, func(l Load, x float64) int { return compare(l.Load, x) })
		if !known {
			loads = slices.Insert(loads, at, Load{Load: r.Load})
		}
		l := &loads[at]
		l.Runs, l.last = l.Runs+1, i
		l.above, l.below = l.above || before > r.Load, l.below || before < r.Load
		before = r.Load
	}
	for i := range loads {
		loads[i].judge(t, runs, 0)
	}
	doubt(t, loads, runs)
	return loads
}

// doubt is about runs that are good from first to last at a load above one that was not decided. Less
// load is never worse, so these do not show more than that one does: requests that are under way
// together are late together, and a run may have met no such time. What other loads show of that counts for such a
// load, too: bad requests come in bunches, which are the larger the more requests are under way.
func doubt(t Terms, loads []Load, runs []Run) {
	var effect, freedom float64 // of the loads that show how runs differ, for one request under way
	for i := range loads {
		if l := &loads[i]; l.Runs > 1 && l.Of > 0 && !l.flat {
			effect += l.apart / t.flight(l.Load)
			freedom += float64(l.Runs - 1)
		}
	}
	if freedom == 0 || !slices.ContainsFunc(loads, func(l Load) bool { return l.differ }) {
		return
	}
	open := false
	for i := range loads {
		l := &loads[i]
		if open && l.flat && l.State == Holds {
			l.judge(t, runs, effect/freedom*t.flight(l.Load))
		}
		open = open || l.State == Undecided
	}
}

// judge decides the load by its usable runs, as if so many requests, at least, counted as one.
func (l *Load) judge(t Terms, runs []Run, effect float64) {
	l.Of = 0
	var worst, best []stats.Tally
	own := map[State]int{}
	for _, r := range runs {
		if r.Unfit == "" && r.Load == l.Load {
			r.Worst.Effect, r.Best.Effect = max(r.Worst.Effect, effect), max(r.Best.Effect, effect)
			worst, best = append(worst, r.Worst), append(best, r.Best)
			own[r.Own]++
			l.Of += r.Worst.Of
		}
	}
	l.differ, l.flat, l.apart = stats.Differ(worst, differs), flat(worst), stats.Apart(worst)
	low := stats.Share(worst, Level)
	high := low
	if !slices.Equal(worst, best) {
		high = stats.Share(best, Level)
	}
	l.Share, l.Low, l.High = low.Mean, low.Low, high.High
	limited := l.Of > 0
	switch {
	case own[Fails] == l.Runs, limited && l.High < t.Share:
		l.State = Fails
	case own[Holds] == l.Runs && (!limited || l.Low >= t.Share):
		l.State = Holds
	default:
		l.State = Undecided
	}
}

// flat reports whether at most one request of a run, on average, is bad, or good.
func flat(runs []stats.Tally) bool {
	hits, of := 0.0, 0.0
	for _, t := range runs {
		hits, of = hits+t.Hits, of+t.Of
	}
	return of > 0 && min(hits, of-hits) <= float64(len(runs))
}

// alone reports whether single runs of a load contradict each other, as they do where a
// server does not come back from a load in the state in which it was.
func (l *Load) alone(t Terms, runs []Run) (torn bool) {
	found := map[State]bool{}
	for _, r := range runs {
		if r.Unfit == "" && r.Load == l.Load {
			one := Load{Load: l.Load, Runs: 1}
			one.judge(t, []Run{r}, 0)
			found[one.State] = true
		}
	}
	return found[Holds] && found[Fails]
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
