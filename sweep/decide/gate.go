package decide

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/expr-lang/expr"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// GateOutcome is one gate at one cell.
type GateOutcome struct {
	Gate  *Gate
	State State
	Held  bool   // what follows for the exit code: the state, or by the policy where it is UNDECIDED
	Text  string // "140 [131, 149]" per statistic; what was missing otherwise
	// "as observed, by value",
	// "9 to 30 trials decide it: --set multi_run.num_runs=30", "upper bound 8.8 %"; "" if there is none
	Note string

	Trials      Trials // how many decide it, of one that is UNDECIDED
	Undecidable bool   // UNDECIDED, and more trials do not decide it: Note, or Text, says why
	Few         string // the percentile that it rests on, of too few requests to be certain; "" for none
	Unusable    bool   // Undecidable, for every run's value is invalid: neither held nor missed
	Unmeasured  bool   // Undecidable, for no run has the number: it does not pass, whatever the policy
}

// Policies for a gate that the intervals leave open (gates_undecided).
const (
	ByEstimate = "estimate" // the value decides
	AsPassed   = "pass"
	AsMissed   = "fail"
)

// maxCorners bounds the combinations of interval ends that are tried.
const maxCorners = 6

func (r *Results) judgeGates(p *sweep.Plan) {
	gates, err := compileGates(p, Names())
	if err != nil {
		return // the command line refuses such a plan: CheckGates
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Status == NotRun {
			continue
		}
		for g := range gates {
			o := gates[g].judge(c)
			if o.State == Undecided {
				r.GatesUndecided++
			}
			if o.State == Undecided && !o.Unmeasured {
				o.Held = o.Held && p.Experiment.GatesUndecided != AsMissed || p.Experiment.GatesUndecided == AsPassed
			}
			if c.Gates = append(c.Gates, o); o.Held {
				r.GatesHeld++
			} else {
				r.GatesMissed++
			}
		}
	}
}

// judge evaluates the gate at a cell: HELD when it holds at every combination of
// interval ends, MISSED when at none. What has no interval because trials are too few
// is decided by its value. A number in doubt decides where all that it may be lies on one
// side, and where it misses by far. Without a number nothing is decided.
func (g *Gate) judge(c *CellResult) GateOutcome {
	at, text, missing := g.evidence(c)
	out := GateOutcome{Gate: g, State: Missed, Text: text}
	said, doubted := g.doubt(c)
	if doubted {
		if held, possible, decided := g.whatever(c); decided {
			out.Held, out.State, out.Text = held, stateOf(held), possible
			out.Note = said + ", but the outcome is the same either way"
			return out
		}
	}
	if missing {
		out.State, out.Undecidable = Undecided, true
		// what is invalid is not the server's doing
		out.Unusable = slices.ContainsFunc(g.refs, func(k Key) bool { return c.Taint(k).Gone() })
		out.Unmeasured = !out.Unusable
		return out
	}
	if doubted && g.missesByFar(c) {
		out.Note = fmt.Sprintf("%s, but missed even if it were %d times better", g.doubtAside(c), farOff)
		return out
	}
	held, err := at.holds(at.points())
	if err != nil {
		out.Text = oneLine(err)
		return out
	}
	out.Held, out.State = held, stateOf(held)
	for _, k := range g.refs {
		if few([]*CellResult{c}, windowOf([]*CellResult{c}), k) {
			out.Few = k.Stat
		}
	}
	switch all, none := at.corners(1); {
	case len(g.refs) == 0:
	case c.Trials == 1 || c.Trials < stats.FewestTrials && at.without():
		out.Note = at.ofOneTrial()
		if at.undecided(held) {
			out.State, out.Undecidable, out.Note = Undecided, true,
				"requests were cut off before it was known: a longer grace_period decides it"
			if at.coarse {
				out.Note = "the buckets of the server's histogram are too wide there: gate what requests saw"
			}
		}
	case all || none:
	case held && at.onlyAtTheBound():
		out.Note = at.ofOneTrial() // what was observed is all that can be asked of it
	default:
		out.State = Undecided
		out.Trials, out.Note = at.wouldSettle(c.Trials)
	}
	if doubted {
		out.State, out.Undecidable, out.Note = Undecided, true, said
	}
	return out
}

// doubt is what findings do to a number that the gate speaks of.
func (g *Gate) doubt(c *CellResult) (said string, doubted bool) {
	for _, k := range g.refs {
		if t := c.Taint(k); !t.None() {
			said, doubted = k.Spoken()+" is "+t.Sentence(), true
		}
	}
	return said, doubted
}

