package prove

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// Proof is what an experiment says of the cause. A cause that is stated explains every
// effect, and each other one is contradicted by at least one.
type Proof struct {
	Schema   string    `json:"schema"` // aiperf.proof/1
	Cause    string    `json:"cause"`  // a cause's name; "" where they were not separated
	Sentence string    `json:"sentence"`
	Level    float64   `json:"level"` // of the intervals, all of them together
	Effects  []Seen    `json:"effects"`
	Rivals   []Verdict `json:"rivals"` // every other cause, and what speaks against it
	Next     string    `json:"next"`
}

// SchemaName is that of the JSON document.
const SchemaName = "aiperf.proof/1"

// Seen is an effect as it was measured. Figures are nil where they are not known.
type Seen struct {
	Effect   string   `json:"effect"`
	Change   string   `json:"change"`
	Sentence string   `json:"sentence"`
	By       *float64 `json:"change_by"` // of the time: −0.5 is half of it
	ByLow    *float64 `json:"change_by_low"`
	ByHigh   *float64 `json:"change_by_high"`
	Exponent *float64 `json:"exponent"`
	Low      *float64 `json:"exponent_low"`
	High     *float64 `json:"exponent_high"`
	Trials   int      `json:"trials"`  // in which both runs can be used
	Lacking  string   `json:"lacking"` // why there is no figure
}

// known reports whether there is an interval.
func (s *Seen) known() bool { return s.Low != nil }

// Verdict is what was found of a cause.
type Verdict struct {
	Cause        string   `json:"cause"`
	Title        string   `json:"title"`
	Contradicted []string `json:"contradicted_by"` // effects
}

// failedLimit is the share of requests from which on failures are what is to be explained.
const failedLimit = 0.05

// fewestDose is how much less there must be of what a change lessens.
const fewestDose = 0.75

// otherAnswers is by how much answers may become longer or shorter by a change that is not about them.
const otherAnswers = 0.05

// Judge is Judge of the experiment that was made of this load. Where requests of it failed
// and those that are answered meet no limit, what fails the others is not one of the causes:
// that nothing limits the server would be wrong of a server with a limit on the rate.
func (b *Base) Judge(r *decide.Results, outcomes []decide.Outcome) *Proof {
	p := Judge(r, outcomes)
	if p.Cause == notBound && b.Failed > failedLimit {
		p.Cause = ""
		p.Sentence = fmt.Sprintf("No cause is stated: %s of the requests failed as the load was measured, and nothing limits those that are answered.",
			percent(b.Failed))
		p.Next = "find out why requests fail: a limit on the rate answers 429, a full queue 503, and the errors stand in the result's report"
	}
	return p
}

// Judge says which cause explains what the runs of the experiment gave.
func Judge(r *decide.Results, outcomes []decide.Outcome) *Proof {
	p := &Proof{Schema: SchemaName, Level: decide.CompareLevel, Effects: []Seen{}, Rivals: []Verdict{}}
	byName := map[string]*decide.CellResult{}
	for i := range r.Cells {
		byName[r.Cells[i].Cell.Short()] = &r.Cells[i]
	}
	base := byName[unchanged]
	if base == nil {
		p.Sentence, p.Next = "This is not an experiment of aiperf diagnose --prove.", "aiperf diagnose --prove DIR"
		return p
	}
	for _, c := range r.Cells {
		if n := c.OK + c.Failed; n > 0 && float64(c.Failed) > failedLimit*float64(n) {
			p.Sentence = fmt.Sprintf("No cause is stated: %s of the requests failed in the cell %q, and the times of the others say nothing about a limit.",
				percent(float64(c.Failed)/float64(n)), c.Cell.Short())
			p.Next = "find out why they fail: the errors stand in the result's report"
			return p
		}
	}
	doses := map[string]dose{}
	for _, ch := range Changes() {
		doses[ch.Name] = ch.measured(base, byName[ch.Name])
	}
	rows := compared(outcomes)
	for _, e := range Effects() {
		p.Effects = append(p.Effects, e.seen(doses[e.Change], rows[e.Change]))
	}
	p.decide(prompts(base))
	p.few(base.Cell, outcomes)
	return p
}

