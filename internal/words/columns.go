package words

import (
	"fmt"
	"io"
	"math"
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
	for _, word := range strings.Fields(text) {
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

// Bar is a bar of so many characters, of which a share is full.
func Bar(share float64, width int) string {
	n := int(math.Round(min(max(share, 0), 1) * float64(width)))
	return strings.Repeat("█", n) + strings.Repeat("░", width-n)
}
