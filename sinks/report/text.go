package report

import (
	"fmt"
	"math"
	"strings"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
)

// estimate is mean ± half-width, both to the place of the half-width's first
// digit (second below 2), as far as two to three digits of the mean go. A
// half-width that would round to nothing is one of the last place: only an
// interval without width reads ± 0.
func estimate(e stats.Estimate, percent bool) string {
	mean, half := e.Mean, e.Half()
	if percent {
		mean, half = 100*mean, 100*half
	}
	if !e.HasInterval() || math.IsNaN(half) {
		return words.Number(mean)
	}
	if half < 1e-9*math.Abs(mean) || half == 0 {
		return words.Number(mean) // never ± 0: that would claim that nothing is left to know
	}
	if low, high := e.Mean-e.Low, e.High-e.Mean; max(low, high) > 1.25*min(low, high) || beyond(e, percent) {
		return lopsided(e, percent)
	}
	place := int(math.Floor(math.Log10(half)))
	if half/math.Pow10(place) < 2 {
		place--
	}
	if a := math.Abs(mean); a > 0 { // never finer than three digits of the mean, never coarser than two
		first := int(math.Floor(math.Log10(a)))
		place = min(max(place, first-2), first-1)
	}
	half = max(half, math.Pow10(place))
	if place > 0 { // whole numbers: round both to the same power of ten
		p := math.Pow10(place)
		return words.Grouped(math.Round(mean/p)*p) + " ± " + words.Grouped(math.Round(half/p)*p)
	}
	return words.Decimals(mean, min(-place, 6)) + " ± " + words.Decimals(half, min(-place, 6))
}

// beyond tells whether mean ± half-width would leave what can be, though the
// interval does not: below 0, or above 100 %.
func beyond(e stats.Estimate, percent bool) bool {
	return e.Low >= 0 && e.Mean-e.Half() < 0 || percent && e.High <= 1 && e.Mean+e.Half() > 1
}

// lopsided is an estimate whose interval reaches farther to one side: its ends
// are written, for ± would go beyond what can be.
func lopsided(e stats.Estimate, percent bool) string {
	by := 1.0
	if percent {
		by = 100
	}
	return fmt.Sprintf("%s [%s, %s]", words.Short(by*e.Mean), words.Short(by*e.Low), words.Short(by*e.High))
}

// wrapped writes text after a head, in lines of 80 columns, continuations
// indented below the text.
func wrapped(b *strings.Builder, head, text string) {
	indent := strings.Repeat(" ", min(words.Width(head), 8))
	line := head
	empty := true
	for _, word := range strings.Fields(text) {
		if !empty && words.Width(line)+1+words.Width(word) > 80 {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}

// grid is a table of text: the first columns are aligned left, the others
// right. The last column is a remark and has no width of its own.
type grid struct {
	head []string
	rows [][]string
	left int
}

func (g *grid) write(b *strings.Builder) {
	widths := make([]int, len(g.head))
	for _, row := range append([][]string{g.head}, g.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], words.Width(cell))
		}
	}
	g.narrow(widths)
	for from, first := g.left, true; first || from < len(widths)-1; first = false {
		to := g.fit(widths, from, first)
		g.part(b, widths, from, to, first)
		from = to
	}
}

// fit is where a part of the table ends that begins with a column: it fits a
// terminal beside the names, and beside the remarks if it is the first.
func (g *grid) fit(widths []int, from int, first bool) int {
	last := len(widths) - 1
	room := columns
	for _, w := range widths[:min(g.left, last)] {
		room -= w + 1
	}
	if first {
		room -= widths[last] + 2
	}
	to := from
	for to < last && (to == from || room >= widths[to]+2) {
		room -= widths[to] + 2
		to++
	}
	return to
}

// part writes the names and some of the columns; the first part has the remarks.
func (g *grid) part(b *strings.Builder, widths []int, from, to int, first bool) {
	last := len(widths) - 1
	for _, row := range append([][]string{g.head}, g.rows...) {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-words.Width(cell))
			switch {
			case i == last:
				if first {
					line.WriteString("  " + cell)
				}
			case i < g.left:
				line.WriteString(" " + cell + pad)
			case from <= i && i < to:
				line.WriteString("  " + pad + cell)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// columns is how many characters a line of a terminal has, at least.
const columns = 80

// narrow leaves out the middle of long names until the table fits a terminal, as
// long as they can still be told apart. Figures are never cut.
func (g *grid) narrow(widths []int) {
	total := 0
	for i, w := range widths {
		total += w + 1
		if i >= g.left {
			total++
		}
	}
	const least = 10 // characters of a name
	for total > columns {
		widest := 0
		for i := range g.left {
			if widths[i] > widths[widest] {
				widest = i
			}
		}
		most := max(widths[widest]-(total-columns), least)
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
