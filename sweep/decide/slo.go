package decide

import (
	"fmt"
	"maps"
	"math"
	"slices"
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

// goodTarget is the share of the attempted requests that must meet their SLOs
// for the cell to meet them.
const goodTarget = 0.99

// SLOOutcome is the service level objectives of one cell together.
type SLOOutcome struct {
	Condition string // "99 % of requests with time_to_first_token <= 200 ms"
	State     State
	Held      bool   // by the value, where the interval leaves it open
	Text      string // "99.6 % [99.2, 99.8]"

	Undecidable bool // UNDECIDED because the share is in doubt, not for want of requests
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
	out := SLOOutcome{Condition: fmt.Sprintf("%.0f %% of requests with %s", 100*goodTarget,
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
	case low >= goodTarget:
		out.State = Held
	case high < goodTarget:
		out.State = Missed
	}
	out.Held = out.State == Held || out.State == Undecided && worst.Mean >= goodTarget
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
	return []SLOOutcome{out}
}

// goodLeast is how many requests of a cell show that goodTarget of them are good, when
// all are: n with 0.025^(1/n) ≥ goodTarget (Clopper and Pearson), 368 for 99 %.
func goodLeast() float64 { return math.Ceil(math.Log(0.025) / math.Log(goodTarget)) }

// tooFew says how many requests the share of good ones takes, where some cell of which
// it is not decided has fewer; "" otherwise.
func tooFew(cells []*CellResult) string {
	least := math.Inf(1)
	for _, c := range cells {
		if len(c.SLOs) > 0 && c.SLOs[0].State == Undecided {
			least = min(least, c.attempted())
		}
	}
	if least >= goodLeast() {
		return ""
	}
	return fmt.Sprintf(": raise requests (%.0f %% takes %.0f, a cell has %.0f)", 100*goodTarget, goodLeast(), least)
}

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
