package chart

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
)

// searched is the chart of a search: every probe, the curve through all of them, and the
// bracket or the knee.
func searched(d *Data, _ *Cell) ([]draw.Panel, string) {
	if !d.Searched() {
		return nil, "no search: give a range in search, or run aiperf quick"
	}
	if d.Load() == "" {
		return nil, "one load only"
	}
	a := d.along()
	dots, curve := draw.Nth(0), draw.Nth(1)
	var good draw.Panel
	if tiers := d.tiers(); len(tiers) > 0 {
		good = d.probedTiers(a, tiers)
		dots, curve = draw.S8, draw.S6 // the inks of series are those of the tiers
	} else {
		good = d.probed(a, "good (%)", metrics.GoodRequestFraction, 100, func(c *Cell) float64 { return c.Good },
			"fitted curve (never rises)", dots, curve)
	}
	rate := d.probed(a, "requests/s", metrics.RequestThroughput, 1, func(c *Cell) float64 { return c.Rate },
		"Universal Scalability Law", dots, curve)
	for i := range rate.Series {
		if rate.Series[i].Line { // the other curve is of other things
			rate.Series[i].Dash = draw.Dashed
		}
	}
	var out []draw.Panel
	marks := d.bracket()
	for _, p := range []draw.Panel{good, rate} {
		if len(p.Series) == 0 {
			continue
		}
		p.Marks = slices.Clone(marks)
		for i := range p.Marks {
			if len(out) > 0 { // the panel above says what they are
				p.Marks[i].Label = ""
			}
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, "no probe has a figure"
	}
	return oneAxis(out), ""
}

// Searched reports whether a search chose the loads: its cells are probes of one question.
func (d *Data) Searched() bool {
	return slices.ContainsFunc(d.Cells, func(c *Cell) bool { return c.Decision != "" })
}

// ByLoad brings the cells of a search, which come in the order of its probes, into that of
// their loads.
func (d *Data) ByLoad() {
	if load := d.Load(); d.Searched() && load != "" {
		slices.SortStableFunc(d.Cells, func(x, y *Cell) int { return cmp.Compare(x.At(load), y.At(load)) })
	}
}

// Held is the probe of the highest load that holds; nil where none does, or nothing was
// searched.
func (d *Data) Held() (at *Cell) {
	load := d.Load()
	for _, c := range d.Cells {
		all := !slices.ContainsFunc(decisions(c), func(x decision) bool { return x.state != holds })
		if all && load != "" && (at == nil || c.At(load) > at.At(load)) {
			at = c
		}
	}
	return at
}

// probed is a panel with a figure of every probe, and the curve through them.
func (d *Data) probed(a along, label, metric string, by float64, curve func(*Cell) float64, name string,
	ofDots, ofCurve draw.Ink,
) draw.Panel {
	p := draw.Panel{X: a.axis, Y: draw.Axis{Label: label, Zero: true}}
	dots := draw.Series{Name: "probes", Ink: ofDots}
	line := draw.Series{Name: name, Ink: ofCurve, Line: true, Bare: true}
	for _, c := range d.Cells {
		for _, s := range d.each(c, metric, "avg") {
			q := d.point(c, a.x(c), metric, s)
			q.Y, q.Low, q.High = by*q.Y, math.NaN(), math.NaN()
			dots.Points = append(dots.Points, q)
		}
		if v := curve(c); !math.IsNaN(v) {
			line.Points = append(line.Points, draw.At(a.x(c), by*v, ""))
		}
	}
	for _, s := range []draw.Series{dots, line} {
		slices.SortStableFunc(s.Points, func(x, y draw.Point) int { return cmp.Compare(x.X, y.X) })
		if len(s.Points) > 0 {
			p.Series = append(p.Series, s)
		}
	}
	return p
}

// ofTier is the name of a metric by one of several limits.
func ofTier(metric, tier string) string { return metric + " of " + tier }

// Tier is one of several limits of a search, with the probe of the highest load that holds
// and that of the lowest above it that fails; nil for none.
type Tier struct {
	Name         string
	Holds, Fails *Cell
}

// Tiers are those of a search with several limits.
func (d *Data) Tiers() (out []Tier) {
	load := d.Load()
	for _, name := range d.tiers() {
		t := Tier{Name: name}
		for _, c := range d.Cells {
			if stateOf(c, name) == holds && (t.Holds == nil || c.At(load) > t.Holds.At(load)) {
				t.Holds = c
			}
		}
		for _, c := range d.Cells {
			if stateOf(c, name) == fails && (t.Holds == nil || c.At(load) > t.Holds.At(load)) &&
				(t.Fails == nil || c.At(load) < t.Fails.At(load)) {
				t.Fails = c
			}
		}
		out = append(out, t)
	}
	return out
}

// tiers are the names of several limits of a search, none where there is one.
func (d *Data) tiers() (names []string) {
	for _, c := range d.Cells {
		for _, x := range decisions(c) {
			if x.tier != "" && !slices.Contains(names, x.tier) {
				names = append(names, x.tier)
			}
		}
	}
	return names
}

// probedTiers is a panel with the share of good requests of every probe, by each of several limits.
func (d *Data) probedTiers(a along, tiers []string) draw.Panel {
	p := draw.Panel{X: a.axis, Y: draw.Axis{Label: "good (%)", Zero: true}}
	for i, tier := range tiers {
		dots := draw.Series{Name: tier, Ink: draw.Nth(i), Shape: i}
		for _, c := range d.Cells {
			metric := ofTier(metrics.GoodRequestFraction, tier)
			for _, s := range d.each(c, metric, "avg") {
				q := d.point(c, a.x(c), metric, s)
				q.Y, q.Low, q.High = 100*q.Y, math.NaN(), math.NaN()
				dots.Points = append(dots.Points, q)
			}
		}
		slices.SortStableFunc(dots.Points, func(x, y draw.Point) int { return cmp.Compare(x.X, y.X) })
		if len(dots.Points) > 0 {
			p.Series = append(p.Series, dots)
		}
	}
	return p
}

// bracket are lines at the load that holds and at the nearest one that fails, with what lies
// between them not decided, and at the knee. Of several limits each has the load that fails.
func (d *Data) bracket() (out []draw.Mark) {
	mark := func(c *Cell, label string, ink draw.Ink) {
		at := c.At(d.Load())
		out = append(out, draw.Mark{Vertical: true, At: at, To: at, Label: label, Ink: ink})
	}
	cells := slices.Clone(d.Cells)
	slices.SortStableFunc(cells, func(x, y *Cell) int { return cmp.Compare(x.At(d.Load()), y.At(d.Load())) })
	several := len(d.tiers()) > 0
	last, found := map[string]*Cell{}, map[string]bool{}
	for i, c := range cells {
		if c.Knee {
			mark(c, "knee", draw.Muted)
		}
		for _, x := range decisions(c) {
			if x.state != holds && x.state != fails {
				continue
			}
			was := last[x.tier]
			last[x.tier] = c
			if was == nil || stateOf(was, x.tier) == x.state || found[x.tier] {
				continue
			}
			found[x.tier] = true
			good, bad := was, c
			if x.state == holds {
				good, bad = c, was
			}
			if several {
				mark(bad, x.tier+": "+setting(bad.At(d.Load()))+" "+fails, draw.Bad)
				continue
			}
			if cells[i-1] != was {
				out = append(out, draw.Mark{Vertical: true, At: was.At(d.Load()), To: c.At(d.Load()), Label: "undecided"})
			}
			mark(good, setting(good.At(d.Load()))+" "+holds, draw.Good)
			mark(bad, setting(bad.At(d.Load()))+" "+fails, draw.Bad)
		}
	}
	if held := d.Held(); held != nil && len(found) == 0 && !several {
		mark(held, setting(held.At(d.Load()))+" "+holds, draw.Good)
	}
	return out
}

// The decisions about a load that are shown in charts.
const (
	holds = "holds"
	fails = "fails"
)

// decision is what a load showed: of a search with several limits to one of its tiers.
type decision struct{ tier, state string }

// decisions are those of a cell: "holds", or with several limits "chat fails, code holds".
func decisions(c *Cell) (out []decision) {
	for _, part := range strings.Split(c.Decision, ", ") {
		tier, state, several := strings.Cut(part, " ")
		if !several {
			tier, state = "", part
		}
		out = append(out, decision{tier, state})
	}
	return out
}

func stateOf(c *Cell, tier string) string {
	for _, x := range decisions(c) {
		if x.tier == tier {
			return x.state
		}
	}
	return ""
}

// each are the trials of a figure of a cell, in their order.
func (d *Data) each(c *Cell, metric, stat string) (out []Stat) {
	of := d.Trials(c, metric, stat)
	if len(of) == 0 && !c.hides(metric) { // what tiers judge is over whole runs
		of = c.trials[key{full, metric, stat}]
	}
	for _, n := range slices.Sorted(maps.Keys(of)) {
		if of[n].known() {
			out = append(out, of[n])
		}
	}
	if len(out) == 0 {
		if s := d.Get(c, metric, stat); s.known() {
			out = append(out, s)
		}
	}
	return out
}
