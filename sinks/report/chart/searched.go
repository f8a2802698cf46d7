package chart

import (
	"cmp"
	"maps"
	"math"
	"slices"

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
	marks := d.bracket()
	good := d.probed(a, "good (%)", metrics.GoodRequestFraction, 100, func(c *Cell) float64 { return c.Good },
		"isotonic")
	rate := d.probed(a, "requests/s", metrics.RequestThroughput, 1, func(c *Cell) float64 { return c.Rate },
		"Universal Scalability Law")
	var out []draw.Panel
	for _, p := range []draw.Panel{good, rate} {
		if len(p.Series) > 0 {
			p.Marks = marks
			out = append(out, p)
		}
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
		if c.Decision == "holds" && load != "" && (at == nil || c.At(load) > at.At(load)) {
			at = c
		}
	}
	return at
}

// probed is a panel with a figure of every probe, and the curve through them.
func (d *Data) probed(a along, label, metric string, by float64, curve func(*Cell) float64, name string) draw.Panel {
	p := draw.Panel{X: a.axis, Y: draw.Axis{Label: label, Zero: true}}
	dots := draw.Series{Name: "probes", Ink: draw.Nth(0)}
	line := draw.Series{Name: name, Ink: draw.Nth(1), Line: true, Bare: true}
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

// bracket are lines at the nearest load that fails beside one that holds, which needs none of
// its own, and at the knee.
func (d *Data) bracket() (out []draw.Mark) {
	mark := func(c *Cell, label string, ink draw.Ink) {
		at := c.At(d.Load())
		out = append(out, draw.Mark{Vertical: true, At: at, To: at, Label: label, Ink: ink})
	}
	cells := slices.Clone(d.Cells)
	slices.SortStableFunc(cells, func(x, y *Cell) int { return cmp.Compare(x.At(d.Load()), y.At(d.Load())) })
	var last *Cell
	found := false
	for _, c := range cells {
		if c.Knee {
			mark(c, "knee", draw.Good)
		}
		if c.Decision != "holds" && c.Decision != "fails" {
			continue
		}
		if last != nil && last.Decision != c.Decision && !found {
			found = true
			fails := c
			if c.Decision == "holds" {
				fails = last
			}
			mark(fails, "fails", draw.Warn)
		}
		last = c
	}
	return out
}

// each are the trials of a figure of a cell, in their order.
func (d *Data) each(c *Cell, metric, stat string) (out []Stat) {
	of := c.trials[key{d.Window, metric, stat}]
	if of == nil {
		of = c.trials[key{"full", metric, stat}]
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
