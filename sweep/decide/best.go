package decide

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep"
)

// Best is the answer to "which cell is best at this work", or why there is none.
type Best struct {
	Objective Objective
	Limits    bool          // among the cells that keep their SLOs and gates
	Terms     string        // what they keep: "limits", "gates", "limits and gates"
	Work      string        // what was asked of the cells that are ranked: "isl 64"; "" where all were asked the same
	Cell      *CellResult   // with the best value; nil when no cell qualifies
	RunnerUp  *CellResult   // nil when it is alone
	Shown     bool          // it beats every other cell
	MayBe     []*CellResult // the cells that may be best: no other is shown better
	Tie       bool          // those of MayBe are shown to be equal
	Lowest    bool          // what is best is the lowest of loads that differ in nothing else, as everybody expects
	Doubtful  bool          // no cell is ranked, because the values of those that may be best are in doubt
	Trials    Trials        // how many would show it, if the cells differ as it seems
	Said      string        // the answer: "concurrency 8 (400 tok/s), 8.11 % more than concurrency 4"
	Next      Next          // what to measure next
	Lead      string        // of one that is shown, beside no doubt: "concurrency 8 (400 tok/s, 8 % more than …)"
	Unranked  string        // the cells that are not ranked: "concurrency 8 (INVALID)", "5 cells"; "" for none
	Choose    *CellResult   // the lowest load that gives about as much; nil where that is the best one
	Choice    string        // the same in words, with what more load gives and costs

	notes string // what Said ends with
}

// Question is what is answered: "Best throughput", "Best throughput within the limits".
func (b Best) Question() string {
	question := "Best " + b.Objective.called()
	if b.Limits {
		return question + " within the " + b.Terms
	}
	return question
}

// Brief is the answer without its reasons: "concurrency 8 (400 tok/s)", "not decided yet; …".
func (b Best) Brief() string {
	switch {
	case b.Cell == nil && len(b.MayBe) == 0 && !b.Doubtful:
		return "no cell meets them"
	case b.Shown && b.Cell != nil && b.Choose == nil:
		said := b.lead()
		if b.Unranked != "" {
			said += "; " + b.Unranked + " not ranked"
		}
		return said
	case b.Choose != nil:
		return withoutInterval(b.Choice)
	case b.Limits && b.Cell != nil && b.Cell.limits() != Held && b.Work == "":
		return b.Said
	case b.Limits && b.Cell != nil && b.Cell.limits() != Held:
		return nameOf(b.Cell) + " so far"
	case b.Tie:
		return "a tie, " + some(b.MayBe)
	case len(b.MayBe) == 0:
		if b.Work == "" {
			return "cannot be decided, the values are in doubt"
		}
		return "in doubt"
	}
	return b.soFar()
}

// soFar is the cell with the best value where none is shown to be best: "not decided yet;
// concurrency 8 leads (400 tok/s)", of one kind of work among several "concurrency 8 leads so far".
func (b Best) soFar() string {
	const open = "not decided yet"
	if b.Cell == nil || !slices.Contains(b.MayBe, b.Cell) {
		return open
	}
	if b.Work != "" { // one of several answers
		return nameOf(b.Cell) + " leads so far"
	}
	does := "leads"
	if b.Limits && slices.ContainsFunc(b.MayBe, func(c *CellResult) bool { return c.limits() != Held }) {
		does = "meets them"
	}
	value := leaders(b.Objective, []*CellResult{b.Cell})[0].text(b.Objective)
	return fmt.Sprintf("%s; %s %s (%s)", open, nameOf(b.Cell), does, value)
}

// lead is the best cell with its value, and by how much it is ahead of the next one.
func (b Best) lead() string {
	one := leaders(b.Objective, []*CellResult{b.Cell})[0]
	said := fmt.Sprintf("%s (%s", nameOf(b.Cell), one.text(b.Objective))
	if b.RunnerUp != nil {
		c := one.against(leaders(b.Objective, []*CellResult{b.RunnerUp})[0], b.Objective)
		said += ", " + withoutInterval(apart(c, b.Objective)) + " than " + nameOf(b.RunnerUp)
	}
	return said + ")"
}

