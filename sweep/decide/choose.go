package decide

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/sweep"
)

// This file says which load is enough: more load than a server can use gives little more
// throughput, and each request takes longer.

// asMuch is how much more a higher load may give, at most, where a lower one is enough, and
// surely the same at the upper end of what the trials leave possible.
const (
	asMuch = 0.05
	surely = 0.10
)

// cost is how much a latency must differ, as a part of it, for more load to have a price.
const cost = 0.05

// choose finds the lowest load that is enough, of cells that differ in the load only: each
// other one gives at most asMuch more, and at most surely more at the ends of their
// intervals, all of these together at 95 %. It is the answer then, with what more load gives
// and what that costs in latency. Of too few trials the values decide, and it is said.
func (b *Best) choose(p *sweep.Plan, among []*CellResult, curve []Objective) {
	if b.Cell == nil || len(b.MayBe) == 0 || b.Objective.Direction != stats.Maximise {
		return
	}
	for k, a := range p.Axes {
		if loadAxis(a) == "" {
			continue
		}
		for _, line := range lines(untainted(among, b.Objective.Key), k) {
			outside := func(c *CellResult) bool { return !slices.Contains(line, c) }
			if len(line) < 2 || outside(b.Cell) || slices.ContainsFunc(b.MayBe, outside) {
				continue
			}
			if b.chooseOf(line, curve); b.Choose == nil {
				b.addPrice(line, k, curve)
			}
			return
		}
	}
}

// chooseOf is choose among cells in order of load.
func (b *Best) chooseOf(line []*CellResult, curve []Objective) {
	if b.Limits && !b.Tie { // what is within the limits is fast enough
		return
	}
	at := slices.IndexFunc(line, func(c *CellResult) bool { return enough(b.Objective, c, line) })
	if at < 0 || line[at] == b.Cell && (b.Shown || at+1 == len(line)) {
		return
	}
	c, more := line[at], b.Cell
	if c == more { // in a tie, the next load has the price of more
		more = line[at+1]
	}
	price, free := priceOf(c, more, curve)
	if free {
		return
	}
	one := leaders(b.Objective, []*CellResult{c})[0]
	d := leaders(b.Objective, []*CellResult{more})[0].against(one, b.Objective)
	gives := "no more"
	switch {
	case d.Mean > 0 && (d.few() && math.Expm1(d.Mean) < margin || d.equal()):
		gives = fmt.Sprintf("less than %.0f %% more", 100*margin)
	case d.few() && d.Mean > 0:
		gives = digits(100*math.Expm1(d.Mean)) + " % more"
	case d.few() || d.Mean <= 0:
	default:
		gives = apart(d, b.Objective)
	}
	so := ""
	if d.few() {
		so = " so far"
	}
	b.Choose = c
	b.Choice = fmt.Sprintf("%s is enough%s (%s); %s gives %s%s", nameOf(c), so, one.text(b.Objective), nameOf(more),
		gives, price)
	b.Said, b.Lead = b.Choice+b.notes, ""
}

// isLowest reports whether the best cell of an objective that is to be small is the first on
// the only line of loads.
func (b *Best) isLowest(p *sweep.Plan, cells []*CellResult) bool {
	if b.Cell == nil || b.Objective.Direction == stats.Maximise {
		return false
	}
	for k, a := range p.Axes {
		if all := lines(cells, k); loadAxis(a) != "" && len(all) == 1 && len(all[0]) == len(cells) {
			return all[0][0] == b.Cell
		}
	}
	return false
}

// addPrice says of a best cell what its load costs, where it has little more than the next
// lower load.
func (b *Best) addPrice(line []*CellResult, k int, curve []Objective) {
	at := slices.Index(line, b.Cell)
	if !b.Shown || at < 1 || line[at-1] != b.RunnerUp ||
		!b.levelsOff(b.RunnerUp, loadOf(b.Cell.Cell, k)/loadOf(b.RunnerUp.Cell, k)) {
		return
	}
	price, _ := priceOf(b.RunnerUp, b.Cell, curve)
	b.Said = strings.TrimSuffix(b.Said, b.notes) + price + b.notes
	b.Lead = strings.TrimSuffix(b.Lead, ")") + price + ")"
}

// enough reports whether no other cell of a line gives much more than c.
func enough(o Objective, c *CellResult, line []*CellResult) bool {
	one := leaders(o, []*CellResult{c})
	if len(one) == 0 {
		return false
	}
	level := 1 - 0.1/float64(len(line)-1)
	for _, other := range leaders(o, line) {
		if other.cell == c {
			continue
		}
		d := other.against(one[0], o)
		if d.signs || !(other.est.Mean <= (1+asMuch)*one[0].est.Mean) {
			return false
		}
		if _, high := d.Interval(level); !d.few() && !(math.Expm1(high) <= surely) {
			return false
		}
	}
	return true
}

// priceOf is what the load of one cell costs beside that of another, in the latency of the
// curve: " at 2.4 times the TTFT p50"; "" where that is not known. free is that the latency
// is lower.
func priceOf(from, to *CellResult, curve []Objective) (said string, free bool) {
	if len(curve) < 2 {
		return "", false
	}
	y := curve[1]
	a, b := leaders(y, []*CellResult{from}), leaders(y, []*CellResult{to})
	if len(a) == 0 || len(b) == 0 || !(a[0].est.Mean > 0) || math.IsInf(b[0].est.Mean, 1) {
		return "", false
	}
	name, ratio := metrics.Series(y.Tag, y.Stat), b[0].est.Mean/a[0].est.Mean
	d := a[0].against(b[0], y) // positive where less load is faster
	low, high := d.Interval(0.95)
	shown := d.few() || !d.signs && (low > 0 || high < 0)
	switch {
	case math.Abs(ratio-1) < cost:
		return " at about the same " + name, false
	case !shown:
		return "", false
	case ratio < 1:
		return "", true
	case ratio < 2-cost:
		return fmt.Sprintf(" with %s %% more %s", digits(100*(ratio-1)), name), false
	}
	times := fmt.Sprintf("%.1f", ratio)
	if ratio >= 10 {
		times = digits(math.Round(ratio))
	}
	return fmt.Sprintf(" at %s times the %s", times, name), false
}
