package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep/decide"
)

// Comparison shows what two systems say against each other.
type Comparison struct{ *decide.Comparison }

// WriteConsole writes one table: a block per cell, a row per metric.
func (c Comparison) WriteConsole(w io.Writer) error {
	var b strings.Builder
	c.write(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (c Comparison) write(b *strings.Builder) {
	wrapped(b, "", c.Headline())
	wrapped(b, "", c.design())
	cell := ""
	for _, r := range c.all() {
		if r.Cell != cell {
			cell = r.Cell
			name := words.Line(cell)
			b.WriteByte('\n')
			if words.Width(name) > nameColumn {
				wrapped(b, "", name)
				name = ""
			}
			fmt.Fprintf(b, "%-*s %8s %9s  %-*s %s\n", nameColumn, name, "baseline", "candidate", changeColumn, "change", "outcome")
		}
		mark := "  "
		if !r.Primary && r.Cell != togetherName {
			mark = "  ·"
		}
		head := fmt.Sprintf("%-*s %8s %9s  ", nameColumn, mark+named(r, nameColumn-words.Width(mark)), value(r, r.Base), value(r, r.Candidate))
		if r.Note == "" {
			fmt.Fprintf(b, "%s%-*s %s\n", head, changeColumn, change(r), outcome(r))
			continue
		}
		wrapped(b, head, strings.TrimSpace(change(r)+"  "+outcome(r))) // a note needs the room of both
	}
	b.WriteByte('\n')
	for _, line := range c.remarks() {
		wrapped(b, "", line)
	}
}

// A row fits into 80 columns: what is left beside these two, the values and the
// gaps are 18 for the outcome.
const (
	nameColumn   = 18
	changeColumn = 22
)

// Headline is what the comparison says in one sentence, the same on every screen and
// in every file: its outcome, which is a function of the outcomes of the rows
// (decide.Comparison.Outcome), and the rows that carry it.
func (c Comparison) Headline() string {
	o := c.Outcome()
	said := fmt.Sprintf("%s: %s against %s", o, words.Line(c.Candidate), words.Line(c.Baseline))
	switch {
	case o == decide.Worse || o == decide.Better:
		return said + c.changes(func(r decide.Row) bool { return r.Outcome == o })
	case o == decide.Equivalent:
		return said + ": every primary metric within ±" + c.margins()
	case o == decide.NotWorse:
		return said + ": harm beyond " + c.margins() + " is ruled out" + c.open("; not shown to be the same")
	case len(c.Blind()) > 0:
		return said + ": " + c.tooCoarse()
	}
	return said + c.open("")
}

// changes names the rows that carry an outcome: of each metric the cell that changed
// most, the largest changes first.
func (c Comparison) changes(carries func(decide.Row) bool) string {
	var rows []decide.Row
	for _, r := range c.Primary() {
		if !carries(r) || change(r) == "" && value(r, r.Base) == value(r, r.Candidate) {
			continue
		}
		i := slices.IndexFunc(rows, func(x decide.Row) bool { return x.Key == r.Key })
		if i < 0 {
			rows = append(rows, r)
		} else if extent(r) > extent(rows[i]) {
			rows[i] = r
		}
	}
	slices.SortStableFunc(rows, func(a, b decide.Row) int { return cmp.Compare(extent(b), extent(a)) })
	said := ""
	for i, r := range rows {
		if i == maxChanges {
			return said + fmt.Sprintf("; %d more", len(rows)-i)
		}
		of := ""
		if c.severalCells() { // which
			of = " at " + words.Line(r.Cell)
		}
		said += map[bool]string{true: ": ", false: "; "}[i == 0] + strings.TrimSuffix(metricName(r), " ms") + " " + cmp.Or(change(r), "from "+value(r, r.Base)+" to "+value(r, r.Candidate)) + of
	}
	return said
}

func (c Comparison) severalCells() bool {
	return slices.ContainsFunc(c.Rows, func(r decide.Row) bool { return r.Cell != c.Rows[0].Cell })
}

// open names the primary metrics that are not decided.
func (c Comparison) open(what string) string {
	undecided := func(r decide.Row) bool { return r.Outcome == decide.Unclear }
	if !slices.ContainsFunc(c.Primary(), undecided) {
		return ""
	}
	return what + c.changes(undecided)
}

// margins are those of the primary metrics: "5 %", or "5 % (15 % from p95 on)".
func (c Comparison) margins() string {
	least, most := math.Inf(1), 0.0
	for _, r := range c.Primary() {
		least, most = min(least, r.Margin), max(most, r.Margin)
	}
	if least == most {
		return inPercent(most)
	}
	return fmt.Sprintf("%s (%s from p95 on)", inPercent(least), inPercent(most))
}

// tooCoarse says why the comparison could not have found what it must be able to.
func (c Comparison) tooCoarse() string {
	rows := c.Blind()
	worst := slices.MaxFunc(rows, func(a, b decide.Row) int { return cmp.Compare(finest(a), finest(b)) })
	name := strings.TrimSuffix(metricName(worst), " ms")
	if math.IsInf(finest(worst), 1) {
		return fmt.Sprintf("a change of %s must be found, and %s shows none: %s", inPercent(worst.MustDetect), name, cmp.Or(worst.Note, "no interval"))
	}
	return fmt.Sprintf("a change of %s must be found, and in %s this test finds %s and more", inPercent(worst.MustDetect), name, inPercent(worst.Detectable))
}

// finest is the smallest change that a row can show, ∞ where it can show none.
func finest(r decide.Row) float64 {
	if math.IsNaN(r.Detectable) {
		return math.Inf(1)
	}
	return r.Detectable
}

// extent is how much a figure changed; to or from 0 or ∞ is more than anything.
func extent(r decide.Row) float64 {
	if math.IsNaN(r.Change) {
		return math.Inf(1)
	}
	return math.Abs(r.Change)
}

// maxChanges is how many metrics a sentence names.
const maxChanges = 3

const togetherName = "all cells"

// all are the rows, those over all cells last.
func (c Comparison) all() []decide.Row {
	return append(c.Rows[:len(c.Rows):len(c.Rows)], c.Together...)
}

// design says in one line what the intervals rest on.
func (c Comparison) design() string {
	how := "paired: trial k sent both systems the same requests"
	if !c.Paired {
		how = "not paired (only trials of one experiment are): Welch's test on logarithms"
	}
	return fmt.Sprintf("%s a cell, %s; 95 %% over %s together", words.Count(c.Trials, "trial"), how, words.Count(c.Compared, "primary metric"))
}

// remarks say what was not shown and what would show it, and what the signs mean.
func (c Comparison) remarks() []string {
	var out []string
	if n := c.trialsIfEqual(); n.Known() {
		out = append(out, fmt.Sprintf("if nothing changed, %s of each system would show it", n))
	}
	if line := c.finds(); line != "" {
		out = append(out, line)
	}
	out = append(out, c.deciding()...)
	if line := c.few(); line != "" {
		out = append(out, line)
	}
	if len(c.Stamps[0]) > 0 {
		out = append(out, fmt.Sprintf("time stamps: of the %s in the baseline, of the %s in the candidate; what the application's are late by is in every change of a latency. Measure both in one way, with HTTP/1.1 and without a proxy",
			strings.Join(c.Stamps[0], " and the "), strings.Join(c.Stamps[1], " and the ")))
	}
	for _, cell := range c.OnlyBaseline {
		out = append(out, "only in the baseline: "+words.Line(cell))
	}
	for _, cell := range c.OnlyCandidate {
		out = append(out, "only in the candidate: "+words.Line(cell))
	}
	for _, r := range c.Rows {
		if !r.Primary {
			return append(out, "·: looked at, not decisive: each by itself at 95 %, never the reason of a failure")
		}
	}
	return out
}

// deciding says which interval an outcome rests on.
func (c Comparison) deciding() (out []string) {
	first := func(ok func(r decide.Row) bool) (margin string, found bool) {
		rows := c.all()
		i := slices.IndexFunc(rows, func(r decide.Row) bool { return r.Note == "" && ok(r) })
		if i < 0 {
			return "", false
		}
		return inPercent(rows[i].Margin), true
	}
	different := func(r decide.Row) bool { return r.Outcome == decide.Worse || r.Outcome == decide.Better }
	if _, found := first(different); found {
		line := "WORSE, BETTER: the interval shown excludes 0 and the change is beyond the margin"
		if margin, found := first(func(r decide.Row) bool { return different(r) && r.BeyondMargin }); found {
			line += "; (> " + margin + "): so is the whole interval"
		}
		out = append(out, line)
	}
	if margin, found := first(func(r decide.Row) bool { return r.Outcome == decide.Equivalent }); found {
		out = append(out, "EQUIVALENT (±"+margin+"): the 90 % interval, narrower than the one shown, is within it")
	}
	return out
}

// finds says how small a difference the comparison could have shown.
func (c Comparison) finds() string {
	var least, most *decide.Row
	for i := range c.Rows {
		r := &c.Rows[i]
		if !r.Primary || math.IsNaN(r.Detectable) || math.IsInf(r.Detectable, 0) {
			continue
		}
		if least == nil || r.Detectable < least.Detectable {
			least = r
		}
		if most == nil || r.Detectable > most.Detectable {
			most = r
		}
	}
	if least == nil {
		return ""
	}
	if inPercent(least.Detectable) == inPercent(most.Detectable) {
		return "smallest change this test finds (80 % power): " + inPercent(least.Detectable)
	}
	return fmt.Sprintf("smallest change this test finds (80 %% power): %s (%s) to %s (%s)", inPercent(least.Detectable), strings.TrimSuffix(metricName(*least), " ms"), inPercent(most.Detectable), strings.TrimSuffix(metricName(*most), " ms"))
}

// inPercent is a part of one in per cent, two digits at most: 5 %, 0.2 %.
func inPercent(v float64) string { return fmt.Sprintf("%.2g", math.Min(100*v, 99)) + " %" }

// trialsIfEqual is what the metric that takes most would need; nothing where it is
// not known of one of them.
func (c Comparison) trialsIfEqual() decide.Trials {
	var most decide.Trials
	for _, r := range c.Primary() {
		if r.Outcome != decide.Unclear || r.Note != "" {
			continue
		}
		if !r.Trials.Known() {
			return decide.Trials{}
		}
		most = decide.Trials{Least: max(most.Least, r.Trials.Least), Most: max(most.Most, r.Trials.Most)}
	}
	return most
}

// named is a metric in so many columns, marked where its values are few.
func named(r decide.Row, width int) string {
	if !r.Few() {
		return words.Clip(metricName(r), width)
	}
	return words.Clip(metricName(r), width-2) + " ?"
}

// few says what the mark behind a percentile means: of how many values it is.
func (c Comparison) few() string {
	i := slices.IndexFunc(c.Rows, decide.Row.Few)
	if i < 0 {
		return ""
	}
	r := c.Rows[i]
	return fmt.Sprintf("?: indicative, of few values: %s is of %.0f in a run, worth %.0f independent ones; it takes %d (raise requests)",
		strings.TrimSuffix(metricName(r), " ms"), r.Count, r.Effective, stats.Floor(percentileOf[r.Key.Stat]))
}

// metricName is a metric in the width of the table: "TTFT p50 ms".
func metricName(r decide.Row) string {
	name := r.Header
	if m, ok := metrics.Lookup(r.Key.Tag); ok && m.Header == r.Header {
		return words.Clip(strings.TrimSuffix(m.Called(r.Key.Stat), " %"), 22) // the values say their unit
	}
	if r.Key.Stat != "avg" {
		name += " " + r.Key.Stat
	}
	if r.Unit == "ms" {
		name += " ms"
	}
	return words.Clip(name, 22)
}

func value(r decide.Row, v float64) string {
	if r.Unit == "ratio" && !math.IsNaN(v) {
		return words.Number(100*v) + " %"
	}
	if math.IsInf(v, 1) {
		return "∞"
	}
	return words.Number(v)
}

// change is the point with its interval: +10.0 % [9.5, 10.6]. A narrow interval
// gets more digits; one that has no width in them is left out.
func change(r decide.Row) string {
	switch {
	case math.IsNaN(r.Change):
		return ""
	case math.IsNaN(r.Low):
		return signed(r.Change, 0) + " %"
	}
	for more := range 3 {
		if low, high := signed(r.Low, more), signed(r.High, more); low != high {
			return fmt.Sprintf("%s %% [%s, %s]", signed(r.Change, more), low, high)
		}
	}
	return signed(r.Change, 0) + " %"
}

// signed is a relative change in per cent, with a digit behind the point below
// a hundred, and more digits where they are asked for.
func signed(v float64, more int) string {
	v *= 100
	digits := 1 + more
	if math.Abs(v) >= 100 {
		digits = more
	}
	s := words.Decimals(v, digits)
	if strings.Trim(s, "-0.") == "" {
		return words.Decimals(0, digits)
	}
	if v > 0 {
		return "+" + s
	}
	return strings.Replace(s, "-", "−", 1)
}

// outcome is the word with what stands behind it.
func outcome(r decide.Row) string {
	switch {
	case r.Note != "":
		return string(r.Outcome) + ": " + r.Note
	case r.BeyondMargin && (r.Outcome == decide.Worse || r.Outcome == decide.Better):
		return fmt.Sprintf("%s (> %s)", r.Outcome, inPercent(r.Margin))
	case r.Outcome == decide.Equivalent:
		return fmt.Sprintf("%s (±%s)", r.Outcome, inPercent(r.Margin))
	case r.Outcome == decide.Unclear && r.Harmless:
		return string(decide.NotWorse)
	}
	return string(r.Outcome)
}

// WriteMarkdown writes the comparison for a pull request.
func (c Comparison) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n%s.\n\n", plain(c.Headline()), c.design())
	b.WriteString("| cell | metric | baseline | candidate | change | p | outcome |\n|---|---|---:|---:|---|---:|---|\n")
	for _, r := range c.all() {
		name, said := metricName(r), outcome(r)
		if r.Primary {
			name, said = "**"+name+"**", "**"+said+"**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", cellText(r.Cell), cellText(name), value(r, r.Base), value(r, r.Candidate), change(r), chance(r.P), cellText(said))
	}
	b.WriteByte('\n')
	for _, line := range c.remarks() {
		fmt.Fprintf(&b, "- %s\n", cellText(line))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func chance(p float64) string {
	switch {
	case math.IsNaN(p):
		return ""
	case p < 0.001:
		return "< 0.001"
	}
	return fmt.Sprintf("%.3f", p)
}