// findBest ranks the cells that do the same work by each objective, and by throughput
// among those whose SLOs and gates hold. The parts share the level, as objectives do.
func (r *Results) findBest(p *sweep.Plan, curve []Objective) {
	parts := slices.DeleteFunc(byWork(r.measured()), func(cells []*CellResult) bool { return len(cells) < 2 })
	if len(parts) == 0 {
		return
	}
	all := r.ranked()
	limited := r.limited(all)
	whole := true // certainty of the marks under the limits
	for _, measured := range parts {
		ranked := slices.DeleteFunc(slices.Clone(measured),
			func(c *CellResult) bool { return !slices.Contains(all, c) })
		work := ""
		if len(byWork(r.measured())) > 1 {
			work, _ = measured[0].Cell.Apart()
		}
		for _, o := range r.Objectives {
			doubtful := inDoubt(o, measured, all)
			b := rank(o, ranked, doubtful, bestAlpha/float64(len(r.Objectives)*len(parts)))
			b.choose(p, ranked, curve)
			b.Lowest = b.isLowest(p, measured)
			b.Next = r.next(p, b)
			if b.Work = work; b.Shown && len(hiding(doubtful)) == 0 {
				b.Cell.BestFor = append(b.Cell.BestFor, o.Name)
			}
			r.Best = append(r.Best, b)
		}
		if limited {
			b, certain := withinLimits(r.Objectives[0], ranked, measured, all, bestAlpha/float64(len(parts)))
			b.Work, b.Limits, b.Terms = work, true, termsOf(all)
			b.choose(p, slices.DeleteFunc(slices.Clone(ranked),
				func(c *CellResult) bool { return c.limits() != Held }), curve)
			b.Next = r.next(p, b)
			r.UnderSLO = append(r.UnderSLO, b)
			whole = whole && certain
		}
	}
	if limited {
		r.markUnderLimits(whole)
	}
}

// nameOf is what a cell is called among those that do the same work.
func nameOf(c *CellResult) string {
	_, name := c.Cell.Apart()
	return cmp.Or(name, c.Cell.Short())
}

// called is the objective in a sentence: of a latency it says which one.
func (o Objective) called() string {
	if o.Stat == "avg" || o.Name != "latency" {
		return o.Name
	}
	said := metrics.Series(o.Tag, o.Stat)
	if o.Few {
		said += ", uncertain"
	}
	return o.Name + " (" + said + ")"
}

// measured are the cells of which some run has numbers.
func (r *Results) measured() (out []*CellResult) {
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Trials+c.Left > 0 {
			out = append(out, c)
		}
	}
	return out
}

// doubt is cells that are not ranked, and the finding that is why.
type doubt struct {
	cells []*CellResult
	why   string // what touches the number, or "INVALID"
}

// overloaded is why a cell is not ranked whose server did not keep up: its numbers
// are right, of a load that cannot be held.
const overloaded = "overloaded"

// hiding are the doubts behind which a better number may be.
func hiding(doubts []doubt) []doubt {
	return slices.DeleteFunc(slices.Clone(doubts), func(d doubt) bool { return d.why == overloaded })
}

// inDoubt are those of some cells whose number may be better than what is shown:
// it is doubtful, or its runs are INVALID.
func inDoubt(o Objective, cells, ranked []*CellResult) (out []doubt) {
	for _, c := range cells {
		t := c.Taint(o.Key)
		why := t.Aside()
		switch {
		case !slices.Contains(ranked, c):
			why = validity.Invalid.String()
		case t.Check == validity.Backlog:
			why = overloaded
		}
		if why == "" {
			continue
		}
		i := slices.IndexFunc(out, func(d doubt) bool { return d.why == why })
		if i < 0 {
			i, out = len(out), append(out, doubt{why: why})
		}
		out[i].cells = append(out[i].cells, c)
	}
	return out
}

// saidOf is "isl 64 and isl 128 (in doubt, check turnaround)".
func saidOf(doubts []doubt) string {
	var said []string
	for _, d := range doubts {
		said = append(said, fmt.Sprintf("%s (%s)", some(d.cells), d.why))
	}
	return strings.Join(said, ", ")
}

