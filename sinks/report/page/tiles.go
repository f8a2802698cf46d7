package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/report"
	"aiperf.dev/aiperf/sinks/report/chart"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
	"aiperf.dev/aiperf/sweep/decide"
)

// tiles are the figures of the head: what changed between two systems, or those of the
// cell that the answer names, or their range, and how many requests failed.
func (p *Page) tiles(d *chart.Data, errs []failed) {
	if d.AllFailed() { // the answer says so
		return
	}
	switch changes := d.Changes(); {
	case len(changes) > 0:
		p.changed(changes)
	case len(d.Tiers()) > 0:
		p.limited(d)
	default:
		p.figures(d)
	}
	p.Tiles = append(p.Tiles, errorsTile(d, errs))
}

// errorsTile is how many requests failed, how that changed between two systems, or at the
// load that the answer of a search names: above it requests are meant to fail.
func errorsTile(d *chart.Data, errs []failed) Tile {
	failing := failing(errs)
	t := Tile{"Errors", words.Whole(failing), "of " + words.Count(d.Requests.Total, "request"), ""}
	systems := ofSystems(d, errs, "%s of %s of %s")
	if systems != "" {
		t.Note = systems
	}
	if failing > 0 {
		t.Class = "bad"
	}
	other := func(c chart.Change) bool { return c.Metric != errorsName }
	if list := slices.DeleteFunc(slices.Clone(d.Changes()), other); len(list) > 0 {
		if change := ofMetric(list); change.Class != "" {
			return Tile{t.Label, change.Value, cmp.Or(systems, t.Value+" "+t.Note), change.Class}
		}
	}
	if held := d.Held(); held != nil {
		if s := d.Get(held, metrics.ErrorRate, "avg"); !math.IsNaN(s.Value) {
			t.Value, t.Note, t.Class = joinedUnit(words.Number(percent(s.Value))+" %"), "at "+d.Label(held), ""
			if s.Value > 0 {
				t.Class = "bad"
			}
		}
	}
	return t
}

// errorsName is what changes of the share of failed requests are called.
var errorsName = metrics.Series(metrics.ErrorRate, "")

// changedMost is how many metrics have a tile.
const changedMost = 3

// changed is a tile a metric: its change, or the range of it over the workloads.
func (p *Page) changed(list []chart.Change) {
	for i := 0; i < len(list) && len(p.Tiles) < changedMost; {
		n := i + 1
		for n < len(list) && list[n].Metric == list[i].Metric {
			n++
		}
		if list[i].Metric != errorsName { // they have a tile of their own
			p.Tiles = append(p.Tiles, ofMetric(list[i:n]))
		}
		i = n
	}
}

// ofMetric is the tile of one metric, whose changes these are, a workload each.
func ofMetric(list []chart.Change) Tile {
	t := Tile{Label: list[0].Metric, Value: "–", Note: list[0].Instead}
	low, high, better, worse, equal, found, open := math.Inf(1), math.Inf(-1), 0, 0, 0, 0, 0
	var same, rest []decide.Row // of a comparison: those that are equal, and those that are open
	for k := range list {
		c := &list[k]
		if r := c.Decided; r != nil && r.Outcome == decide.Unclear {
			rest = append(rest, *r)
		}
		if math.IsNaN(c.Value) {
			open++
			continue
		}
		low, high = min(low, c.Value), max(high, c.Value)
		if c.Equal() {
			equal++
			if c.Decided != nil {
				same = append(same, *c.Decided)
			}
			if c.Found() {
				found++
			}
		}
		switch c.Ink() {
		case draw.Good:
			better++
		case draw.Bad:
			worse++
		}
	}
	if low > high {
		if len(list) == 1 {
			t.Note = joined(t.Note, list[0].Values)
		}
		return t
	}
	size := func(v float64) string { return (&chart.Change{Value: v, Points: list[0].Points}).Size() }
	t.Value, t.Note = size(low), "not decided yet"
	if a, b := size(low), size(high); a != b {
		number, _, _ := strings.Cut(a, " ")
		t.Value = number + " to " + b
	}
	t.Value = joinedUnit(t.Value)
	in := func(part int) string {
		if len(list) == 1 {
			return ""
		}
		return " in " + words.Whole(part) + " of " + words.Count(len(list), "workload")
	}
	switch margin := list[0].Margin; {
	case equal > 0 && equal+open == len(list):
		t.Note = fmt.Sprintf("equal within %.2g %%", 100*margin)
		if found > 0 {
			t.Note = fmt.Sprintf("changed, within the margin of %.2g %%", 100*margin)
		}
		if len(same) > 0 { // as the sentence of the comparison says it
			t.Note = report.WithinMargin(same)
		}
		if open > 0 {
			t.Note += in(equal)
		}
	case better > 0 && worse > 0:
		t.Note = words.Count(better, "workload") + " better, " + words.Whole(worse) + " worse"
	case better > 0:
		t.Note, t.Class = "better"+in(better), "good"
	case worse > 0:
		t.Note, t.Class = "worse"+in(worse), "bad"
	case len(rest) == len(list):
		t.Note = report.Undecided(rest)
	}
	if len(list) == 1 {
		t.Note = joined(t.Note, list[0].Values)
	}
	return t
}

