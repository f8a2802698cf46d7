package decide

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep"
)

// WithoutLimits ends the name of an objective that a cell is best for among all
// cells, though it is not shown to keep every SLO and gate.
const WithoutLimits = " without limits"

// markUnderLimits makes the marks say what the sentence says: best is a cell that is
// shown to keep the limits. One that is ahead of it and is not is marked as that.
// certain: no cell that keeps them is in doubt.
func (r *Results) markUnderLimits(certain bool) {
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.limits() == Held {
			continue
		}
		for k := range c.BestFor {
			c.BestFor[k] += WithoutLimits
		}
	}
	for _, b := range r.UnderSLO {
		if name := b.Objective.Name; b.Shown && certain && !slices.Contains(b.Cell.BestFor, name) {
			b.Cell.BestFor = append([]string{name}, b.Cell.BestFor...)
		}
	}
}

// termsOf are what some cells must keep: each request its limits (SLOs), their figures the
// gates.
func termsOf(cells []*CellResult) string {
	var terms []string
	if slices.ContainsFunc(cells, func(c *CellResult) bool { return len(c.SLOs) > 0 }) {
		terms = append(terms, "limits")
	}
	if slices.ContainsFunc(cells, func(c *CellResult) bool { return len(c.Gates) > 0 }) {
		terms = append(terms, "gates")
	}
	return words.And(terms)
}

// limited tells whether cells are held against SLOs or gates, and ranked by throughput
// or by what the experiment names.
func (r *Results) limited(cells []*CellResult) bool {
	some := slices.ContainsFunc(cells, func(c *CellResult) bool { return len(c.SLOs)+len(c.Gates) > 0 })
	return some && len(r.Objectives) > 0 && !(r.byDefault() && r.Objectives[0].Direction != stats.Maximise)
}

// withinLimits is the best of the cells that are shown to keep their limits, and only
// where each other one that may keep them is shown to be slower: a point decides
// nothing. A faster cell that truly has 98.7 % of a wanted 99 % was called best in a
// third of the plans when it did. certain: no cell that may keep them is in doubt.
func withinLimits(o Objective, cells, measured, ranked []*CellResult, alpha float64) (b Best, certain bool) {
	not := func(states ...State) func(*CellResult) bool {
		return func(c *CellResult) bool { return !slices.Contains(states, c.limits()) }
	}
	held := slices.DeleteFunc(slices.Clone(cells), not(Held))
	open := leaders(o, slices.DeleteFunc(slices.Clone(cells), not(Undecided)))
	doubtful := inDoubt(o, slices.DeleteFunc(slices.Clone(measured), not(Held, Undecided)), ranked)
	b = rank(o, held, doubtful, alpha)
	var ahead []*CellResult // of the leader, as far as is shown, if they keep the limits
	for _, c := range open {
		if b.Cell == nil || !(leaders(o, []*CellResult{b.Cell})[0].against(c, o).p() < alpha) {
			ahead = append(ahead, c.cell)
		}
	}
	if len(ahead) == 0 && b.Cell != nil && b.Cell.Trials < stats.FewestTrials {
		b.Shown, b.Lead = false, ""
		b.Said = fmt.Sprintf("%s (%s)%s; %s too few to be certain", nameOf(b.Cell),
			leaders(o, []*CellResult{b.Cell})[0].text(o), b.beyond(cells),
			words.CountOf(b.Cell.Trials, "trial is", "trials are"))
		if len(doubtful) > 0 {
			b.Said += "; not ranked: " + saidOf(doubtful)
		}
	}
	if certain = len(hiding(doubtful)) == 0; len(ahead) == 0 {
		return b, certain
	}
	b.Shown, b.Tie, b.Trials, b.Lead = false, false, Trials{}, ""
	if b.MayBe = append(b.MayBe, ahead...); b.Cell == nil {
		b.soFarWithin(open, cells, measured)
		return b, certain
	}
	b.Said = fmt.Sprintf("%s meets them (%s); %s may, too", nameOf(b.Cell),
		leaders(o, []*CellResult{b.Cell})[0].text(o), some(ahead))
	if len(doubtful) > 0 {
		b.Said += "; not ranked: " + saidOf(doubtful)
	}
	return b, certain
}

// soFarWithin is the answer where no cell is shown to keep the limits and some may: the first
// of these, best first, that keeps them as far as was observed, and the next better cell that
// does not. None is named where better ones may keep them, too, whose figures are in doubt.
func (b *Best) soFarWithin(open []contender, cells, measured []*CellResult) {
	i := slices.IndexFunc(open, func(c contender) bool { return c.cell.keepsSoFar() })
	if i < 0 {
		b.Said = "not decided yet; " + manyOf(b.MayBe) + " may meet them"
		return
	}
	if hidden := b.aheadInDoubt(open[i], measured); len(hidden) > 0 {
		b.MayBe = hidden
		b.Said = fmt.Sprintf("not decided yet; %s %s ahead, with figures in doubt", some(hidden),
			map[bool]string{true: "is", false: "are"}[len(hidden) == 1])
		return
	}
	b.Cell = open[i].cell
	b.Said = fmt.Sprintf("%s so far (%s)%s", nameOf(b.Cell), open[i].text(b.Objective), b.beyond(cells))
}

