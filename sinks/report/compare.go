package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/receipt"
	"aiperf.dev/aiperf/sweep/decide"
)

// Comparison shows what two systems say against each other.
type Comparison struct {
	*decide.Comparison
	Unlike []receipt.Unlike // what is not the same in both, by their receipts
	inPlan bool             // on the screen of its plan, which says first what is in doubt
	told   bool             // that screen has said how many requests failed
}

// Screen is how a comparison is printed: for a terminal of so many columns, with the
// metrics that decide nothing, and with the exit code.
type Screen struct {
	Width    int
	All      bool
	Terminal bool // what is too long for one is left out
}

// WriteConsole prints the comparison: the answer, and a row per metric that decides.
func (c Comparison) WriteConsole(w io.Writer, how Screen) error {
	said := c.screen(how, false)
	switch lines := strings.Count(said, "\n"); {
	case !how.Terminal || how.All:
	case !c.severalCells() && lines > linesOfPair:
		said = c.screen(how, true)
	case c.severalCells() && lines > linesAtLeast && how.Width >= narrowest:
		said = c.overview(how)
	}
	_, err := io.WriteString(w, words.Clean(said))
	return err
}

// screen is the comparison as text, short where it would have too many lines.
func (c Comparison) screen(how Screen, short bool) string {
	s := newSheet(how.Width)
	facts := c.design()
	if code := c.Exit(); code != diag.OK {
		facts += fmt.Sprintf(" · exit %d", code)
	}
	sentences := []string{c.Headline()}
	if line := c.Changes(); line != "" && c.severalCells() {
		sentences = append(sentences, line)
	}
	if short {
		sentences = sentences[:1]
	}
	sentences = append(sentences, c.otherwise()...)
	s.spread(sentences, facts)
	s.part(design)
	if line := c.load(); line != "" {
		s.wrapped("", line)
	}
	more := "with --all"
	if how.All {
		more = ""
	}
	c.table(s, more, short)
	if short {
		return s.within(linesOfPair)
	}
	return s.String()
}

// overview is the comparison of several workloads in a few lines: of each the change of every
// metric that decides.
func (c Comparison) overview(how Screen) string {
	s := newSheet(how.Width)
	sentences := []string{c.Headline()}
	if line := c.Changes(); line != "" {
		sentences = append(sentences, line)
	}
	sentences = append(sentences, c.otherwise()...)
	facts := c.design()
	if code := c.Exit(); code != diag.OK {
		facts += fmt.Sprintf(" · exit %d", code)
	}
	s.spread(sentences, facts)
	g, workloads := c.workloads()
	s.part(essential)
	g.write(s)
	s.part(advice)
	s.hanging("values, intervals and more metrics: --all")
	for _, line := range c.remarks(nil, nil, "with --all", true) {
		line.write(s)
	}
	return s.within(max(linesAtLeast, workloads+linesBeyond))
}

// workloads is a table with a row per workload and a column per metric that decides.
func (c Comparison) workloads() (g *grid, workloads int) {
	g = &grid{left: 1, head: []string{""}}
	var keys []decide.Key
	var cells []string
	of := map[string]map[decide.Key]string{}
	for _, r := range c.Primary() {
		if !slices.Contains(keys, r.Key) {
			keys, g.head = append(keys, r.Key), append(g.head, shortName(r))
		}
		if of[r.Cell] == nil {
			of[r.Cell] = map[decide.Key]string{}
			cells = append(cells, r.Cell)
		}
		text := mark(r)
		if point, _, _, unit := ShownChange(r); !math.IsNaN(point) {
			text += " " + roundedChange(point, unit)
		}
		of[r.Cell][r.Key] = text
	}
	g.head = append(g.head, "")
	for _, cell := range cells {
		row := []string{words.Line(cell)}
		for _, k := range keys {
			row = append(row, cmp.Or(of[cell][k], noneMark))
		}
		g.rows = append(g.rows, append(row, ""))
	}
	return g, len(cells)
}

// load is what both systems were asked, of a comparison of one workload: "concurrency 4 ·
// isl 512 · osl 8 · requests 160".
func (c Comparison) load() string {
	var parts []string
	if len(c.otherwise()) > 0 { // both were not asked one thing
		return ""
	}
	for _, name := range []string{"concurrency", "rate", "isl", "osl", "requests", "duration"} {
		for _, f := range c.Load {
			path := strings.Split(f.Name, ".")
			last := path[len(path)-1]
			if (last == "value" || last == "mean") && len(path) > 1 {
				last = path[len(path)-2]
			}
			if part := strings.TrimSpace(spokenAxis(name) + " " + words.Clip(f.Value, 40)); last == name &&
				!slices.Contains(parts, part) {
				parts = append(parts, part)
			}
		}
	}
	return strings.Join(parts, " · ")
}