// joined is a remark with the values that it is about.
func joined(note, values string) string {
	return joinedUnit(strings.TrimPrefix(strings.TrimSuffix(note+" · "+values, " · "), " · "))
}

// limited is a tile for each of several limits: the load that holds, and the one that fails.
func (p *Page) limited(d *chart.Data) {
	for _, t := range d.Tiers() {
		if len(p.Tiles) == changedMost {
			return
		}
		tile := Tile{Label: t.Name, Value: "–", Note: "no load holds"}
		if t.Holds != nil {
			tile.Value, tile.Note = d.Label(t.Holds), "holds; no higher load fails"
		}
		if t.Holds != nil && t.Fails != nil {
			tile.Note = "holds; " + d.Label(t.Fails) + " fails"
		}
		p.Tiles = append(p.Tiles, tile)
	}
}

// figures are those of the only cell, of the load that a search names or of the one that is best
// for throughput; of several best ones each has a tile, and without any the extremes stand there,
// each of its own cell: of those that keep the limits, as far as is seen, if any does.
func (p *Page) figures(d *chart.Data) {
	var best []*chart.Cell
	for _, c := range d.Cells {
		if slices.ContainsFunc(objectives(c), isThroughput) {
			best = append(best, c)
		}
	}
	of, within := d.Cells, ""
	switch held := d.Held(); {
	case held != nil:
		of = []*chart.Cell{held}
	case len(best) == 1:
		of = best
	case len(best) > 1:
		p.bests(d, best)
		return
	case len(d.Limits) > 0 && len(d.Cells) > 1:
		misses := func(c *chart.Cell) bool { return missesLimits(d, c) != "" }
		if keep := slices.DeleteFunc(slices.Clone(d.Cells), misses); len(keep) > 0 && len(keep) < len(d.Cells) {
			of, within = keep, " within the limits"
		}
	}
	for _, m := range []figured{
		{"Output", metrics.OutputTokenThroughput, "avg", "tok/s"},
		{"Throughput", metrics.RequestThroughput, "avg", "req/s"},
		{"Right answers", metrics.Accuracy, "avg", "%"},
		{metrics.Series(metrics.TimeToFirstToken, "p50"), metrics.TimeToFirstToken, "p50", "ms"},
		{metrics.Series(metrics.InterTokenLatency, "p50"), metrics.InterTokenLatency, "p50", "ms"},
		{metrics.Series(metrics.RequestLatency, "p50"), metrics.RequestLatency, "p50", "ms"},
	} {
		if len(p.Tiles) == changedMost || m.tag == metrics.RequestThroughput && len(p.Tiles) > 0 {
			continue
		}
		if t, ok := m.tile(d, of, within); ok {
			p.Tiles = append(p.Tiles, t)
		}
	}
	if len(d.Cells) == 1 {
		p.withinLimits(d)
	}
}

// missesLimits is "misses limits" of a cell whose share of good requests is too small, with "so far"
// where its interval leaves that open; "" for any other, and for a load of a search, which has a share
// of its own and says whether it holds.
func missesLimits(d *chart.Data, c *chart.Cell) string {
	if c.Decision != "" {
		return ""
	}
	s := d.WholeRun(c, metrics.GoodRequestFraction, "avg")
	switch {
	case len(d.Limits) == 0 || !(s.Value < decide.GoodTarget):
		return ""
	case s.High >= decide.GoodTarget:
		return "misses limits so far"
	}
	return "misses limits"
}

// withinLimits is the tile of the share of requests that met the limits of the only cell.
func (p *Page) withinLimits(d *chart.Data) {
	s := d.Get(d.Cells[0], metrics.GoodRequestFraction, "avg")
	if len(d.Limits) == 0 || math.IsNaN(s.Value) {
		return
	}
	class := ""
	if s.High < decide.GoodTarget {
		class = "bad"
	}
	p.Tiles = append(p.Tiles, Tile{
		Label: "Within the limits", Value: joinedUnit(words.Number(percent(s.Value)) + " %"), Class: class,
		Note: joinedUnit(report.LimitsOf(d.Limits)),
	})
}

