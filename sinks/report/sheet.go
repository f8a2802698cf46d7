package report

import (
	"strings"

	"aiperf.dev/aiperf/internal/words"
)

// columns is how many characters a line has where the terminal does not say.
const columns = 80

// sentenceWidth is where a sentence is broken, however wide the terminal is: longer
// lines are hard to read.
const sentenceWidth = 110

// sheet is text that is as wide as a terminal.
type sheet struct {
	strings.Builder
	width int
}

func newSheet(width int) *sheet {
	if width <= 0 {
		width = columns
	}
	return &sheet{width: width}
}

// line writes one line.
func (s *sheet) line(text string) { s.WriteString(strings.TrimRight(text, " ") + "\n") }

// spread writes left and right at the ends of a line, or below each other where a line
// does not hold both.
func (s *sheet) spread(left, right string) {
	room := min(s.width, sentenceWidth) - words.Width(left) - words.Width(right)
	if right != "" && room >= 2 {
		s.line(left + strings.Repeat(" ", room) + right)
		return
	}
	s.wrapped("", left)
	if right != "" {
		s.line("  " + right)
	}
}

// wrapped writes text after a head, continuations indented below the text.
func (s *sheet) wrapped(head, text string) {
	indent := strings.Repeat(" ", min(words.Width(head), 9))
	width := min(s.width, sentenceWidth)
	line, empty := head, true
	for _, word := range strings.Fields(text) {
		if !empty && words.Width(line)+1+words.Width(word) > width {
			s.line(line)
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	s.line(line)
}

// note writes one of the lines below a table: its name, and what is said.
func (s *sheet) note(name, text string) { s.wrapped(words.Pad(name, noteColumn), text) }

// noteColumn is where the text of a note begins.
const noteColumn = 9

// grid is a table of text: the first columns are aligned left, the others right. The
// last column is a remark and has no width of its own. over stands above the heads,
// each over so many columns behind those on the left.
type grid struct {
	head []string
	over []span
	rows [][]string
	left int
}

// span is a head over several columns.
type span struct {
	text string
	over int
}

// write prints the table as far as it fits: it is never split, and the columns on the
// right that have no room are named below it.
func (g *grid) write(s *sheet) {
	widths := make([]int, len(g.head))
	for _, row := range append([][]string{g.head}, g.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], words.Width(cell))
		}
	}
	g.narrow(widths, s.width)
	to := g.fit(widths, s.width)
	last := len(widths) - 1
	if len(g.over) > 0 {
		s.line(g.spans(widths))
	}
	for _, row := range append([][]string{g.head}, g.rows...) {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-words.Width(cell))
			switch {
			case i == last:
				line.WriteString("  " + cell)
			case i < g.left:
				line.WriteString(" " + cell + pad)
			case i < to:
				line.WriteString("  " + pad + cell)
			}
		}
		s.line(line.String())
	}
	if to < last {
		s.wrapped("", "no room here for "+words.And(g.head[to:last])+": a wider terminal or report.html has it")
	}
}

// fits tells whether no column has to be left out.
func (g *grid) fits(width int) bool {
	s := newSheet(width)
	g.write(s)
	return strings.Count(s.String(), "\n") == len(g.rows)+1+min(len(g.over), 1)
}

// fit is how many columns a terminal has room for, beside the names and the remarks.
func (g *grid) fit(widths []int, room int) int {
	last := len(widths) - 1
	for _, w := range widths[:min(g.left, last)] {
		room -= w + 1
	}
	if widths[last] > 0 {
		room -= widths[last] + 2
	}
	to := g.left
	for to < last && (to == g.left || room >= widths[to]+2) {
		room -= widths[to] + 2
		to++
	}
	return to
}

// spans are the heads over several columns, each where the text of its first begins.
func (g *grid) spans(widths []int) string {
	at := 0
	for _, w := range widths[:g.left] {
		at += w + 1
	}
	line, column := "", g.left
	for _, x := range g.over {
		room := 0
		for _, w := range widths[column : column+x.over] {
			room += w + 2
		}
		start := at + 2 + widths[column] - words.Width(g.head[column])
		line = words.Pad(line, start) + words.Clip(x.text, room-2)
		at, column = at+room, column+x.over
	}
	return line
}

// narrow leaves out the middle of long names until the table fits a terminal, as
// long as they can still be told apart. Figures are never cut.
func (g *grid) narrow(widths []int, room int) {
	total := 0
	for i, w := range widths {
		total += w + 1
		if i >= g.left {
			total++
		}
	}
	const least = 10 // characters of a name
	for total > room {
		widest := 0
		for i := range g.left {
			if widths[i] > widths[widest] {
				widest = i
			}
		}
		most := max(widths[widest]-(total-room), least)
		if g.left == 0 || most >= widths[widest] || !g.shorten(widest, most) {
			return
		}
		total -= widths[widest] - most
		widths[widest] = most
	}
}

// shorten cuts the names of a column, unless two of them would look the same.
func (g *grid) shorten(column, most int) bool {
	full := map[string]string{}
	for _, row := range g.rows {
		short := words.Middle(row[column], most)
		if other, taken := full[short]; taken && other != row[column] {
			return false
		}
		full[short] = row[column]
	}
	for _, row := range g.rows {
		row[column] = words.Middle(row[column], most)
	}
	g.head[column] = words.Middle(g.head[column], most)
	return true
}