// briefOf is the one cell in doubt, or how many there are.
func briefOf(doubts []doubt) string {
	n := 0
	for _, d := range doubts {
		n += len(d.cells)
	}
	if n == 1 {
		return saidOf(doubts)
	}
	return words.Count(n, "cell")
}

// bestAlpha is the one-sided level at which the leader must beat each other
// cell. It needs no adjustment for their number: that it beats all of them is an
// intersection–union claim, false at most one time in twenty for any number of
// cells, worst with two tied leaders (Gutmann and Maymin, Annals of Statistics
// 15, 1987). Several objectives share it.
const bestAlpha = 0.025

// rank finds the leader among some cells and whether it is shown to be best.
// Those in doubt are named: nobody knows whether they are better.
func rank(o Objective, among []*CellResult, doubts []doubt, alpha float64) Best {
	b := Best{Objective: o}
	order := leaders(o, among)
	if len(order) == 0 {
		b.Said = "no cell meets them"
		if len(doubts) > 0 {
			b.Doubtful = true
			b.Said = "cannot be decided; every cell that may be best is "
			if len(doubts) == 1 {
				b.Said += doubts[0].why + ": " + some(doubts[0].cells)
			} else {
				b.Said += "in doubt: " + saidOf(doubts)
			}
		}
		return b
	}
	b.Cell = order[0].cell
	name, value := nameOf(b.Cell), order[0].text(o)
	if len(order) == 1 && len(hiding(doubts)) > 0 {
		b.Said = fmt.Sprintf("cannot be decided; %s has %s, and nothing else can be ranked: %s", name, value,
			saidOf(doubts))
		return b
	}
	if len(order) == 1 {
		b.Shown, b.MayBe = true, []*CellResult{b.Cell}
		b.Said = fmt.Sprintf("%s (%s), the only one", name, value)
		if len(doubts) > 0 {
			b.Unranked = briefOf(doubts)
			b.Said += "; not ranked: " + saidOf(doubts)
		}
		return b
	}
	if ahead := noWorse(o, order[0], hiding(doubts)); len(ahead) > 0 {
		b.Said = fmt.Sprintf("cannot be decided; %s has %s, but a value at least as good is in doubt: %s", name, value,
			saidOf(ahead))
		return b
	}
	b.RunnerUp = order[1].cell
	weakest := b.judge(order, alpha)
	switch {
	case b.Shown:
		if len(doubts) == 0 {
			b.Lead = b.lead()
		}
		b.Said = fmt.Sprintf("%s (%s), %s than %s", name, value, apart(order[0].against(order[1], o), o),
			nameOf(b.RunnerUp))
	case weakest.few():
		b.notes = "; " + words.CountOf(weakest.N, "trial is", "trials are") + " too few to be certain"
		b.Said = fmt.Sprintf("%s has the best value (%s)", name, value) + b.notes
	default:
		b.Said = b.undecided(order, weakest)
	}
	if len(doubts) > 0 {
		b.Unranked = briefOf(doubts)
		unranked := "; not ranked: " + saidOf(doubts)
		b.notes, b.Said = b.notes+unranked, b.Said+unranked
	}
	return b
}

// noWorse are the cells in doubt whose number is at least as good as the leader's.
func noWorse(o Objective, leader contender, doubts []doubt) (out []doubt) {
	worse := func(c *CellResult) bool {
		e, ok := c.at(o.Window).Get(o.Key)
		if o.Direction == stats.Maximise {
			return !ok || !(e.Mean >= leader.est.Mean)
		}
		return !ok || !(e.Mean <= leader.est.Mean)
	}
	for _, d := range doubts {
		if d.cells = slices.DeleteFunc(slices.Clone(d.cells), worse); len(d.cells) > 0 {
			out = append(out, d)
		}
	}
	return out
}