// bests is a tile for each of several cells that are the best, of a workload each or tied.
func (p *Page) bests(d *chart.Data, best []*chart.Cell) {
	for _, c := range best[:min(len(best), changedMost)] {
		t := Tile{Label: "Best: " + d.Label(c), Value: "–"}
		for _, m := range []struct{ tag, unit string }{
			{metrics.OutputTokenThroughput, "tok/s"}, {metrics.RequestThroughput, "req/s"},
		} {
			if s := d.Get(c, m.tag, "avg"); t.Value == "–" && !math.IsNaN(s.Value) {
				t.Value = joinedUnit(words.Amount(s.Value, m.unit))
			}
		}
		for _, tag := range []string{metrics.TimeToFirstToken, metrics.RequestLatency} {
			if s := d.Get(c, tag, "p50"); t.Note == "" && !math.IsNaN(s.Value) {
				t.Note = joinedUnit(metrics.Series(tag, "p50") + " " + words.Millis(s.Value))
			}
		}
		p.Tiles = append(p.Tiles, t)
	}
}

// figured is a figure that has a tile.
type figured struct{ label, tag, stat, unit string }

// tile shows the figure of the only cell of some, or of the one where it is highest, of latencies
// lowest, if any has it. A number that cannot be used is not shown so large. within says which cells
// these are.
func (m figured) tile(d *chart.Data, of []*chart.Cell, within string) (Tile, bool) {
	if m.tag == metrics.Accuracy { // whether answers stay right is a question of all loads
		return m.span(d)
	}
	var at *chart.Cell
	var most chart.Stat
	spoiled := ""
	for _, c := range of {
		s := d.Get(c, m.tag, m.stat)
		if math.IsNaN(s.Value) || math.IsInf(s.Value, 0) ||
			m.tag == metrics.InterTokenLatency && s.Value == 0 { // all tokens came at once: no gap was seen
			continue
		}
		if is := validity.ParseTaint(s.Taint); is.Gone() {
			spoiled = is.Sentence()
			continue
		}
		if at == nil || m.unit == "ms" && s.Value < most.Value || m.unit != "ms" && s.Value > most.Value {
			at, most = c, s
		}
	}
	if at == nil {
		return Tile{m.label, "–", spoiled, "bad"}, spoiled != ""
	}
	t := Tile{Label: m.label, Value: joinedUnit(words.Amount(most.Value, m.unit)), Note: "at " + d.Label(at) + within}
	if len(d.Cells) == 1 {
		t.Note = spread(d, at, m.tag, m.stat)
	}
	if len(of) > 1 {
		which := "Highest "
		if m.unit == "ms" {
			which = "Lowest "
		}
		if t.Label = which + m.label; m.unit != "ms" {
			t.Label = which + strings.ToLower(m.label)
		}
	}
	if most.Taint != "" {
		t.Class = "warn"
		if t.Note += ", in doubt"; len(of) == 1 {
			t.Note = validity.ParseTaint(most.Taint).Sentence()
		}
	}
	return t, true
}

// span is the range of a share over all cells.
func (m figured) span(d *chart.Data) (Tile, bool) {
	low, high, n, doubtful := math.Inf(1), math.Inf(-1), 0, 0
	for _, c := range d.Cells {
		s := d.Get(c, m.tag, m.stat)
		if math.IsNaN(s.Value) {
			continue
		}
		n++
		low, high = min(low, 100*s.Value), max(high, 100*s.Value)
		if s.Taint != "" {
			doubtful++
		}
	}
	if n == 0 {
		return Tile{}, false
	}
	t := Tile{Label: m.label, Value: joinedUnit(words.Amount(low, m.unit))}
	if a, b := words.Number(low), words.Number(high); a != b {
		t.Value = joinedUnit(a + " to " + b + " " + m.unit)
	}
	if n > 1 {
		t.Note = "over " + words.Count(n, "cell")
	}
	if doubtful > 0 {
		t.Note = strings.TrimPrefix(t.Note+", "+words.Whole(doubtful)+" in doubt", ", ")
		if doubtful == n {
			t.Class = "warn"
		}
	}
	return t, true
}

func isThroughput(objective string) bool {
	return strings.HasPrefix(strings.TrimSpace(objective), "throughput") && !strings.HasSuffix(objective, withoutLimits)
}

// spread is the highest percentile that a cell supports beside a median, or the interval
// of a mean; beside tokens a second that have none, requests a second.
func spread(d *chart.Data, c *chart.Cell, tag, stat string) string {
	if stat != "p50" {
		within := bounds(d.Get(c, tag, stat))
		if rate := d.Get(c, metrics.RequestThroughput, "avg"); within == "" && tag == metrics.OutputTokenThroughput &&
			!math.IsNaN(rate.Value) {
			return words.Amount(rate.Value, "req/s")
		}
		return within
	}
	for _, tail := range []string{"p99", "p95", "p90", "p75"} {
		if s := d.Get(c, tag, tail); !math.IsNaN(s.Value) && !s.Unsupported {
			return tail + " " + words.Millis(s.Value)
		}
	}
	return ""
}
