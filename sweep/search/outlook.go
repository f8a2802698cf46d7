package search

import (
	"math"
	"sort"

	"aiperf.dev/aiperf/internal/stats"
)

// Outlook is what a search takes and what it can tell, before its first probe.
type Outlook struct {
	// Fewest and Usual are the probes of a search at a server that decides every load at
	// once, or whose curves bend without noise: the fewest of all places of the limit or the
	// knee, and the most.
	Fewest, Usual int
	// Halved is how many more of them a bracket half as wide takes; 0 where whole
	// numbers are as near as they can be.
	Halved int
	// Runs says what one run at a load can tell, and what as many as a search makes there
	// at most. None where no run has a known number of requests.
	Runs []Decides
}

// Decides is how many requests of one load may be bad. Those between leave it
// undecided. Requests that are alike, and runs that differ, need a wider gap.
type Decides struct {
	Requests int64
	Holds    int64 // at most so many bad ones: the load holds; −1 where even none is not enough
	Fails    int64 // so many or more: it fails
}

// places is how many limits Look tries, evenly over the logarithm of the range.
const places = 24

// Look is what a search with runs of so many requests has before it, 0 where that is not
// known. None of its probes is undecided.
func Look(t Terms, requests int64) Outlook {
	o := Outlook{Fewest: math.MaxInt}
	probes := func(t Terms, limit float64) int {
		t.Time, t.Probes = 0, math.MaxInt32
		var runs []Run
		for {
			step := Next(t, runs)
			if step.Answer != nil {
				return len(runs)
			}
			run := Run{Load: step.Load, Own: Holds}
			switch {
			case t.Find == Knee: // so many are answered at once, and the others wait
				run.Rate = min(run.Load, limit)
				run.Latency = run.Load / run.Rate
			case step.Load > limit && t.Find != Min, step.Load < limit && t.Find == Min:
				run.Own = Fails
			}
			runs = append(runs, run)
		}
	}
	fine := t
	fine.Resolution /= 2
	for i := range places + 1 {
		limit := t.Low * math.Pow(t.High/t.Low, float64(i)/places)
		n := probes(t, limit)
		o.Fewest, o.Usual = min(o.Fewest, n), max(o.Usual, n)
		o.Halved = max(o.Halved, probes(fine, limit)-n)
	}
	if requests > 0 {
		for _, n := range []int64{requests, mostRuns * requests} {
			o.Runs = append(o.Runs, decides(t.Share, n))
		}
	}
	return o
}

// decides is what n requests at a load can tell.
func decides(share float64, n int64) Decides {
	at := func(bad int) stats.Estimate {
		return stats.Share([]stats.Tally{{Hits: float64(n - int64(bad)), Of: float64(n)}}, Level)
	}
	return Decides{
		Requests: n,
		Holds:    int64(sort.Search(int(n)+1, func(bad int) bool { return at(bad).Low < share })) - 1,
		Fails:    int64(sort.Search(int(n), func(bad int) bool { return at(bad).High < share })),
	}
}