// prompts is the prompts' share of the tokens of a request.
func prompts(base *decide.CellResult) float64 {
	isl, osl := mean(base, avg(metrics.InputSequenceLength)), mean(base, avg(metrics.OutputSequenceLength))
	return isl / (isl + osl)
}

func mean(c *decide.CellResult, k decide.Key) float64 {
	if e, ok := c.Headline().Get(k); ok {
		return e.Mean
	}
	return math.NaN()
}

// dose is by how much a change changed what it is to change.
type dose struct {
	log float64 // of the factor
	why string  // it counts for nothing; "" where it does
}

func (ch Change) measured(base, cell *decide.CellResult) dose {
	if cell == nil {
		return dose{math.NaN(), "the cell was not measured"}
	}
	from, to := mean(base, ch.dose), mean(cell, ch.dose)
	switch {
	case math.IsNaN(from) || math.IsNaN(to):
		return dose{math.NaN(), "how many there were is not known: " + ch.kind}
	case !(to < fewestDose*from):
		return dose{math.NaN(), fmt.Sprintf("fewer or shorter %s were asked for, and there were %.3g where there had been %.3g", ch.kind, to, from)}
	}
	if answers := avg(metrics.OutputSequenceLength); ch.dose != answers {
		if was, is := mean(base, answers), mean(cell, answers); !(math.Abs(is/was-1) <= otherAnswers) {
			return dose{math.NaN(), fmt.Sprintf("answers had %.3g tokens where they had had %.3g", is, was)}
		}
	}
	return dose{math.Log(to / from), ""}
}

// compared are the rows of the comparison of each change with the load as it was measured.
func compared(outcomes []decide.Outcome) map[string][]decide.Row {
	arm := func(name string) decide.Arm {
		cell := decide.ArmCell{Label: "load", Closed: true}
		for _, o := range outcomes {
			if o.Run.Cell.Short() == name {
				o.Taints = maps.Clone(o.Taints)
				maps.DeleteFunc(o.Taints, func(_ string, t validity.Taint) bool { return accepted(t) })
				cell.Runs = append(cell.Runs, o)
			}
		}
		return decide.Arm{Name: name, Cells: []decide.ArmCell{cell}}
	}
	terms := decide.Terms{
		Paired: true, Primary: []decide.Key{avg(metrics.RequestLatency), avg(metrics.InterTokenLatency)},
		Candidates: len(Changes()),
	}
	out := map[string][]decide.Row{}
	for _, ch := range Changes() {
		if c, err := decide.Compare(arm(unchanged), arm(ch.Name), terms); err == nil {
			out[ch.Name] = c.Rows
		}
	}
	return out
}

// accepted reports whether a doubt is none here: how long answers are is measured, and more
// than a few failures were refused before.
func accepted(t validity.Taint) bool {
	return t.Level == validity.Doubtful && (t.Check == validity.OSLHonoured || t.Check == validity.Errors)
}

// seen makes an effect of a row: the interval of the time's change, and that of its exponent.
func (e Effect) seen(d dose, rows []decide.Row) Seen {
	s := Seen{Effect: e.Name, Change: e.Change, Lacking: d.why}
	i := slices.IndexFunc(rows, func(r decide.Row) bool { return r.Key == e.key })
	switch {
	case s.Lacking != "":
	case i < 0:
		s.Lacking = "the cell was not measured"
	case rows[i].N < stats.FewestTrials || !(rows[i].Low < rows[i].High):
		s.Lacking = cmp.Or(rows[i].Note, "too few trials for an interval")
	default:
		r := rows[i]
		s.Trials = r.N
		at, low, high := math.Log1p(r.Change)/d.log, math.Log1p(r.High)/d.log, math.Log1p(r.Low)/d.log
		s.By, s.ByLow, s.ByHigh, s.Exponent, s.Low, s.High = &r.Change, &r.Low, &r.High, &at, &low, &high
	}
	s.Sentence = e.sentence(&s)
	return s
}

