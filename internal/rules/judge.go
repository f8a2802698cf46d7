package rules

import (
	"fmt"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/mode"
)

// Timed are the metrics that an early stopping can count requests by.
func Timed() []string {
	return []string{metrics.TimeToFirstToken, metrics.InterTokenLatency, metrics.RequestLatency}
}

// Offline is a closed loop that sends all requests at once.
const Offline = "offline"

// Loads are those that a rule can ask for: the types of a phase, and Offline.
func Loads() []string {
	names := []string{Offline}
	for _, m := range mode.Catalogue() {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return names
}

// Cell is what is known of one cell of a plan.
type Cell struct {
	Label   string
	By      string                        // another program that measured it: what it does not say is not known
	Load    string                        // of its profiling phase; "several" of several that differ; "" is not known
	Setting func(path string) (any, bool) // in the benchmark
	Lacks   func(tag string) (what, hint string)
	Limits  map[string]float64 // of single requests, as the experiment states them
	Trials  int
	Runs    []Run
	Planned bool // nothing was measured yet: Runs has one, with what the plan says
}

// Run is what is known of one run; NaN and −1 are not known.
type Run struct {
	Sent     float64 // s, from the first request to the last one, by when they were due
	Answered float64 // s, from the first request to the last answer
	OK       int64
	Verdict  string
	Counts   map[Over]Tally
	Figure   func(tag, stat string) float64
	Prompts  Prompts
}

// Over is what an early stopping counts: requests beyond a limit. Most is 0 of Limits.
type Over struct {
	Metric string
	Most   float64
}

// Tally is how many requests were judged, and how many of them were over.
type Tally struct{ N, Over int }

// Prompts is what a run sent, and how fast.
type Prompts struct {
	Different int     // bodies of requests
	Closed    bool    // no clock said when they went: the rate is the server's
	Rate      float64 // requests that ended well, per second
}

// Counted are what the early stoppings of the set count.
func (s *Set) Counted() (out []Over) {
	for _, r := range s.Rules {
		if r.Kind == EarlyStop && (r.Metric == Limits || r.Most.known()) {
			if o := r.over(); !slices.Contains(out, o) {
				out = append(out, o)
			}
		}
	}
	return out
}

func (r *Rule) over() Over {
	if r.Metric == Limits {
		return Over{Metric: Limits}
	}
	return Over{r.Metric, r.Most.Value}
}

// State is how a rule ended.
type State string

// The states. What cannot be checked is neither of the others.
const (
	Met        State = "met"
	NotMet     State = "not_met"
	NotChecked State = "not_checked"
)

// rank is the higher the worse.
func (s State) rank() int { return slices.Index([]State{Met, NotChecked, NotMet}, s) }

// Outcome is how one rule ended.
type Outcome struct {
	Rule  string   `json:"rule"`
	Asks  string   `json:"asks"`
	Says  string   `json:"says,omitempty"` // the source
	State State    `json:"state"`
	Found string   `json:"found"` // at the cell that decides
	Value *float64 `json:"value,omitempty"`
	Limit *float64 `json:"limit,omitempty"`
	Unit  string   `json:"unit,omitempty"`
	Try   string   `json:"try,omitempty"` // what to type
	At    string   `json:"cell,omitempty"`
	Cells []AtCell `json:"cells,omitempty"` // of several
}

// AtCell is how a rule ended at one cell.
type AtCell struct {
	Cell  string `json:"cell"`
	State State  `json:"state"`
	Found string `json:"found"`
}

// found is what a rule found at one cell.
type found struct {
	state        State
	text, try    string
	value, limit float64
	unit         string
}

func unknown(text, try string) found {
	return found{state: NotChecked, text: text, try: try, value: math.NaN(), limit: math.NaN()}
}

// against holds a value against a limit.
func against(value, limit float64, most bool) found {
	f := found{state: Met, value: value, limit: limit}
	if most && value > limit || !most && value < limit {
		f.state = NotMet
	}
	return f
}

// Judge holds cells against the rules.
func (s *Set) Judge(cells []Cell) []Outcome {
	out := make([]Outcome, len(s.Rules))
	for i := range s.Rules {
		out[i] = s.judge(&s.Rules[i], cells)
	}
	return out
}

func (s *Set) judge(r *Rule, cells []Cell) Outcome {
	o := Outcome{Rule: r.ID, Asks: r.Asks(), Says: r.Says, State: NotChecked, Found: "no cell was measured"}
	worst := -1
	for i := range cells {
		f := s.at(r, &cells[i], cells)
		o.Cells = append(o.Cells, AtCell{cells[i].Label, f.state, f.text})
		if rank := f.state.rank(); rank > worst {
			worst = rank
			o.State, o.Found, o.Unit = f.state, f.text, f.unit
			if o.Try = f.try; f.state == Met || cells[i].By != "" { // what to type is for this program
				o.Try = ""
			}
			o.Value, o.Limit = metrics.OrNil(f.value), metrics.OrNil(f.limit)
			o.At = cells[i].Label
		}
	}
	if len(cells) < 2 {
		o.At, o.Cells = "", nil
	}
	return o
}

// at holds one cell against a rule. Of several runs the worst decides.
func (s *Set) at(r *Rule, c *Cell, cells []Cell) found {
	if name := r.unset(); name != "" {
		return s.unset(name)
	}
	switch r.Kind {
	case LoadLaw:
		return r.load(c)
	case Setting:
		return r.setting(c)
	case Trials:
		return r.trials(c)
	case Repeated:
		return r.repeated(c, cells)
	}
	if len(c.Runs) == 0 {
		return unknown("no run of it ended", "")
	}
	var worst found
	for i := range c.Runs {
		f := r.run(c, &c.Runs[i])
		if f.state != NotChecked && len(c.Runs) > 1 {
			f.text += fmt.Sprintf(" (trial %d of %d)", i+1, len(c.Runs))
		}
		if i == 0 || f.state.rank() > worst.state.rank() || f.state == worst.state && f.nearer(worst, r) {
			worst = f
		}
	}
	return worst
}

// nearer reports whether f is nearer to its limit than g, or farther beyond it.
func (f found) nearer(g found, r *Rule) bool {
	if r.Most != nil || r.Kind == EarlyStop {
		return f.value > g.value
	}
	return f.value < g.value
}

// unset is the name in the rule that has no number, "" for none.
func (r *Rule) unset() string {
	for _, b := range []*Bound{r.Least, r.Most} {
		if b != nil && b.Name != "" {
			return b.Name
		}
	}
	return ""
}

func (s *Set) unset(name string) found {
	if s.Case == "" && len(s.Cases) > 0 {
		return unknown(fmt.Sprintf("the limit $%s depends on the case, and none is chosen", name),
			fmt.Sprintf("--rules %s:%s, or another of its %d cases", s.word, s.Cases[0].Name, len(s.Cases)))
	}
	return unknown(fmt.Sprintf("the rules give $%s no value", name), "")
}

// run holds one run against a rule.
func (r *Rule) run(c *Cell, run *Run) found {
	switch r.Kind {
	case Duration:
		return r.duration(c, run)
	case Requests:
		return r.requests(c, run)
	case Figure:
		return r.figure(c, run)
	case EarlyStop:
		return r.early(c, run)
	default:
		return r.verdict(c, run)
	}
}

func (r *Rule) duration(c *Cell, run *Run) found {
	v := run.Sent
	if r.Until == Answered {
		v = run.Answered
	}
	if math.IsNaN(v) {
		if c.Planned {
			return unknown("how long it takes is not known before", "--benchmark-duration "+plainly(r.Least.Value))
		}
		return c.silent("when requests were sent", "the times of its requests are not known")
	}
	f := against(v, r.Least.Value, false)
	f.text, f.unit, f.try = seconds(v), "s", "--benchmark-duration "+plainly(r.Least.Value)
	if c.Planned {
		f.text += " planned"
	}
	return f
}

func (r *Rule) requests(c *Cell, run *Run) found {
	if run.OK < 0 {
		return unknown("how many requests there are is not known before", "--request-count "+plainly(r.Least.Value))
	}
	f := against(float64(run.OK), r.Least.Value, false)
	f.text, f.unit, f.try = words.Whole(run.OK), "requests", "--request-count "+plainly(r.Least.Value)
	if c.Planned {
		f.text += " planned"
	}
	return f
}

func (r *Rule) trials(c *Cell) found {
	f := against(float64(c.Trials), r.Least.Value, false)
	f.text, f.unit, f.try = words.Whole(c.Trials), "trials", "--num-profile-runs "+plainly(r.Least.Value)
	return f
}

// silent says what the program that measured does not tell; of this one, in the words of own.
func (c *Cell) silent(what, own string) found {
	if c.By != "" {
		own = c.By + " does not report " + what
	}
	return unknown(own, "")
}

func (r *Rule) load(c *Cell) found {
	if c.By != "" && c.Load == "" {
		return c.silent("its load", "")
	}
	f := found{state: NotMet, text: c.Load, value: math.NaN(), limit: math.NaN(), try: howTo(r.Is[0])}
	if slices.Contains(r.Is, c.Load) {
		f.state = Met
	}
	return f
}

// howTo says what to type for a load.
func howTo(load string) string {
	if load == Offline {
		return "--concurrency and --request-count with the same number, and no --benchmark-duration"
	}
	for _, m := range mode.Catalogue() {
		if m.Name == load && m.Closed {
			return "--concurrency N"
		}
	}
	return "--request-rate RATE --arrival-pattern " + load
}

func (r *Rule) setting(c *Cell) found {
	v, ok := c.Setting(r.Path)
	if !ok && c.By != "" {
		return c.silent(r.Path, "")
	}
	f := found{state: NotMet, text: "not set", value: math.NaN(), limit: math.NaN()}
	if ok {
		f.text = fmt.Sprint(v)
		if same(v, r.Want) {
			f.state = Met
		}
	}
	f.try = fmt.Sprintf("--set benchmark.%s=%v", r.Path, r.Want)
	return f
}

// same compares plain values, numbers by their value.
func same(a, b any) bool {
	x, isX := number(a)
	y, isY := number(b)
	if isX && isY {
		return x == y
	}
	return fmt.Sprint(a) == fmt.Sprint(b)
}

func number(v any) (float64, bool) {
	switch x := v.(type) {
	case int:
		return float64(x), true
	case int64:
		return float64(x), true
	case float64:
		return x, true
	}
	return 0, false
}

func (r *Rule) figure(c *Cell, run *Run) found {
	name := r.Metric + " " + r.Stat
	if what, hint := c.Lacks(r.Metric); what != "" {
		return unknown(what, hint)
	}
	if c.Planned {
		return unknown(name+" is measured", "")
	}
	v := run.Figure(r.Metric, r.Stat)
	if math.IsNaN(v) {
		return c.silent(name, name+" was not measured")
	}
	f := found{state: Met}
	if r.Least != nil {
		f = against(v, r.Least.Value, false)
	}
	if r.Most != nil && f.state == Met {
		f = against(v, r.Most.Value, true)
	}
	f.unit = r.unit()
	f.text = quantityText(v, f.unit)
	return f
}

func (r *Rule) verdict(c *Cell, run *Run) found {
	if c.Planned {
		return unknown("it is judged afterwards", "")
	}
	if c.By != "" {
		return c.silent("a verdict on itself", "")
	}
	f := found{state: NotMet, value: math.NaN(), limit: math.NaN(), text: run.Verdict}
	if slices.Contains(r.Is, run.Verdict) {
		f.state = Met
	} else {
		f.try = "aiperf checks, which shows why"
	}
	return f
}

// early holds the requests of a run against an early stopping.
func (r *Rule) early(c *Cell, run *Run) found {
	e := stats.EarlyStop{Q: r.Share - r.Tolerance, Confidence: r.Confidence}
	if r.Metric == Limits && c.By != "" {
		return c.silent("which requests kept limits", "")
	}
	if r.Metric == Limits && len(c.Limits) == 0 {
		return unknown("the experiment states no limits for single requests", `--goodput "time_to_first_token:500"`)
	}
	if r.Metric != Limits {
		if what, hint := c.Lacks(r.Metric); what != "" {
			return unknown(what, hint)
		}
	}
	if c.Planned {
		return planned(e, run)
	}
	t, ok := run.Counts[r.over()]
	if !ok || t.N == 0 {
		return c.silent("single requests", "no request has a value")
	}
	f := against(float64(t.Over), float64(e.Most(t.N)), true)
	f.unit = "requests"
	f.text = fmt.Sprintf("%s of %s over it", words.Whole(t.Over), words.Count(t.N, "request"))
	if f.state == Met {
		f.text += fmt.Sprintf(", at most %s may be", words.Whole(int(f.limit)))
		return f
	}
	n, enough := e.AtRate(t.N, t.Over)
	switch {
	case !enough:
		f.text += fmt.Sprintf(", that is %s, and more requests do not help", share(float64(t.Over)/float64(t.N)))
		f.try = "a lower load"
		return f
	case f.limit < 0:
		f.text += fmt.Sprintf(", at least %s requests are needed", words.Whole(e.Least(t.Over)))
	default:
		f.text += fmt.Sprintf(", of so few at most %s may be", words.Whole(int(f.limit)))
	}
	f.try = fmt.Sprintf("--request-count %d, if as many in a hundred are over it", roundUp(n))
	if t.Over == 0 {
		f.try = fmt.Sprintf("--request-count %d", roundUp(n))
	}
	return f
}

// planned tells whether so many requests could suffice, with none over the limit.
func planned(e stats.EarlyStop, run *Run) found {
	if run.OK < 0 {
		return unknown("it depends on the answers", "")
	}
	least := e.Least(0)
	if run.OK >= int64(least) {
		return unknown("it depends on the answers", "")
	}
	f := against(float64(run.OK), float64(least), false)
	f.text = fmt.Sprintf("%s planned, at least %s are needed", words.Count(run.OK, "request"), words.Whole(least))
	f.unit, f.try = "requests", fmt.Sprintf("--request-count %d", roundUp(least))
	return f
}

// roundUp is n rounded up to two digits.
func roundUp(n int) int {
	step := 1
	for n/step >= 100 {
		step *= 10
	}
	return (n + step - 1) / step * step
}
