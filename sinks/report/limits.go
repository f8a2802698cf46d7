package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// LimitsSentence says how the requests met the limits for single requests: as outcomes
// of the cells, and as what was observed where that is everything.
func (r *Report) LimitsSentence() string { return r.limitsSentence(false) }

// limitsSentence is short where a screen is folded.
func (r *Report) limitsSentence(short bool) string {
	states := map[decide.State]int{}
	judged, never := 0, 0
	for i := range r.Results.Cells {
		for _, s := range r.Results.Cells[i].SLOs {
			judged++
			states[s.State]++
			if s.Undecidable {
				never++
			}
		}
	}
	worst, share, ok := r.goodEnd(func(a, b float64) bool { return a < b })
	if judged == 0 || !ok {
		return ""
	}
	limits := r.limits(worst.Cell)
	if share.Mean == 1 && states[decide.Missed] == 0 {
		if r.folded >= mostFolds { // the line that says nothing new goes first
			return ""
		}
		said := "every request met " + limits
		if states[decide.Undecided] > 0 && share.HasInterval() && !short {
			said += fmt.Sprintf(" (true share at least %s)", words.Percent(share.Low))
		}
		return said
	}
	if judged == 1 {
		how := map[decide.State]string{
			decide.Held: "99 % is wanted", decide.Missed: "99 % is wanted",
			decide.Undecided: "99 % is wanted: not decided yet",
		}[worst.SLOs[0].State]
		if never > 0 {
			how = "99 % is wanted: cannot be decided, " + worst.SLOs[0].Text
		}
		return fmt.Sprintf("%s of the requests met %s (%s)", words.Percent(share.Mean), limits, how) + r.unlessGated()
	}
	of := "of the requests "
	if short {
		of = ""
	}
	do := "do"
	if states[decide.Held] == 1 {
		do = "does"
	}
	if states[decide.Undecided] > 0 {
		do += " for certain"
	}
	said := fmt.Sprintf("99 %% %smust meet %s: %d of %s %s", of, limits, states[decide.Held], words.Count(judged, "cell"), do)
	if states[decide.Undecided] > 0 {
		said += r.which(decide.Held, false)
	}
	for _, x := range []struct {
		state decide.State
		never bool
		how   string
	}{
		{decide.Missed, false, words.CountOf(states[decide.Missed], "misses", "miss")},
		{decide.Undecided, false, fmt.Sprintf("%d not decided yet", states[decide.Undecided]-never)},
		{decide.Undecided, true, fmt.Sprintf("%d cannot be decided", never)},
	} {
		if len(r.ofLimits(x.state, x.never)) > 0 {
			said += ", " + x.how + r.which(x.state, x.never)
		}
	}
	if !short && never > 0 {
		said += " (share in doubt)"
	}
	return said + r.unlessGated()
}

// which names the cells whose limits ended so, in brackets; "" where none or all did.
func (r *Report) which(state decide.State, never bool) string {
	names := r.namesOf(r.ofLimits(state, never))
	long := func(name string) bool { return strings.Contains(name, ", ") }
	if len(names) == 0 || state != decide.Missed && slices.ContainsFunc(names, long) { // the table has them
		return ""
	}
	return " (" + some(words.Once(names), mostBest) + ")"
}

// unlessGated says how a limit fails a build, where one is missed and no gate asks for the
// share of good requests: a limit by itself leaves the exit code as it is.
func (r *Report) unlessGated() string {
	gated := func(g sweep.Gate) bool { return strings.Contains(g.Expr, metrics.GoodRequestFraction) }
	if r.Results == nil || len(r.ofLimits(decide.Missed, false)) == 0 || slices.ContainsFunc(r.Plan.Gates, gated) {
		return ""
	}
	flags := fmt.Sprintf("--gate '%s >= 0.99'", metrics.GoodRequestFraction)
	if strings.HasPrefix(r.Command, "aiperf profile") { // which ends with AIPerf's codes
		flags += " --exit-codes full"
	}
	return "; limits do not change the exit code: to fail with 3, add " + flags
}

// ofLimits are the cells whose limits ended so; never: for good, for their share is in doubt.
func (r *Report) ofLimits(state decide.State, never bool) (cells []*decide.CellResult) {
	for i := range r.Results.Cells {
		c := &r.Results.Cells[i]
		so := func(s decide.SLOOutcome) bool { return s.State == state && s.Undecidable == never }
		if slices.ContainsFunc(c.SLOs, so) {
			cells = append(cells, c)
		}
	}
	return cells
}

// namesOf are the names of cells: by what varies the system alone where that tells them
// apart from all others, in quotation marks where a name has commas of its own.
func (r *Report) namesOf(cells []*decide.CellResult) (names []string) {
	short := func(c *decide.CellResult) string {
		_, name := c.Cell.Apart()
		return cmp.Or(name, c.Cell.Short())
	}
	for _, c := range cells {
		name := short(c)
		others := func(o decide.CellResult) bool { return o.Cell != c.Cell && short(&o) == name }
		if slices.ContainsFunc(r.Results.Cells, others) {
			name = c.Cell.Short()
		}
		if strings.Contains(name, ", ") {
			name = `"` + name + `"`
		}
		names = append(names, name)
	}
	return names
}

// limits are those of a cell for single requests: "TTFT ≤ 100 ms and ITL ≤ 10 ms".
func (r *Report) limits(c *sweep.Cell) string { return LimitsOf(c.Resolved.Benchmark.SLOs) }

// rightAnswers is the limit "accuracy ≥ 1" of one request: there is no other.
const rightAnswers = "right answers"

// LimitsOf are limits of single requests by their metrics: "TTFT ≤ 100 ms and ITL ≤ 10 ms".
func LimitsOf(slos map[string]float64) string {
	var parts []string
	for _, m := range metrics.Catalogue() { // in the order of the tables
		limit, ok := slos[m.Tag]
		if !ok {
			continue
		}
		op := "≤"
		if m.LargerIsBetter {
			op = "≥"
		}
		if m.Tag == metrics.Accuracy && limit == 1 {
			parts = append(parts, rightAnswers)
			continue
		}
		parts = append(parts, metrics.Series(m.Tag, "")+" "+op+" "+plainAmount(limit, metrics.ShortUnit(m.Unit)))
	}
	return words.And(parts)
}

// plainAmount is a limit as it was written, with its unit.
func plainAmount(v float64, unit string) string {
	return strings.TrimSpace(fmt.Sprintf("%g %s", v, unit))
}