// doubtAside is the same without brackets, for a note that has them.
func (g *Gate) doubtAside(c *CellResult) (said string) {
	for _, k := range g.refs {
		t := c.Taint(k)
		switch {
		case t.None():
		case len(g.refs) == 1: // which is not said again
			said = t.Aside()
		default:
			said = k.Spoken() + " is " + t.Aside()
		}
	}
	return said
}

// whatever judges a gate wherever its numbers in doubt may lie: decided where all that they
// may be is on one side. text is that range.
func (g *Gate) whatever(c *CellResult) (held bool, text string, decided bool) {
	at := evidence{gate: g, env: g.axes(c)}
	var texts []string
	for _, k := range g.refs {
		from := g.window(c, k)
		e, known := from.Possible(k)
		if !known {
			return false, "", false
		}
		at.add(c, from.Window(), k, e)
		i := len(at.estimates) - 1
		at.estimates[i].Low, at.estimates[i].High = e.Low-at.less[i], e.High+at.open[i]
		texts = append(texts, spell(at.estimates[i]))
	}
	all, none := at.corners(1)
	return all, strings.Join(texts, ", "), all || none
}

// window are the estimates that the gate takes a number from: speeds from the headline window,
// errors and shares from the whole run.
func (g *Gate) window(c *CellResult, k Key) Estimates {
	from := c.Headline()
	if m, ok := metrics.Lookup(k.Tag); ok && m.Over != metrics.Level {
		from = c.Full
	}
	if _, ok := from.Get(k); !ok {
		return c.Full
	}
	return from
}

// axes are the values of a cell by the names of the axes.
func (g *Gate) axes(c *CellResult) map[string]any {
	env := map[string]any{}
	for _, v := range c.Cell.Point {
		env[v.Axis] = gateValue(v)
	}
	return env
}

func stateOf(held bool) State {
	if held {
		return Held
	}
	return Missed
}

// evidence is a gate with the numbers of one cell.
type evidence struct {
	gate      *Gate
	env       map[string]any
	estimates []stats.Estimate // by reference
	open      []float64        // by reference: how much more it is if what was cut off was good
	less      []float64        // by reference: how much less it may be
	coarse    bool             // what leaves a number open is how its source tells it
}

// evidence looks up what the gate speaks of.
func (g *Gate) evidence(c *CellResult) (at evidence, text string, missing bool) {
	at = evidence{gate: g, env: g.axes(c)}
	var texts []string
	for _, k := range g.refs {
		from := g.window(c, k)
		e, ok := from.Get(k)
		if !ok && k.Stat == "n_effective" { // not computed: requests count as they are
			e, ok = c.Full.Get(Key{k.Tag, "count"})
		}
		if !ok {
			why := untold(k.Tag)
			if t := c.Taint(k); t.Gone() {
				why = t.Sentence()
			} else if c.Status == Failed {
				why = "every run of the cell failed"
			}
			return at, k.Spoken() + ": " + why, true
		}
		at.add(c, from.Window(), k, e)
		texts = append(texts, spell(e))
	}
	return at, strings.Join(texts, ", "), false
}

// add takes a statistic, with how far it is open.
func (e *evidence) add(c *CellResult, window string, k Key, x stats.Estimate) {
	less, more := 0.0, openOf(c, k)
	if len(c.runs) == 1 {
		for _, w := range []string{window, Full} {
			if l, m, known := c.runs[0].besideOpen(w, k); known {
				less, more, e.coarse = l, m, true
				break
			}
		}
	}
	e.estimates, e.open, e.less = append(e.estimates, x), append(e.open, more), append(e.less, less)
}

// openOf is how much of a number is undecided in the only run of a cell.
func openOf(c *CellResult, k Key) float64 {
	if st, ok := c.runs[0].stat(Full, k.Tag); ok && len(c.runs) == 1 && k.Stat == "avg" {
		return st.Open
	}
	return 0
}

// undecided reports whether the gate would say something else of a single run if
// what was cut off had been good.
func (e evidence) undecided(held bool) bool {
	for sign, by := range map[float64][]float64{1: e.open, -1: e.less} {
		values := e.points()
		for i := range values {
			values[i] += sign * by[i]
		}
		if other, err := e.holds(values); err == nil && other != held {
			return true
		}
	}
	return false
}

