package words

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// TwoColumns prints a name and, from a column on, its text, wrapped at 80 columns.
func TwoColumns(w io.Writer, left, right string, column int) {
	TwoColumnsWithin(w, left, right, column, 80)
}

// TwoColumnsWithin is TwoColumns for a screen of width columns.
func TwoColumnsWithin(w io.Writer, left, right string, column, width int) {
	line := left
	if Width(line) >= column { // one space is enough between the two
		fmt.Fprintln(w, line)
		line = ""
	}
	pad := func() { line += strings.Repeat(" ", max(column-Width(line), 0)) }
	pad()
	for _, word := range strings.Fields(right) {
		if Width(line)+1+Width(word) > width && strings.TrimSpace(line) != "" {
			fmt.Fprintln(w, strings.TrimRight(line, " "))
			line = ""
			pad()
		}
		line += word + " "
	}
	fmt.Fprintln(w, strings.TrimRight(line, " "))
}

// Fold breaks a sentence at spaces into lines of at most width columns; those
// behind the first are indented. A word that is longer stays whole.
func Fold(text string, width int, indent string) (lines []string) {
	line := ""
	for _, word := range Pieces(text) {
		switch {
		case line == "":
			line = word
		case Width(line)+1+Width(word) > width:
			lines, line = append(lines, line), indent+word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// Pieces are the words between which a line may be broken: a number keeps its unit and
// the sign before it, and no line begins with a dot.
func Pieces(text string) (out []string) {
	for _, word := range strings.Fields(text) {
		if n := len(out) - 1; n >= 0 && together(out[n], word) {
			out[n] += " " + word
			continue
		}
		out = append(out, word)
	}
	return out
}

// What no line is broken before, and what none is broken behind.
var (
	units  = []string{"%", "ms", "s", "µs", "ns", "tok/s", "req/s"}
	before = []string{"≤", "≥", "<", ">", "==", "±", "×"}
)

func together(last, next string) bool {
	number := strings.ContainsAny(last[len(last)-1:], "0123456789") || strings.HasSuffix(last, "∞")
	if number && slices.Contains(units, strings.TrimRight(next, ".,:;)]")) || next == "·" || next == "±" ||
		next == "×" {
		return true
	}
	return slices.ContainsFunc(before,
		func(sign string) bool { return last == sign || strings.HasSuffix(last, " "+sign) })
}

// Bar is a bar of so many characters, of which a share is full.
func Bar(share float64, width int) string {
	n := int(math.Round(min(max(share, 0), 1) * float64(width)))
	return strings.Repeat("█", n) + strings.Repeat("░", width-n)
}
