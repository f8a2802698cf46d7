package report

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// headlines are the columns that this plan's cells can fill.
func headlines(r *decide.Results) []metrics.Headline {
	return metrics.Headlines(false, func(tag, stat string) bool {
		for i := range r.Cells {
			if _, ok := r.Cells[i].Headline().Get(decide.Key{Tag: tag, Stat: stat}); ok {
				return true
			}
		}
		return false
	})
}

// matrix is one table: a row per cell, estimate ± half-width.
func (r *Report) matrix(b *strings.Builder) {
	t := grid{}
	cols := headlines(r.Results)
	for _, a := range r.Plan.Axes {
		t.head = append(t.head, shortAxis(a.Name))
	}
	if len(r.Plan.Axes) == 0 {
		t.head = append(t.head, "cell")
	}
	t.left = len(t.head)
	for _, m := range cols {
		t.head = append(t.head, m.Name)
	}
	t.head = append(t.head, "")
	legend := marks{}
	for i := range r.Results.Cells {
		t.rows = append(t.rows, r.matrixRow(&r.Results.Cells[i], cols, &legend))
	}
	t.write(b)
	r.legend(b, legend)
	r.sentinel(b)
	r.conclusions(b)
}

// sentinel is what the runs of the sentinel gave: they are in no row of the table.
func (r *Report) sentinel(b *strings.Builder) {
	var medians []string
	for _, o := range r.Results.Sentinel {
		median := "–"
		if o.Err == "" && len(o.Summaries) > 0 {
			if s, ok := o.Summaries[0].Get(metrics.RequestLatency); ok {
				median = words.Millis(s.P50)
			}
		}
		medians = append(medians, median)
	}
	if len(medians) > 0 {
		wrapped(b, "sentinel: ", fmt.Sprintf("latency p50 of %s with one workload: %s (first, in the middle, last)", r.Plan.Cells[0].Short(), strings.Join(medians, ", ")))
	}
}

// marks remembers which signs the table used.
type marks struct {
	pareto, dominated, invalid, failed, interval, knee bool
	small                                              unsupported
	fewest, worth                                      float64 // values of a run behind a small one, and how many independent ones they are worth
	doubted                                            touched
}

func (r *Report) matrixRow(c *decide.CellResult, cols []metrics.Headline, legend *marks) []string {
	var line []string
	for _, v := range c.Cell.Point {
		line = append(line, words.Line(v.Label))
	}
	if len(c.Cell.Point) == 0 {
		line = append(line, words.Line(c.Cell.Label))
	}
	if c.Trials == 0 {
		legend.failed = true
		for range cols {
			line = append(line, "–")
		}
		return append(line, strings.ReplaceAll(string(c.Status), "_", " "))
	}
	for _, m := range cols {
		key := decide.Key{Tag: m.Tag, Stat: m.Stat}
		e, ok := c.Headline().Get(key)
		if !ok {
			line = append(line, strings.TrimSpace("– "+legend.doubted.take(c.Taint(key))))
			continue
		}
		text := estimate(e, m.Percent())
		legend.interval = legend.interval || e.HasInterval()
		if worth := c.Headline().Effective(m.Tag); legend.small.take(m.Stat, worth) {
			text += "?"
			if n := c.Headline().Least(m.Tag); legend.fewest == 0 || worth < legend.worth {
				legend.fewest, legend.worth = n, worth
			}
		}
		line = append(line, text+legend.doubted.take(c.Taint(key)))
	}
	var signs []string
	switch c.Front {
	case decide.OnFront:
		signs, legend.pareto = append(signs, "*"), true
	case decide.Dominated:
		signs, legend.dominated = append(signs, "↓"), true
	}
	if c.Knee {
		signs, legend.knee = append(signs, "knee"), true
	}
	if c.Verdict == validity.Invalid {
		signs, legend.invalid = append(signs, validity.InvalidMark), true
	}
	if c.Status == decide.Partial || c.Stopped != nil {
		signs = append(signs, fmt.Sprintf("%d of %d trials", c.Trials, r.Plan.Trials))
	}
	return append(line, strings.Join(signs, " "))
}

// objectives are the two that the front is about.
func (r *Report) objectives() string {
	if o := r.Results.Objectives; len(o) == 2 {
		return o[0].Name + " and " + o[1].Name
	}
	return "throughput and latency"
}

