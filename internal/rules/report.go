package rules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/words"
)

// Document is rules.json: how a result stands to each set of rules that was asked for.
type Document struct {
	Schema string   `json:"schema"`
	Sets   []Judged `json:"sets"`
}

// Judged is how a result stands to one set.
type Judged struct {
	Name    string    `json:"name"`
	Case    string    `json:"case,omitempty"`
	Title   string    `json:"title,omitempty"`
	Version string    `json:"version"`
	Source  string    `json:"source"`
	Said    string    `json:"said"` // the answer
	Rules   []Outcome `json:"rules"`
	Beyond  []string  `json:"beyond,omitempty"` // what the source asks and no rule looks at
	Text    string    `json:"text,omitempty"`   // the file of the set, so that anybody can judge again
}

// NewDocument is the document of what was judged.
func NewDocument(sets []Judged) *Document {
	return &Document{Schema: "aiperf.rules-judged/1", Sets: sets}
}

// Bytes are the file.
func (d *Document) Bytes() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(d)
	return b.Bytes(), err
}

// Asked are the sets that were judged, made of their texts.
func (d *Document) Asked() (sets []*Set, err error) {
	for _, j := range d.Sets {
		s, err := Parse(j.Name, []byte(j.Text))
		if err != nil {
			return nil, err
		}
		if s, err = s.With(j.Case); err != nil {
			return nil, err
		}
		sets = append(sets, s)
	}
	return sets, nil
}

// Read reads the document of a directory. Where there is none, the error is os.ErrNotExist.
func Read(dir string) (*Document, error) {
	f, err := os.Open(filepath.Join(dir, resultdir.RulesName))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const largest = 64 << 20
	var d Document
	if err := json.NewDecoder(io.LimitReader(f, largest)).Decode(&d); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return &d, nil
}

// Of is how cells stand to the set.
func (s *Set) Of(cells []Cell) Judged {
	j := Judged{
		Name: s.Name, Case: s.Case, Title: s.Title, Version: s.Version, Source: s.Source, Rules: s.Judge(cells),
		Beyond: s.Beyond, Text: s.Text,
	}
	j.Said = j.sentence(s.Spoken())
	return j
}

// Spoken is the set with its case, as it is asked for.
func (j *Judged) Spoken() string { return (&Set{Name: j.Name, Case: j.Case}).Spoken() }

// Count is how many rules ended in a state.
func (j *Judged) Count(state State) (n int) {
	for _, r := range j.Rules {
		if r.State == state {
			n++
		}
	}
	return n
}

// sentence is the answer. It never says that a result may be called by the name of a
// benchmark: only what was looked at is said.
func (j *Judged) sentence(name string) string {
	met, all := j.Count(Met), len(j.Rules)
	said := fmt.Sprintf("meets %d of the %s of %s", met, words.Count(all, "rule"), name)
	if met == all {
		said = fmt.Sprintf("meets the rules as written in %s: %d of %d", name, met, all)
	}
	if n := j.Count(NotMet); n > 0 {
		said += fmt.Sprintf("; %d not met", n)
	}
	if n := j.Count(NotChecked); n > 0 {
		said += fmt.Sprintf("; %d cannot be checked", n)
	}
	if len(j.Beyond) > 0 {
		said += "; a submission needs more"
	}
	return said
}

// Exit is what a program ends with that held a result against the sets.
func (d *Document) Exit() diag.Code {
	code := diag.OK
	if d == nil {
		return code
	}
	for i := range d.Sets {
		switch s := &d.Sets[i]; {
		case s.Count(NotMet) > 0:
			return diag.Missed
		case s.Count(NotChecked) > 0:
			code = diag.Invalid
		}
	}
	return code
}

// Marks stand before the line of a rule.
var marks = map[State]string{Met: "✓", NotMet: "✗", NotChecked: "?"}

// Line is a rule on a screen: "✗ duration", "requests are sent for at least 600 s: …".
func (o *Outcome) Line() (head, text string) {
	text = o.Asks + ": " + o.Found
	if o.At != "" && o.State != Met {
		text += " (" + o.At + o.others() + ")"
	}
	switch {
	case o.State == NotChecked:
		text = o.Asks + ": cannot be checked: " + o.Found
		if o.Try != "" {
			text += "; try " + o.Try
		}
	case o.State == NotMet && o.Try != "":
		text += "; try " + o.Try
	}
	return marks[o.State] + " " + o.Rule, text
}

// others counts the other cells that ended as the one that is named.
func (o *Outcome) others() string {
	n := -1
	for _, c := range o.Cells {
		if c.State == o.State {
			n++
		}
	}
	if n < 1 {
		return ""
	}
	return fmt.Sprintf(" and %d more of %d cells", n, len(o.Cells))
}

// Follows reports whether the other document, judged anew, says the same: words may differ
// from version to version, states and figures may not.
func (d *Document) Follows(made *Document) bool {
	same := func(a, b *float64) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }
	return slices.EqualFunc(d.Sets, made.Sets, func(a, b Judged) bool {
		return a.Spoken() == b.Spoken() && slices.EqualFunc(a.Rules, b.Rules, func(x, y Outcome) bool {
			return x.Rule == y.Rule && x.State == y.State && same(x.Value, y.Value) && same(x.Limit, y.Limit)
		})
	})
}

// Brief is the document without the texts of the sets.
func (d *Document) Brief() (out []Judged) {
	for _, j := range d.Sets {
		j.Text = ""
		out = append(out, j)
	}
	return out
}
