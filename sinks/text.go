package sinks

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"aiperf.dev/aiperf/internal/stats"
)

// significant is v with three significant digits and no exponent: 0.0456,
// 38.1, 1,230.
func significant(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64) // 0.9999 has the digits of 1.00
	switch a := math.Abs(rounded); {
	case a == 0:
		return "0"
	case a >= 100:
		return grouped(math.Round(v))
	default:
		digits := max(2-int(math.Floor(math.Log10(a))), 0)
		return strconv.FormatFloat(v, 'f', min(digits, 6), 64)
	}
}

// grouped writes a number with commas: whole from 100 up, else as significant.
func grouped(v float64) string {
	if math.Abs(v) < 100 && v != math.Trunc(v) {
		return significant(v)
	}
	s := strconv.FormatFloat(math.Abs(v), 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	if v < 0 {
		s = "-" + s
	}
	return s
}

// amount is a value with its unit; milliseconds in the unit a person would use.
func amount(v float64, unit string) string {
	a := math.Abs(v)
	switch {
	case unit == "":
		return significant(v)
	case unit == "ms" && a >= 10_000:
		v, unit = v/1e3, "s"
	case unit == "ms" && a > 0 && a < 0.1:
		v, unit = v*1e3, "µs"
	}
	return significant(v) + " " + unit
}

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
		return significant(mean)
	}
	if half < 1e-9*math.Abs(mean) || half == 0 {
		return significant(mean) + " ± 0"
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
		return grouped(math.Round(mean/p)*p) + " ± " + grouped(math.Round(half/p)*p)
	}
	return withCommas(mean, min(-place, 6)) + " ± " + withCommas(half, min(-place, 6))
}

// withCommas is v with a fixed number of decimals and commas in the whole part.
func withCommas(v float64, digits int) string {
	s := strconv.FormatFloat(v, 'f', digits, 64)
	whole, rest, cut := strings.Cut(s, ".")
	n, err := strconv.ParseFloat(whole, 64)
	if err != nil || math.Abs(n) < 1000 {
		return s
	}
	if cut {
		return grouped(n) + "." + rest
	}
	return grouped(n)
}

func percentage(share float64) string { return significant(100*share) + " %" }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// elapsed is a span as people say it: 48.2 s, 14m02s.
func elapsed(d time.Duration) string {
	if d < time.Minute {
		return amount(d.Seconds(), "s")
	}
	return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
}

// clip shortens text that somebody else wrote, and keeps it on one line.
func clip(s string, most int) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == ' ' }), " ")
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// wrapped writes text after a head, in lines of 80 columns, continuations
// indented below the text.
func wrapped(b *strings.Builder, head, text string) {
	indent := strings.Repeat(" ", min(utf8.RuneCountInString(head), 8))
	line := head
	empty := true
	for _, word := range strings.Fields(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > 80 {
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
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range append([][]string{g.head}, g.rows...) {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			switch {
			case i == len(row)-1:
				line.WriteString("  " + cell)
			case i < g.left:
				line.WriteString(" " + cell + pad)
			default:
				line.WriteString("  " + pad + cell)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}