func (r *Report) legend(b *strings.Builder, m marks) {
	var parts []string
	if m.interval {
		upTo := ""
		if r.Results.StoppedEarly() != "" {
			upTo = "up to "
		}
		parts = append(parts, fmt.Sprintf("±: %.0f %% over %s%s", 100*r.Results.Level, upTo, words.Count(r.Plan.Trials, "trial")))
	}
	if m.pareto {
		parts = append(parts, "*: no other is better in both "+r.objectives()+": choose among these")
	}
	if m.dominated {
		parts = append(parts, "↓: another cell is better in both")
	}
	if m.knee {
		parts = append(parts, "knee: more load gives little throughput and much latency")
	}
	if need := m.small.need(); need != "" {
		parts = append(parts, fmt.Sprintf("?: indicative: a run of %s values is worth %.0f (%s); raise requests", words.Grouped(m.fewest), m.worth, need))
	}
	parts = append(parts, m.doubted...)
	if m.invalid {
		parts = append(parts, validity.InvalidMark+" at the end of a row: "+validity.Invalid.String())
	}
	line := ""
	for _, p := range parts {
		if line != "" && words.Width(line)+3+words.Width(p) > 80 {
			b.WriteString(line + "\n")
			line = ""
		}
		if line != "" {
			line += " · "
		}
		line += p
	}
	if line != "" {
		b.WriteString(line + "\n")
	}
}

// Sentences are what the plan showed, one each: the best cells, as far as they
// are shown, and how the gates ended.
func (r *Report) Sentences() []string {
	if r.Results == nil {
		return nil
	}
	var out []string
	for _, c := range r.Results.Comparisons { // what was asked is answered first
		out = append(out, Comparison{c}.Headline())
	}
	compared := len(out) > 0
	for i, best := range r.best() {
		out = append(out, best.Sentence)
		if s := r.beside(best); s != "" && i == 0 && !compared {
			out = append(out, s)
		}
	}
	if s := r.Results.StoppedEarly(); s != "" {
		out = append(out, s)
	}
	if len(r.Plan.Gates) > 0 {
		out = append(out, r.gateCounts())
	}
	return out
}

// rivalsMost is how many cells that may be best are told with their values.
const rivalsMost = 3

// beside is what helps to choose where no cell is shown to be best: the values of
// those that may be, in everything that cells are ranked by, or which comes nearest
// to the limits that none keeps.
func (r *Report) beside(b decide.Best) string {
	switch {
	case b.Cell == nil && len(b.MayBe) > 0: // some cell may keep them: none is only near
		return ""
	case b.Cell == nil:
		return r.nearest()
	case b.Shown || len(b.MayBe) < 2 || len(b.MayBe) > rivalsMost:
		return ""
	}
	var told []string
	differ := map[string]bool{}
	for _, c := range b.MayBe {
		var values []string
		for _, o := range r.Results.Objectives {
			m, known := metrics.Lookup(o.Tag)
			e, ok := c.Headline().Get(o.Key)
			if !ok || !known || math.IsInf(e.Mean, 0) {
				continue
			}
			text := metrics.Series(o.Tag, o.Stat) + " " + spelled(e)
			if m.Unit == "ms" {
				text += " ms"
			}
			values = append(values, text)
			if o.Key != b.Objective.Key {
				differ[text] = true
			}
		}
		told = append(told, c.Cell.Short()+": "+strings.Join(values, ", "))
	}
	if len(differ) < 2 { // nothing tells them apart
		return ""
	}
	return "of these, " + strings.Join(told, "; ")
}

// nearest is the cell with the largest share of requests that keep their limits, over
// the whole run as the limits are judged.
func (r *Report) nearest() string {
	key := decide.Key{Tag: metrics.GoodRequestFraction, Stat: "avg"}
	var most decide.CellResult
	for _, c := range r.Results.Cells {
		e, ok := c.Full.Get(key)
		if before, some := most.Full.Get(key); ok && c.Trials > 0 && c.Verdict != validity.Invalid && (!some || e.Mean > before.Mean) {
			most = c
		}
	}
	e, ok := most.Full.Get(key)
	if !ok {
		return ""
	}
	e.Mean, e.Low, e.High = 100*e.Mean, 100*e.Low, 100*e.High
	return fmt.Sprintf("nearest is %s: %s %% of its requests keep the limits for single requests", most.Cell.Short(), spelled(e))
}

// spelled is an estimate with its interval, if that has a width in its digits.
func spelled(e stats.Estimate) string {
	if low, high := words.Number(e.Low), words.Number(e.High); e.HasInterval() && low != high {
		return words.Number(e.Mean) + " [" + low + ", " + high + "]"
	}
	return words.Number(e.Mean)
}

