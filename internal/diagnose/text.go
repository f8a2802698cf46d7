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
		}
		line("  next       ", c.Next)
		if c.Command != "" { // in one piece, to be pasted
			b.WriteString("  type       " + words.Line(c.Command) + "\n")
		}
	}
	if missing := r.missing(); len(missing) > 0 {
		b.WriteString("\nNot known, and what would tell it:\n")
		for _, m := range missing {
			line("  ", strings.Join(m.names, ", ")+": "+m.lacking)
		}
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

// missing are facts that are not known and would rule out more, with what would make them known.
type missing struct {
	lacking string
	names   []string
}

// missing are those of all cells, each once.
func (r *Report) missing() (out []missing) {
	for _, c := range r.Cells {
		for _, o := range c.Open {
			lacking := c.cell.lacks(o.Fact)
			i := slices.IndexFunc(out, func(m missing) bool { return m.lacking == lacking })
			if i < 0 {
				i, out = len(out), append(out, missing{lacking: lacking})
			}
			if name := labels[o.Fact]; !slices.Contains(out[i].names, name) {
				out[i].names = append(out[i].names, name)
			}
		}
	}
	return out
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
