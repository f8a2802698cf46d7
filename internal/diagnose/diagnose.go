// Package diagnose says why a server was as slow as it was. In go the figures that the
// tables hold of each run, the client's and the server's, and the plan's cells; out comes
// for each cell a finding with its evidence, what speaks against it, how certain it is
// and what to measure next, and a sentence for all of them.
//
// The steps: an Evidence takes rows of the tables, one by one; facts.go makes named
// numbers of them for each cell, NaN where one is not known; rules.go says which of
// these make a finding. Both are lists of data. What is not known is never guessed: a
// cell that no rule explains says what would have to be measured.
package diagnose

import (
	"math"
	"slices"
	"strings"
)

// Certainty says how far a finding can be relied on.
type Certainty string

// The certainties.
const (
	Shown    Certainty = "shown"     // it follows from what the server and the client counted
	Likely   Certainty = "likely"    // it fits, and nothing that was measured speaks against it
	NotKnown Certainty = "not known" // the figures that would decide it are missing, or disagree
)

// Cell is one cell of a plan.
type Cell struct {
	Index int
	Label string // as screens call it
	Group string // what it has in common with cells that differ from it in load alone
	Axis  string // of its load, as people call it; "" where no load is swept
	Load  float64
	ISL   float64 // of an axis of input lengths; else 0
	Rest  string  // what it has in common with cells that differ from it in load and ISL alone
	Rate  float64 // of an open loop: requests that are due each second; else 0

	flag string  // that sets its load: "concurrency"; "" for a load that no flag sets
	at   float64 // what it is set to

	requests int64 // after which it ends; 0 for none
	timed    bool  // it ends after some time
}

// Report is what is said of all cells.
type Report struct {
	Schema   string   `json:"schema"`   // aiperf.diagnosis/1
	Failures string   `json:"failures"` // how many requests failed; "" for none
	Sentence string   `json:"sentence"`
	Cells    []Result `json:"cells"`
	Steps    []Step   `json:"steps"`
}

// SchemaName is that of the JSON document.
const SchemaName = "aiperf.diagnosis/1"

// Result is what is said of one cell.
type Result struct {
	Index     int       `json:"cell_index"`
	Label     string    `json:"cell"`
	Finding   string    `json:"finding"` // a rule's name
	Title     string    `json:"title"`
	Certainty Certainty `json:"certainty"`
	Sentence  string    `json:"sentence"`
	Failures  string    `json:"failures"` // how many requests failed and why; "" for none
	For       []Clue    `json:"evidence"`
	Against   []Clue    `json:"counter_evidence"` // other limits that show as well
	Out       []Clue    `json:"ruled_out"`        // what rules other limits out
	Open      []Clue    `json:"open"`             // facts that are not known, without which others are not ruled out
	Next      string    `json:"next"`
	Command   string    `json:"command"` // that does so, as it is typed; "" where none does
	Also      []string  `json:"also"`    // sentences of further findings, the more certain first

	rule *Rule
	cell *facts
}

// Limits reports whether the finding is what limits the server.
func (r *Result) Limits() bool { return r.rule.limited }

// Clue is a fact that speaks for a finding or against it. Value is nil where the fact is
// not known.
type Clue struct {
	Fact  string   `json:"fact"`
	Value *float64 `json:"value"`
	Unit  string   `json:"unit"`
	Says  string   `json:"says"`
}

// Step is the way from one load to the next: by how much a request takes longer, and
// where. The four parts add up to the whole.
type Step struct {
	From       string   `json:"from"` // cells
	To         string   `json:"to"`
	Sentence   string   `json:"sentence"`
	Latency    float64  `json:"latency_ms"`    // how much longer a request takes, mean of the whole run
	Queue      *float64 `json:"queue_ms"`      // of that, in the server's queue; nil: not known
	Prefill    *float64 `json:"prefill_ms"`    // reading prompts
	Decode     *float64 `json:"decode_ms"`     // making tokens
	Elsewhere  *float64 `json:"elsewhere_ms"`  // what is left: latency_ms less the three
	Throughput float64  `json:"throughput_by"` // factor on the requests served each second
}

// Of makes the report.
func Of(cells []Cell, e *Evidence) *Report {
	all := factsOf(cells, e)
	r := &Report{Schema: SchemaName, Steps: stepsOf(all)}
	for _, f := range all {
		r.Cells = append(r.Cells, judge(f))
	}
	r.Sentence, r.Failures = r.overall(), r.failures()
	return r
}

// judge finds the first rule that holds and does not yield to a limit behind it. The others that
// hold as well are named beside it, unless they say the same or contradict it.
func judge(f *facts) Result {
	out := Result{Index: f.cell.Index, Label: f.cell.Label, Also: []string{}, cell: f, Failures: f.failures()}
	var holding []*Rule
	for i := range f.book.rules {
		if r := &f.book.rules[i]; r.holds(f) {
			holding = append(holding, r)
		}
	}
	out.rule = holding[0] // the last rule always holds
	if out.rule.yields(f) {
		if i := slices.IndexFunc(holding, func(r *Rule) bool { return r.limited && !r.checked && !r.beside }); i > 0 {
			out.rule = holding[i]
		}
	}
	for _, r := range holding {
		if r != out.rule && r.beside && !slices.Contains(out.rule.covers, r.Name) {
			out.Also = append(out.Also, r.say(f))
		}
	}
	r := out.rule
	out.Sentence = r.say(f)
	out.Finding, out.Title, out.Certainty, out.Next = r.Name, r.Title, r.certainty(f), r.next(f)
	out.For, out.Against, out.Out, out.Open = r.clues(f)
	return out
}

// known gives a number for a document, nil for none.
func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// sentence makes a text begin with a capital letter and end with a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