// without reports whether a statistic has no interval.
func (e evidence) without() bool {
	return slices.ContainsFunc(e.estimates, func(x stats.Estimate) bool { return !x.HasInterval() })
}

// points are the estimates themselves.
func (e evidence) points() []float64 {
	out := make([]float64, len(e.estimates))
	for i, x := range e.estimates {
		out[i] = x.Mean
	}
	return out
}

func (e evidence) holds(values []float64) (bool, error) {
	for i, v := range values {
		e.env[e.gate.refs[i].variable()] = v
	}
	v, err := expr.Run(e.gate.program, e.env)
	if err != nil {
		return false, err
	}
	held, ok := v.(bool)
	if !ok {
		return false, fmt.Errorf("%q is neither true nor false", e.gate.Expr)
	}
	return held, nil
}

// corners tries every combination of interval ends, each interval shrunk to a
// part of its width around its point: does the gate hold at all of them, at none?
func (e evidence) corners(part float64) (all, none bool) {
	if len(e.estimates) > maxCorners {
		return false, false
	}
	all, none = true, true
	values := make([]float64, len(e.estimates))
	for corner := range 1 << len(e.estimates) { // bit i: the upper end of estimate i
		for i, x := range e.estimates {
			values[i] = x.Mean
			if !x.HasInterval() {
				continue
			}
			end := x.Low
			if corner>>i&1 == 1 {
				end = x.High
			}
			values[i] = x.Mean + part*(end-x.Mean)
		}
		held, err := e.holds(values)
		if err != nil {
			return false, false
		}
		all, none = all && held, none && !held
	}
	return all, none
}

// onlyAtTheBound reports whether the gate asks that nothing at all was counted
// (error_rate == 0), or everything: no number of trials takes the interval to
// its end, so what was observed is the answer.
func (e evidence) onlyAtTheBound() bool {
	bound := false
	for i, x := range e.estimates {
		kind := kindOf(e.gate.refs[i])
		atEnd := (kind == metrics.Share || kind == metrics.Events) && (x.Mean == x.Low || x.Mean == x.High)
		bound = bound || atEnd
		if !atEnd && x.HasInterval() {
			return false
		}
	}
	all, _ := e.corners(1e-6)
	return bound && !all
}

func kindOf(k Key) metrics.Over {
	if m, ok := metrics.Lookup(k.Tag); ok && k.Stat == "avg" {
		return m.Over
	}
	return metrics.Level
}

// ofOneTrial says how far what was observed may be from the truth, where that
// is known.
func (e evidence) ofOneTrial() string {
	for i, x := range e.estimates {
		if kindOf(e.gate.refs[i]) == metrics.Share && x.HasInterval() {
			full := 1.0
			if m, ok := metrics.Lookup(e.gate.refs[i].Tag); ok {
				full = m.Full()
			}
			if x.Mean == full {
				return fmt.Sprintf("as observed; lower bound %s %%", digits(100*x.Low/full))
			}
			return fmt.Sprintf("as observed; true rate at most %s %%", digits(100*x.High/full))
		}
	}
	return "as observed, by value"
}

// wouldSettle is how many trials make the intervals narrow enough, if the
// points stay where they are, and how that is said.
func (e evidence) wouldSettle(trials int) (Trials, string) {
	lo, hi := 0.0, 1.0 // of the width: decided at lo, open at hi
	for range 40 {
		mid := (lo + hi) / 2
		if all, none := e.corners(mid); all || none {
			lo = mid
		} else {
			hi = mid
		}
	}
	for i, x := range e.estimates { // beside its bound a share's interval shrinks as 1/n
		if kind := kindOf(e.gate.refs[i]); (kind == metrics.Share || kind == metrics.Events) &&
			(x.Mean == x.Low || x.Mean == x.High) {
			n := even(int(math.Ceil(float64(trials) / lo)))
			return Trials{Least: n, Most: n}, fmt.Sprintf("at least %d trials decide it: %s", n, schema.TrialsOption(n))
		}
	}
	settled := trialsBetween(1, float64(trials-1), trials, func(sd float64) (int, bool) {
		for n := trials + 1; n <= stats.MostTrials; n++ {
			if sd*stats.RelativeWidth(n) <= lo*stats.RelativeWidth(trials) {
				return n, true
			}
		}
		return 0, false
	})
	if !settled.Known() {
		return settled, "too close to the limit to say how many trials decide it"
	}
	return settled, fmt.Sprintf("%s decide it: %s", settled, schema.TrialsOption(settled.Most))
}