func (e Effect) sentence(s *Seen) string {
	if !s.known() {
		return fmt.Sprintf("with %s the %s is not known: %s", e.Change, e.about, s.Lacking)
	}
	word := e.words[0]
	if *s.By > 0 {
		word = e.words[1]
	}
	return fmt.Sprintf("with %s "+e.says+" (%s to %s)", e.Change, percent(math.Abs(*s.By)), word, signed(*s.ByLow), signed(*s.ByHigh))
}

// decide states the one cause that explains all effects while each other is contradicted.
func (p *Proof) decide(share float64) {
	causes := Causes()
	var fits, left []Cause
	for _, c := range causes {
		v := Verdict{c.Name, c.Title, []string{}}
		inside := true
		for i, r := range c.Expects(share) {
			s := &p.Effects[i]
			free := math.IsInf(r.Low, -1) && math.IsInf(r.High, 1)
			switch {
			case !s.known():
				inside = inside && free
			case *s.High < r.Low || *s.Low > r.High:
				v.Contradicted = append(v.Contradicted, s.Effect)
			default:
				inside = inside && *s.Low >= r.Low && *s.High <= r.High
			}
		}
		if len(v.Contradicted) == 0 {
			if left = append(left, c); inside {
				fits = append(fits, c)
			}
		}
		p.Rivals = append(p.Rivals, v)
	}
	if len(left) == 1 && len(fits) == 1 {
		c := fits[0]
		p.Cause, p.Next = c.Name, c.Next
		p.Rivals = slices.DeleteFunc(p.Rivals, func(v Verdict) bool { return v.Cause == c.Name })
		p.Sentence = fmt.Sprintf("Shown: %s.", c.Says)
		return
	}
	p.open(left)
}

// open says that no cause is stated, and what would separate those that are left.
func (p *Proof) open(left []Cause) {
	lacking := slices.IndexFunc(p.Effects, func(s Seen) bool { return !s.known() })
	var titles []string
	for _, c := range left {
		titles = append(titles, c.Title)
	}
	switch {
	case len(left) == 0:
		p.Sentence = "Not separable: none of the causes alone explains what was measured; several may act together."
		p.Next = "look at what each change did, and change two things at once in an experiment of your own"
	case len(left) == 1:
		p.Sentence = fmt.Sprintf("Not separable within this budget: all causes but one are contradicted, but the intervals are too wide to show that one (%s).", titles[0])
		p.Next = "a longer --budget narrows the intervals"
	case len(left) > manyLeft:
		p.Sentence = fmt.Sprintf("Not separable within this budget: %d of %s may explain what was measured.", len(left), words.Count(len(Causes()), "cause"))
		p.Next = "a longer --budget narrows the intervals"
	default:
		p.Sentence = fmt.Sprintf("Not separable within this budget. Each of these may explain what was measured: %s.", strings.Join(titles, "; "))
		p.Next = "a longer --budget narrows the intervals"
	}
	if lacking >= 0 {
		p.Next = "the first thing that is missing: " + p.Effects[lacking].Sentence
	}
}

// manyLeft is from how many causes on they are counted, and not named.
const manyLeft = 3

// few says of causes that were not separated where runs are missing: more time alone does
// not bring them.
func (p *Proof) few(base *sweep.Cell, outcomes []decide.Outcome) {
	planned := 0
	for _, o := range outcomes {
		if o.Run.Cell.ID == base.ID {
			planned++
		}
	}
	for _, s := range p.Effects {
		if p.Cause == "" && s.known() && s.Trials < planned {
			p.Next = fmt.Sprintf("only %d of %s can be used, because this client made the others INVALID: aiperf checks says why", s.Trials, words.Count(planned, "trial"))
			return
		}
	}
}

func percent(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }

func signed(v float64) string {
	switch text := fmt.Sprintf("%.0f %%", 100*math.Abs(v)); {
	case text == "0 %":
		return text
	case v < 0:
		return "−" + text
	default:
		return "+" + text
	}
}