// judge fills in what is shown and who may be best. It returns the contrast of
// the leader with the cell that it is least apart from.
func (b *Best) judge(order []contender, alpha float64) contrast {
	b.Shown = true
	var weakest contrast
	least := -1.0
	for _, other := range order[1:] {
		c := order[0].against(other, b.Objective)
		p := c.p()
		b.Shown = b.Shown && p < alpha
		if p > least {
			least, weakest = p, c
		}
	}
	each := 2 * alpha / float64(len(order)-1)
	for i, one := range order {
		beaten := func(other contender) bool {
			return other.cell != one.cell && other.against(one, b.Objective).p() < each
		}
		if i == 0 || !slices.ContainsFunc(order, beaten) {
			b.MayBe = append(b.MayBe, one.cell)
		}
	}
	if !b.Shown {
		b.Trials = weakest.trials(alpha)
	}
	return weakest
}

// undecided says who may be best and what would tell.
func (b *Best) undecided(order []contender, weakest contrast) string {
	if len(b.MayBe) == 1 {
		b.MayBe = append(b.MayBe, b.RunnerUp)
	}
	equals := true
	for _, one := range order[1:] {
		if slices.Contains(b.MayBe, one.cell) {
			equals = equals && order[0].against(one, b.Objective).equal()
		}
	}
	names := some(b.MayBe)
	if b.Tie = equals; equals {
		return fmt.Sprintf("a tie, %s (%s, less than %.0f %% apart)", names, order[0].text(b.Objective), 100*margin)
	}
	others := some(slices.DeleteFunc(slices.Clone(b.MayBe), func(c *CellResult) bool { return c == b.Cell }))
	said := fmt.Sprintf("%s, %s may be best, too (%s)", b.soFar(), others, words.Count(weakest.N, "trial"))
	switch {
	case b.Trials.Known():
		return fmt.Sprintf("%s; if they differ as it seems, %s show it", said, b.Trials)
	case !weakest.signs && weakest.Mean <= math.Log1p(margin):
		return fmt.Sprintf("%s; the first two differ by less than %.0f %%", said, 100*margin)
	}
	return said
}

// some names at most three cells, in quotation marks where a name has commas of its own.
func some(cells []*CellResult) string {
	var names []string
	for _, c := range cells {
		name := nameOf(c)
		if len(cells) > 1 && strings.Contains(name, ", ") {
			name = `"` + name + `"`
		}
		names = append(names, name)
	}
	names = words.Once(names)
	if more := len(names) - 3; more > 0 {
		names = append(names[:3:3], fmt.Sprintf("%d more", more))
	}
	return words.And(names)
}

// contender is a cell with its values in the objective at hand.
type contender struct {
	cell  *CellResult
	est   stats.Estimate
	trial series
}

// leaders are the cells with a value, best first.
func leaders(o Objective, among []*CellResult) []contender {
	var out []contender
	for _, c := range untainted(among, o.Key) {
		if e, ok := c.at(o.Window).Get(o.Key); ok && !math.IsNaN(e.Mean) {
			out = append(out, contender{c, e, c.series(o)})
		}
	}
	slices.SortStableFunc(out, func(a, b contender) int {
		if o.Direction == stats.Maximise {
			a, b = b, a
		}
		return cmp.Compare(a.est.Mean, b.est.Mean)
	})
	return out
}

func (c contender) against(o contender, by Objective) contrast {
	return c.trial.against(o.trial, by.Direction)
}

func (c contender) text(o Objective) string {
	return strings.TrimSpace(digits(c.est.Mean) + " " + metrics.ShortUnit(o.Unit))
}

// apart says by how much the first is better: "8.1 % [7.9, 8.3] more".
func apart(c contrast, o Objective) string {
	word := "more"
	if o.Direction == stats.Minimise {
		word = "less"
	}
	if c.signs {
		return "always " + word
	}
	low, high := c.Interval(0.95)
	turned := func(d float64) float64 {
		if o.Direction == stats.Minimise {
			return -100 * math.Expm1(-d)
		}
		return 100 * math.Expm1(d)
	}
	return strings.ReplaceAll(digits(turned(c.Mean))+" %"+bounds(turned(low), turned(high)), "-", "−") + " " + word
}

// withoutInterval is a size without its interval: "8.1 % more".
func withoutInterval(s string) string {
	before, rest, found := strings.Cut(s, " [")
	if _, after, closed := strings.Cut(rest, "]"); found && closed {
		return before + after
	}
	return s
}
