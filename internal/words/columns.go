package words

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// TwoColumns prints a name and, from a column on, its text, wrapped at 80 columns.
func TwoColumns(w io.Writer, left, right string, column int) {
	const width = 80
	line := left
	if len([]rune(line)) >= column { // one space is enough between the two
		fmt.Fprintln(w, line)
		line = ""
	}
	pad := func() { line += strings.Repeat(" ", max(column-len([]rune(line)), 0)) }
	pad()
	for _, word := range strings.Fields(right) {
		if len([]rune(line))+1+len([]rune(word)) > width && strings.TrimSpace(line) != "" {
			fmt.Fprintln(w, strings.TrimRight(line, " "))
			line = ""
			pad()
		}
		line += word + " "
	}
	fmt.Fprintln(w, strings.TrimRight(line, " "))
}

// Bar is a bar of so many characters, of which a share is full.
func Bar(share float64, width int) string {
	n := int(math.Round(min(max(share, 0), 1) * float64(width)))
	return strings.Repeat("█", n) + strings.Repeat("░", width-n)
}