// best is said under the limits where there are any.
func (r *Report) best() []decide.Best {
	if r.Results.UnderSLO != nil {
		return []decide.Best{*r.Results.UnderSLO}
	}
	return r.Results.Best
}

// conclusions are the sentences under the table: best cells and gates.
func (r *Report) conclusions(b *strings.Builder) {
	b.WriteByte('\n')
	open := false
	for _, best := range r.best() {
		wrapped(b, "", best.Sentence)
		open = open || !best.Shown && best.RunnerUp != nil && !best.Trials.Known()
	}
	if open && r.Plan.Trials < enoughTrials {
		fmt.Fprintf(b, "more trials may show one: --num-profile-runs %d\n", enoughTrials)
	}
	if s := r.Results.StoppedEarly(); s != "" {
		wrapped(b, "", s)
	}
	r.gates(b)
	for _, c := range r.Results.Comparisons {
		b.WriteByte('\n')
		Comparison{c}.write(b)
	}
}

// enoughTrials is how many find a difference of a tenth where trials vary by a
// few per cent; with fewer, a difference that is not shown says little.
const enoughTrials = 5

func (r *Report) gates(b *strings.Builder) {
	if len(r.Plan.Gates) == 0 {
		return
	}
	b.WriteString(r.gateCounts() + "\n")
	left := map[string]int{} // what has no line of its own, by what is said of it
	shown := 0
	for _, kind := range gateKinds {
		for i := range r.Results.Cells {
			c := &r.Results.Cells[i]
			for _, g := range c.Gates {
				if gateKind(g) != kind {
					continue
				}
				if kind == plainlyHeld || shown == mostGates {
					left[kind]++
					continue
				}
				shown++
				head, _, _ := strings.Cut(kind, " ")
				wrapped(b, "  "+head+": ", gateLine(g, c))
			}
		}
	}
	if shown == 0 {
		return
	}
	var rest []string
	for _, kind := range gateKinds {
		if n := left[kind]; n > 0 {
			more := "more "
			if kind == plainlyHeld {
				more = ""
			}
			rest = append(rest, fmt.Sprintf("%d %s%s", n, more, kind))
		}
	}
	if len(rest) > 0 {
		wrapped(b, "  … and ", strings.Join(rest, "; "))
	}
}

// mostGates is how many gates are shown one by one.
const mostGates = 5

// What is said of a gate, what is most worth a line first: missed, left open by
// the interval, held as observed only. Those that hold without more are counted.
const (
	gateMissed   = "missed"
	gateOpen     = "undecided"
	heldObserved = "held as observed"
	plainlyHeld  = "held"
)

var gateKinds = []string{gateMissed, gateOpen, heldObserved, plainlyHeld}

func gateKind(g decide.GateOutcome) string {
	switch {
	case g.State == decide.Undecided:
		return gateOpen
	case !g.Held:
		return gateMissed
	case strings.Contains(g.Note, "bound"):
		return heldObserved
	}
	return plainlyHeld
}

func gateLine(g decide.GateOutcome, c *decide.CellResult) string {
	line := fmt.Sprintf("%s at %s (%s)", g.Gate.Expr, c.Cell.Short(), g.Text)
	if g.Note != "" {
		line += ", " + g.Note
	}
	return line
}

// gateCounts says how the gates ended; one that the interval leaves open is
// neither held nor missed, and what was made of it is said.
func (r *Report) gateCounts() string {
	held, missed := r.Results.GatesHeld, r.Results.GatesMissed
	open, taken := 0, 0
	for i := range r.Results.Cells {
		for _, g := range r.Results.Cells[i].Gates {
			if g.State != decide.Undecided {
				continue
			}
			if open++; g.Held {
				taken++
			}
		}
	}
	said := fmt.Sprintf("gates: %d held, %d missed", held-taken, missed-(open-taken))
	if open == 0 {
		return said
	}
	how := "by their value "
	if s := r.Plan.Experiment.GatesUndecided; s == decide.AsPassed || s == decide.AsMissed {
		how = "taken as "
	}
	switch taken {
	case open:
		how += "held"
	case 0:
		how += "missed"
	default:
		how += fmt.Sprintf("%d held, %d missed", taken, open-taken)
	}
	return fmt.Sprintf("%s, %d undecided (%s)", said, open, how)
}

// shortAxis keeps headings narrow.
func shortAxis(name string) string { return cmp.Or(sweep.AxisNamed(name).Short, name) }
