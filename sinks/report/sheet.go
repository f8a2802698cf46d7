package report

import (
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/validity"
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
	parts []part
}

// part is a run of lines that stand or fall together.
type part struct {
	begins int // in the text
	weight weight
}

// weight is how much a part of a screen matters. Of one that is too long the last parts of
// the least weight are left out.
type weight int

const (
	essential weight = iota // the answer, the verdict with its first finding, the table, errors, where to look further
	advice                  // what to type
	missed                  // what did not pass, and what figures are of
	further                 // further figures and answers
	doubtful                // further findings, and what is certain
	aside                   // notes
	design                  // how it was measured
	space                   // blank lines
)

// part begins lines of a weight.
func (s *sheet) part(w weight) { s.parts = append(s.parts, part{s.Len(), w}) }

// within is the text without the parts of least weight, until it has no more than so many
// lines.
func (s *sheet) within(most int) string {
	text := s.String()
	pieces := []string{text}
	weights := []weight{essential}
	if len(s.parts) > 0 {
		pieces[0] = text[:s.parts[0].begins]
		for i, p := range s.parts {
			end := len(text)
			if i+1 < len(s.parts) {
				end = s.parts[i+1].begins
			}
			pieces, weights = append(pieces, text[p.begins:end]), append(weights, p.weight)
		}
	}
	lines, without := strings.Count(text, "\n"), []int{}
	for w := space; w > essential; w-- {
		for i := len(pieces) - 1; i >= 0 && lines > most; i-- {
			if n := strings.Count(pieces[i], "\n"); weights[i] == w && n > 0 {
				lines, without = lines-n, append(without, i)
			}
		}
	}
	for len(without) > 0 { // what left last comes back first, where there is room for it after all
		i := without[len(without)-1]
		without = without[:len(without)-1]
		if n := strings.Count(pieces[i], "\n"); lines+n <= most {
			lines += n
		} else {
			pieces[i] = ""
		}
	}
	return strings.Join(pieces, "")
}

func newSheet(width int) *sheet {
	if width <= 0 {
		width = columns
	}
	return &sheet{width: width}
}

// line writes one line.
func (s *sheet) line(text string) { s.WriteString(strings.TrimRight(text, " ") + "\n") }

// spread writes sentences below each other, and the facts at the right end of the first
// line where that leaves it whole, else of the last; else in a line below them.
func (s *sheet) spread(sentences []string, facts string) {
	width := min(s.width, sentenceWidth)
	var lines []string
	for _, text := range sentences {
		lines = append(lines, words.Fold(text, width, "")...)
	}
	room := func(line string) int { return width - words.Width(line) - words.Width(facts) }
	last := len(lines) - 1
	switch {
	case room(lines[0]) >= 2:
		lines[0] += strings.Repeat(" ", room(lines[0])) + facts
	case room(lines[last]) >= apart:
		lines[last] += strings.Repeat(" ", room(lines[last])) + facts
	default:
		lines = append(lines, facts)
	}
	for _, line := range lines {
		s.line(line)
	}
}

// apart is how many columns keep facts from being read as the end of the last sentence before them.
const apart = 6

// wrapped writes text after a head, continuations indented below the text.
func (s *sheet) wrapped(head, text string) {
	indent := strings.Repeat(" ", min(words.Width(head), labelColumn))
	width := min(s.width, sentenceWidth)
	line, empty := head, true
	for _, word := range words.Pieces(text) {
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

// hanging writes text whose continuations are indented, so that it is seen where it ends.
func (s *sheet) hanging(text string) {
	for _, line := range words.Fold(text, min(s.width, sentenceWidth), "  ") {
		s.line(line)
	}
}

// phrases writes short texts behind each other; a line is broken between them.
func (s *sheet) phrases(parts []string) {
	line := ""
	for _, p := range parts {
		if line != "" && words.Width(line)+3+words.Width(p) > min(s.width, sentenceWidth) {
			s.hanging(line)
			line = ""
		}
		if line != "" {
			line += " · "
		}
		line += p
	}
	if line != "" {
		s.hanging(line)
	}
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

	without []string // names of columns that were left out for want of room
	cut     []string // names that were cut for want of room, in full
}

// shows reports whether a figure of the table has a sign.
func (g *grid) shows(sign string) bool {
	return slices.ContainsFunc(g.rows, func(row []string) bool {
		return slices.ContainsFunc(row[g.left:], func(cell string) bool { return strings.Contains(cell, sign) })
	})
}

// span is a head over several columns.
type span struct {
	text string
	over int
}

// write prints the table as far as it fits: it is never split; columns on the right that
// have no room are left out.
func (g *grid) write(s *sheet) {
	widths := g.widths(s.width)
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
	if len(g.cut) > 0 {
		s.hanging("in full: " + strings.Join(g.cut, " · "))
	}
}

// widths are those of the columns, after marks and long names have been seen to.
func (g *grid) widths(room int) []int {
	g.align()
	widths := g.natural()
	g.narrow(widths, room)
	return widths
}

// natural are the widths of the columns as they are.
func (g *grid) natural() []int {
	widths := make([]int, len(g.head))
	for _, row := range append([][]string{g.head}, g.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], words.Width(cell))
		}
	}
	return widths
}

// across is how wide a line of such columns is.
func across(widths []int, left int) (sum int) {
	for i, w := range widths {
		switch {
		case i < left:
			sum += w + 1
		case w > 0 || i < len(widths)-1:
			sum += w + 2
		}
	}
	return sum
}

// align keeps figures below each other where some have a mark behind them.
func (g *grid) align() {
	marked := func(cell string) bool {
		return slices.ContainsFunc([]string{validity.DoubtMark, validity.FailedMark, validity.InvalidMark},
			func(mark string) bool { return strings.HasSuffix(cell, mark) })
	}
	for i := g.left; i < len(g.head)-1; i++ {
		if !slices.ContainsFunc(g.rows, func(row []string) bool { return marked(row[i]) }) {
			continue
		}
		for _, row := range g.rows {
			if !marked(row[i]) && !strings.HasSuffix(row[i], " ") {
				row[i] += " "
			}
		}
	}
}

// whole reports whether the table fits a terminal with all its columns and names.
func (g *grid) whole(room int) bool {
	g.align()
	return across(g.natural(), g.left) <= room
}

// columns is how many of the figures a terminal has room for.
func (g *grid) columns(room int) int { return g.fit(g.widths(room), room) - g.left }

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

// narrow cuts the ends of long names until the table fits a terminal, as long as they can
// still be told apart, else their middles. Figures are never cut.
func (g *grid) narrow(widths []int, room int) {
	total := across(widths, g.left)
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
	apart := func(cut func(string, int) string) bool {
		full := map[string]string{}
		for _, row := range g.rows {
			short := cut(row[column], most)
			if other, taken := full[short]; taken && other != row[column] {
				return false
			}
			full[short] = row[column]
		}
		return true
	}
	cut := words.Cut
	if !apart(cut) {
		if cut = words.Middle; !apart(cut) {
			return false
		}
	}
	for _, row := range g.rows {
		short := cut(row[column], most)
		if full := row[column]; short != full && !slices.Contains(g.cut, full) {
			g.cut = append(g.cut, full)
		}
		row[column] = short
	}
	g.head[column] = words.Cut(g.head[column], most)
	return true
}
