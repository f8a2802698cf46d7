package diagnose

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/words"
)

// manyCells is from how many on the text leaves the evidence to the JSON document.
const manyCells = 12

// WriteText prints the report for people, so many columns wide.
func (r *Report) WriteText(w io.Writer, width int) error {
	var b strings.Builder
	line := func(label, text string) {
		for i, l := range words.Fold(text, max(20, width-2-len(label)), "") {
			if i > 0 {
				label = strings.Repeat(" ", len(label))
			}
			b.WriteString(label + l + "\n")
		}
	}
	if r.Failures != "" {
		line("", r.Failures)
	}
	line("", r.Sentence)
	for _, c := range r.Cells {
		b.WriteByte('\n')
		if len(r.Cells) > 1 {
			b.WriteString(words.Line(c.Label) + "\n")
			said := strings.TrimSuffix(c.Sentence, ".")
			if c.Certainty != NotKnown { // which the sentence says
				said += fmt.Sprintf(" (%s)", c.Certainty)
			}
			line("  ", said)
		}
		if c.Failures != "" && len(r.Cells) > 1 {
			line("  failed     ", c.Failures)
		}
		for _, s := range c.Also {
			line("  also       ", s)
		}
		if len(r.Cells) <= manyCells {
			clues(line, "  evidence   ", c.For)
			clues(line, "  against    ", c.Against)
			clues(line, "  ruled out  ", c.Out)
			missing := slices.Clone(c.Open) // by name: none has a value
			for i := range missing {
				missing[i].Says = missing[i].Fact
			}
			clues(line, "  not known  ", missing)
		}
		line("  next       ", c.Next)
	}
	if len(r.Steps) > 0 && len(r.Cells) <= manyCells {
		b.WriteByte('\n')
		for _, s := range r.Steps {
			line("", s.Sentence)
		}
	}
	if len(r.Cells) > manyCells {
		b.WriteString("\nThe evidence of each cell: --format json\n")
	}
	_, err := io.WriteString(w, words.Clean(b.String()))
	return err
}

func clues(line func(label, text string), label string, all []Clue) {
	var parts []string
	for _, c := range all {
		parts = append(parts, c.Says)
	}
	if len(parts) > 0 {
		line(label, strings.Join(parts, " · "))
	}
}
