package prove

import (
	"io"
	"strings"

	"aiperf.dev/aiperf/internal/words"
)

// WriteText prints the proof for people, so many columns wide.
func (p *Proof) WriteText(w io.Writer, width int) error {
	var b strings.Builder
	line := func(label, text string) {
		for i, l := range words.Fold(text, max(20, width-len([]rune(label))), "") {
			if i > 0 {
				label = strings.Repeat(" ", len([]rune(label)))
			}
			b.WriteString(label + l + "\n")
		}
	}
	line("", p.Sentence)
	label := "  measured   "
	for _, s := range p.Effects {
		line(label, s.Sentence)
		label = "             "
	}
	label = "  ruled out  "
	for _, v := range p.Rivals {
		if len(v.Contradicted) > 0 {
			line(label, v.Title+": contradicted by "+words.And(p.changesOf(v.Contradicted)))
			label = "             "
		}
	}
	line("  next       ", p.Next)
	_, err := io.WriteString(w, words.Clean(b.String()))
	return err
}

// changesOf are the changes that effects are of, each once, with what they moved.
func (p *Proof) changesOf(effects []string) (out []string) {
	for _, name := range effects {
		for _, e := range Effects() {
			if e.Name == name {
				out = append(out, e.Change+" ("+e.about+")")
			}
		}
	}
	return out
}