// table is a block per cell with a row per metric, and the remarks on them. more is where
// the rows are that decide nothing; "" shows them. Those that are WORSE or BETTER all the
// same are never left out, but where the screen is short: there a remark names them. short
// leaves out how small a change the test finds.
func (c Comparison) table(s *sheet, more string, short bool) {
	var rows, shown, hidden []decide.Row
	for _, r := range c.all() {
		if more != "" && !r.Primary && r.Cell != togetherName && (short || !decided(r)) {
			hidden = append(hidden, r)
			continue
		}
		shown = append(shown, r)
	}
	rows = shown
	for len(rows) > 0 {
		cell := rows[0].Cell
		n := slices.IndexFunc(rows, func(r decide.Row) bool { return r.Cell != cell })
		if n < 0 {
			n = len(rows)
		}
		if c.severalCells() {
			s.wrapped("", words.Line(cell))
		}
		s.part(essential)
		c.block(rows[:n], s.width).write(s)
		rows = rows[n:]
	}
	for _, line := range c.remarks(shown, hidden, more, short) {
		line.write(s)
	}
}

// decided reports whether a row is shown to have changed beyond the margin.
func decided(r decide.Row) bool { return r.Outcome == decide.Worse || r.Outcome == decide.Better }

// How many columns the name of a side takes at most, and at least where others need room.
const (
	mostOfSide  = 24
	leastOfSide = 8
)

// block is the table of one cell. Where the terminal is narrow the remarks are said in a word
// first, then they go, whose marks stay, then the names of the sides are cut, which the headline
// has in full, then the values go: never the change.
func (c Comparison) block(rows []decide.Row, width int) *grid {
	build := func(side int, values bool, remark func(decide.Row) string) *grid {
		a, b := words.Apart(words.Line(c.Baseline), words.Line(c.Candidate), side)
		g := &grid{head: []string{"", "change", ""}, left: 1}
		if values {
			g.head = slices.Insert(g.head, 1, a, b)
		}
		for _, r := range rows {
			line := []string{mark(r) + " " + shortName(r), change(r), remark(r)}
			if values {
				line = slices.Insert(line, 1, valueUnit(r, r.Base), valueUnit(r, r.Candidate))
			}
			g.rows = append(g.rows, line)
		}
		return g
	}
	doubted := func(r decide.Row) string { return strings.TrimSpace(doubtMark(r)) }
	for _, said := range []func(decide.Row) string{remark, remarkInAWord, doubted} {
		if g := build(mostOfSide, true, said); g.whole(width) {
			return g
		}
	}
	for side := mostOfSide; side >= leastOfSide; side-- {
		if g := build(side, true, doubted); g.whole(width) {
			return g
		}
	}
	return build(0, false, doubted)
}

// outcomeMarks stand before the rows.
var outcomeMarks = map[decide.Verdict]string{
	decide.Worse: "✗", decide.Better: "✓", decide.Equivalent: "=",
	decide.Unclear: "?",
}

const togetherName = "all cells"

// all are the rows, those over all cells last.
func (c Comparison) all() []decide.Row {
	return append(c.Rows[:len(c.Rows):len(c.Rows)], c.Together...)
}

func (c Comparison) severalCells() bool {
	return slices.ContainsFunc(c.Rows, func(r decide.Row) bool { return r.Cell != c.Rows[0].Cell })
}

// WriteMarkdown writes the comparison for a pull request.
func (c Comparison) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n%s. %s.\n\n", plain(c.Headline()), plain(c.Changes()), c.basis())
	b.WriteString("| cell | metric | baseline | candidate | change | p | outcome |\n|---|---|---:|---:|---|---:|---|\n")
	for _, r := range c.all() {
		name, said := metricName(r), outcome(r)
		if r.Primary {
			name, said = "**"+name+"**", "**"+said+"**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", cellText(r.Cell), cellText(name), value(r, r.Base),
			value(r, r.Candidate), change(r), chance(r.P), cellText(said))
	}
	b.WriteByte('\n')
	for _, line := range c.remarks(c.all(), nil, "", false) {
		text, commands := line.parts()
		fmt.Fprintf(&b, "- %s\n", cellText(text))
		for _, command := range commands {
			fmt.Fprintf(&b, "  `%s`\n", strings.ReplaceAll(command, "`", "'"))
		}
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
