// Package rules holds results against the rules of others: how long and how often to
// measure, under which load, within which limits and with which audits. A set of rules is
// data, built in or of the user's own; nothing here knows a benchmark by name. In go a set
// and what is known of each cell, before it is measured or after; out comes an outcome for
// each rule. A rule whose evidence is missing is neither met nor not met.
package rules

import (
	"embed"
	"path"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/suggest"
)

// Set is a set of rules.
type Set struct {
	Name    string
	Title   string
	Version string // of the text that it follows
	Source  string // where that stands
	Rules   []Rule
	Beyond  []string // what the source asks and no rule here looks at
	Cases   []Case   // values for the names in the rules, as of one model each
	Case    string   // the one that was chosen, "" for none
	Text    string   // its file
	word    string   // what is typed for it, without a case
}

// Case gives names in the rules a value.
type Case struct {
	Name   string
	values map[string]value
}

// Kind says what a rule is about.
type Kind string

// The kinds of rules.
const (
	Duration    Kind = "duration"        // how long requests are sent
	Requests    Kind = "requests"        // how many end well
	Trials      Kind = "trials"          // runs of each cell
	LoadLaw     Kind = "load"            // when requests are sent
	Setting     Kind = "setting"         // a setting of the experiment
	Figure      Kind = "metric"          // a statistic of each run
	EarlyStop   Kind = "early_stopping"  // so few over a limit that a share keeps it for certain
	Repeated    Kind = "repeated_prompt" // the same prompt again is not faster
	Measurement Kind = "verdict"         // what the measurement says of itself
)

// Rule is one of a set.
type Rule struct {
	ID     string // unique in the set
	Kind   Kind
	Says   string // what the source says, "" where the rule speaks for itself
	Metric string // tag; Limits for the limits that the experiment states
	Stat   string
	Least  *Bound
	Most   *Bound
	Share  float64 // of requests that keep the limit
	// Confidence and Tolerance are those of the early stopping.
	Confidence, Tolerance float64
	Until                 string   // of a duration: Sent or Answered
	Is                    []string // the loads or verdicts that are allowed
	Path                  string   // of a setting, in the benchmark
	Want                  any      // its value
}

// Bound is the end of a range: a number, or the name that a case gives one.
type Bound struct {
	Value float64
	Name  string // "" for a number
	Unit  string
}

// known reports whether there is a number.
func (b *Bound) known() bool { return b != nil && b.Name == "" }

// Limits stands for a metric: a request is over when it misses any limit of the experiment.
const Limits = "slos"

// How long a duration counts.
const (
	Sent     = "sent"     // until the last request was due
	Answered = "answered" // until the last answer had come
)

//go:embed sets
var files embed.FS

// Names are those of the built-in sets, in order.
func Names() []string {
	list, err := files.ReadDir("sets")
	if err != nil {
		panic(err) // it is in the program
	}
	var names []string
	for _, f := range list {
		names = append(names, strings.TrimSuffix(f.Name(), ending))
	}
	return names
}

const ending = ".yaml"

// Builtin is the set of that name, with no case chosen.
func Builtin(name string) (*Set, error) {
	b, err := files.ReadFile(path.Join("sets", name+ending))
	if err != nil {
		hint := "built in are " + strings.Join(Names(), ", ") + "; a file of your own ends in .yaml"
		if near := suggest.Nearest(name, Names()); near != "" {
			hint = "did you mean " + near + "?"
		}
		return nil, diag.New("no set of rules is called "+name, hint)
	}
	s, err := Parse(name+ending, b)
	if err == nil {
		s.word = name
	}
	return s, err
}

// With is the set with the values of a case; "" leaves the names without one.
func (s *Set) With(name string) (*Set, error) {
	if name == "" {
		return s, nil
	}
	i := slices.IndexFunc(s.Cases, func(c Case) bool { return c.Name == name })
	if i < 0 {
		return nil, s.noCase(name)
	}
	out := *s
	out.Case, out.Rules = name, slices.Clone(s.Rules)
	for k := range out.Rules {
		r := &out.Rules[k]
		r.Least, r.Most = s.Cases[i].fill(r.Least), s.Cases[i].fill(r.Most)
	}
	return &out, nil
}

func (s *Set) noCase(name string) error {
	names := s.CaseNames()
	switch near := suggest.Nearest(name, names); {
	case len(names) == 0:
		return diag.New(s.word+" has no cases, so "+name+" names none of them", "write "+s.word)
	case near != "":
		return diag.New(s.word+" has no case "+name, "did you mean "+s.word+":"+near+"?")
	default:
		return diag.New(s.word+" has no case "+name, "its cases are "+strings.Join(names, ", "))
	}
}

// CaseNames are the names of its cases.
func (s *Set) CaseNames() (names []string) {
	for _, c := range s.Cases {
		names = append(names, c.Name)
	}
	return names
}

// fill is the bound with the number that the case gives its name.
func (c Case) fill(b *Bound) *Bound {
	if b == nil || b.Name == "" {
		return b
	}
	v, ok := c.values[b.Name]
	if !ok {
		return b
	}
	return &Bound{Value: v.number, Unit: b.Unit}
}

// Spoken is the set with its case, as it is asked for.
func (s *Set) Spoken() string {
	if s.Case == "" {
		return s.Name
	}
	return s.Name + ":" + s.Case
}
