package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
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
	wrapped(b, "", fmt.Sprintf("%s %s (candidate) against %s (baseline)", c.Outcome(), words.Line(c.Candidate), words.Line(c.Baseline)))
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
		head := fmt.Sprintf("%-*s %8s %9s  ", nameColumn, mark+words.Clip(metricName(r), nameColumn-words.Width(mark)), value(r, r.Base), value(r, r.Candidate))
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

// sentence is the outcome with what it rests on: of each primary metric of that
// outcome the cell that changed most, the largest changes first.
func (c Comparison) sentence() string {
	var rows []decide.Row
	for _, r := range c.Rows {
		if !r.Primary || r.Outcome != c.Outcome() || change(r) == "" && value(r, r.Base) == value(r, r.Candidate) {
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
	said := fmt.Sprintf("%s: %s against %s", c.Outcome(), words.Line(c.Candidate), words.Line(c.Baseline))
	for i, r := range rows {
		if i == maxChanges {
			said += fmt.Sprintf("; %d more", len(rows)-i)
			break
		}
		of := ""
		if len(c.Together) > 0 { // of several cells: which
			of = " at " + words.Line(r.Cell)
		}
		said += map[bool]string{true: ": ", false: "; "}[i == 0] + strings.TrimSuffix(metricName(r), " ms") + " " + cmp.Or(change(r), "from "+value(r, r.Base)+" to "+value(r, r.Candidate)) + of
	}
	if c.Outcome() == decide.Equivalent && len(rows) > 0 {
		widest := slices.MaxFunc(rows, func(a, b decide.Row) int { return cmp.Compare(a.Margin, b.Margin) })
		said += ": within ±" + inPercent(widest.Margin)
	}
	return said
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
	how := "in pairs: trial k of both met the same load"
	if !c.Paired {
		how = "not in pairs, by Welch's test on logarithms"
	}
	return fmt.Sprintf("%s a cell, %s; 95 %% over %s together", words.Count(c.Trials, "trial"), how, words.Count(c.Compared, "primary metric"))
}

// remarks say what was not shown and what would show it, and what the signs mean.
func (c Comparison) remarks() []string {
	var out []string
	if n := c.mostTrials(); n > 0 {
		out = append(out, fmt.Sprintf("UNDECIDED (n): so many trials of each system are expected to decide it; %d decide every primary metric", n))
	}
	if line := c.finds(); line != "" {
		out = append(out, line)
	}
	out = append(out, c.deciding()...)
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
		return "smallest difference that is shown four times in five: " + inPercent(least.Detectable)
	}
	return fmt.Sprintf("smallest difference that is shown four times in five: %s (%s) to %s (%s)", inPercent(least.Detectable), metricName(*least), inPercent(most.Detectable), metricName(*most))
}

// inPercent is a part of one in per cent, two digits at most: 5 %, 0.2 %.
func inPercent(v float64) string { return fmt.Sprintf("%.2g", math.Min(100*v, 99)) + " %" }

func (c Comparison) mostTrials() int {
	most := 0
	for _, r := range c.Rows {
		if r.Primary {
			most = max(most, r.Trials)
		}
	}
	return most
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
	case r.Outcome == decide.Unclear && r.Trials > 0:
		return fmt.Sprintf("%s (%d)", r.Outcome, r.Trials)
	}
	return string(r.Outcome)
}

// WriteMarkdown writes the comparison for a pull request.
func (c Comparison) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s: `%s` against `%s`\n\n%s.\n\n", c.Outcome(), code(c.Candidate), code(c.Baseline), c.design())
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

func code(s string) string { return strings.ReplaceAll(words.Line(s), "`", "'") }

func chance(p float64) string {
	switch {
	case math.IsNaN(p):
		return ""
	case p < 0.001:
		return "< 0.001"
	}
	return fmt.Sprintf("%.3f", p)
}
