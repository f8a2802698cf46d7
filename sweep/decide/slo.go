package decide

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
)

// State of a condition: three values, for an interval may lie on both sides.
type State string

// The states.
const (
	Held      State = "HELD"      // at every end of the interval
	Missed    State = "MISSED"    // at every end
	Undecided State = "UNDECIDED" // the interval lies on both sides
)

// GoodTarget is the share of the attempted requests that must meet their SLOs
// for the cell to meet them.
const GoodTarget = 0.99

// SLOOutcome is the service level objectives of one cell together.
type SLOOutcome struct {
	Condition string // "99 % of requests with time_to_first_token <= 200 ms"
	State     State
	Held      bool   // by the value, where the interval leaves it open
	Text      string // "99.6 % [99.2, 99.8]"

	Undecidable bool // UNDECIDED because the share is in doubt, not for want of requests
	Trials      int  // how many decide it, if those to come are like those that were; 0 where none would
	Requests    int  // of the cell in so many trials
}

// judgeSLOs asks whether 99 % of all attempted requests met every limit: never
// a percentile of the survivors alone. A request that the end of the run cut off
// may have been good or not, so the share is a range: HELD needs its lower end,
// MISSED its upper one.
func judgeSLOs(c *CellResult) []SLOOutcome {
	slos := c.Cell.Resolved.Benchmark.SLOs
	if len(slos) == 0 || c.Trials == 0 {
		return nil
	}
	var limits []string
	for _, tag := range slices.Sorted(maps.Keys(slos)) {
		op := "<="
		if directionOf(tag) == stats.Maximise {
			op = ">="
		}
		limit := fmt.Sprintf("%s %s %g", tag, op, slos[tag])
		if m, ok := metrics.Lookup(tag); ok && m.Unit != "" {
			limit += " " + m.Unit
		}
		limits = append(limits, limit)
	}
	out := SLOOutcome{Condition: fmt.Sprintf("%.0f %% of requests with %s", 100*GoodTarget,
		strings.Join(limits, " and ")), State: Undecided}
	worst, best := goodShare(c)
	if math.IsNaN(worst.Mean) {
		out.Text = "good_request_fraction: not available"
		return []SLOOutcome{out}
	}
	low, high := worst.Low, best.High
	if c.Trials == 1 { // one run is decided by its value, as a gate is
		low, high = worst.Mean, best.Mean
	}
	switch {
	case low >= GoodTarget:
		out.State = Held
	case high < GoodTarget:
		out.State = Missed
	}
	out.Held = out.State == Held || out.State == Undecided && worst.Mean >= GoodTarget
	out.Text = digits(100*worst.Mean) + " %" + bounds(100*low, 100*high)
	if best.Mean > worst.Mean && out.State == Undecided {
		out.Text += "; requests were cut off: use a grace of at least the SLO"
	}
	if t := c.Taint(Key{metrics.GoodRequestFraction, "avg"}); !t.None() {
		out.Text += "; " + t.Sentence()
		// a share in doubt holds nothing; that it misses may still be seen
		if out.State == Held || t.Level == validity.Wrong || t.Check == validity.Lateness {
			out.State = Undecided
		}
		out.Undecidable = out.State == Undecided
		out.Held = out.Held && t.Check != validity.Backlog // a load that is not kept up with holds nothing
	}
	if out.State == Undecided && !out.Undecidable && worst.Mean == best.Mean {
		out.Trials = c.trialsForShare()
		out.Requests = int(math.Ceil(c.attempted() / float64(c.Trials) * float64(out.Trials)))
		if worst.Mean == 1 {
			out.Requests = int(goodLeast())
		}
	}
	return []SLOOutcome{out}
}

// trialsForShare is how many trials take the interval of the share of good requests to one
// side of GoodTarget, if those that were are carried out again and again; 0 where not even
// stats.MostTrials do.
func (c *CellResult) trialsForShare() int {
	key := Key{metrics.GoodRequestFraction, "avg"}
	m, _ := metrics.Lookup(key.Tag)
	values := c.Full.Values(key)
	tallies := c.Full.tallies(m, values)
	if len(tallies) == 0 {
		return 0
	}
	open := func(n int) bool {
		more := make([]stats.Tally, n)
		for i := range more {
			more[i] = tallies[i%len(tallies)]
		}
		e := stats.Share(more, c.Full.level)
		return e.Low < GoodTarget && e.High >= GoodTarget
	}
	pairs := sort.Search(stats.MostTrials/2+1, func(n int) bool { return 2*n > c.Trials && !open(2*n) })
	if 2*pairs > stats.MostTrials {
		return 0
	}
	return 2 * pairs // see even
}

// goodLeast is how many requests of a cell show that GoodTarget of them are good, when
// all are: n with 0.025^(1/n) ≥ GoodTarget (Clopper and Pearson), 368 for 99 %.
func goodLeast() float64 { return math.Ceil(math.Log(0.025) / math.Log(GoodTarget)) }

// attempted is of how many requests the share of good ones is, over all trials.
func (c *CellResult) attempted() (n float64) {
	m, _ := metrics.Lookup(metrics.GoodRequestFraction)
	for i := range c.Full.runs {
		n += c.Full.whole(i, m)
	}
	return n
}

// goodShare is the share of all attempted requests that were good, over trials:
// with every request that was cut off before it was known counted as bad, and as
// good.
func goodShare(c *CellResult) (worst, best stats.Estimate) {
	key := Key{metrics.GoodRequestFraction, "avg"}
	m, ok := metrics.Lookup(key.Tag)
	if !ok {
		panic("no metric " + key.Tag) // the catalogue is ours
	}
	values := c.Full.Values(key)
	low, high, _ := c.Full.ends(key, values)
	return c.Full.share(m, low), c.Full.share(m, high)
}