// aheadInDoubt are the cells with a better value than one has, best first, that keep the limits as far as was
// observed, though a finding touches the value or what the limits are about.
func (b *Best) aheadInDoubt(than contender, measured []*CellResult) (out []*CellResult) {
	o := b.Objective
	value := func(c *CellResult) float64 {
		e, ok := c.at(o.Window).Get(o.Key)
		switch {
		case !ok:
			return math.NaN() // which is not above anything
		case o.Direction == stats.Maximise:
			return e.Mean
		}
		return -e.Mean
	}
	for _, c := range measured {
		clean := c.keepsSoFar() && c.Taint(o.Key).None()
		if !clean && c.limits() != Missed && !c.missesSoFar() && value(c) > value(than.cell) {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(x, y *CellResult) int { return cmp.Compare(value(y), value(x)) })
	return out
}

// beyond is the next higher load, or where no load is swept the next better cell, which does not
// keep the limits: ", while concurrency 8 misses them"; "" where there is none.
func (b *Best) beyond(cells []*CellResult) string {
	next := b.higherMissing(cells)
	if next == nil {
		better := leaders(b.Objective, cells)
		at := slices.IndexFunc(better, func(c contender) bool { return c.cell == b.Cell })
		better = slices.DeleteFunc(better[:at], func(c contender) bool { return !c.cell.missesSoFar() })
		if len(better) == 0 {
			return ""
		}
		next = better[len(better)-1].cell
	}
	if next.limits() == Missed {
		return ", while " + nameOf(next) + " misses them"
	}
	return ", while " + nameOf(next) + " misses them so far"
}

// higherMissing is the lowest load above the cell's that misses the limits, all else alike; nil
// where there is none.
func (b *Best) higherMissing(cells []*CellResult) *CellResult {
	for k, v := range b.Cell.Cell.Point {
		if !sweep.AxisNamed(v.Path[strings.LastIndex(v.Path, ".")+1:]).Load {
			continue
		}
		for _, line := range lines(cells, k) {
			at := slices.Index(line, b.Cell)
			if at < 0 {
				continue
			}
			if i := slices.IndexFunc(line[at+1:], (*CellResult).missesSoFar); i >= 0 {
				return line[at+1+i]
			}
		}
	}
	return nil
}

// manyOf names one or two cells, and counts more.
func manyOf(cells []*CellResult) string {
	if len(cells) > 2 {
		return words.Count(len(cells), "cell")
	}
	return some(cells)
}

// limits is the state of all SLOs and gates of the cell together: MISSED as soon as one
// is, HELD when all are.
func (c *CellResult) limits() State {
	var states []State
	for _, s := range c.SLOs {
		states = append(states, s.State)
	}
	for _, g := range c.Gates {
		states = append(states, g.State)
	}
	switch {
	case slices.Contains(states, Missed):
		return Missed
	case slices.Contains(states, Undecided):
		return Undecided
	}
	return Held
}

// keepsSoFar reports whether the cell keeps all of its SLOs and gates by their values, none
// of which is in doubt.
func (c *CellResult) keepsSoFar() bool {
	return !slices.ContainsFunc(c.SLOs, func(s SLOOutcome) bool { return !s.Held || s.Undecidable }) &&
		!slices.ContainsFunc(c.Gates, func(g GateOutcome) bool { return !g.Held || g.Undecidable })
}

// missesSoFar reports whether the cell misses an SLO or a gate by its value, which is not in
// doubt.
func (c *CellResult) missesSoFar() bool { return c.MissesSoFar() != "" }

// MissesSoFar names what the cell misses by its value, be that shown or not: "limits", "gates";
// "" for nothing, and where the value is in doubt.
func (c *CellResult) MissesSoFar() string {
	switch {
	case slices.ContainsFunc(c.SLOs, func(s SLOOutcome) bool { return !s.Held && !s.Undecidable }):
		return "limits"
	case slices.ContainsFunc(c.Gates, func(g GateOutcome) bool { return !g.Held && !g.Undecidable }):
		return "gates"
	}
	return ""
}

// Misses names what the cell is shown to miss: "limits", "gates"; "" for nothing.
func (c *CellResult) Misses() string {
	switch {
	case c.limits() != Missed:
		return ""
	case slices.ContainsFunc(c.SLOs, func(s SLOOutcome) bool { return s.State == Missed }):
		return "limits"
	}
	return "gates"
}
