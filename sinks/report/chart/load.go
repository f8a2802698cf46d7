package chart

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
	"aiperf.dev/aiperf/sweep"
)

// group is the cells that differ in nothing but one axis, along it.
type group struct {
	name  string
	cells []*Cell
}

// groups splits the cells by everything but the axis.
func (d *Data) groups(axis string) []group {
	var out []group
	for _, c := range d.Cells {
		name := d.label(c, axis)
		i := slices.IndexFunc(out, func(g group) bool { return g.name == name })
		if i < 0 {
			out = append(out, group{name: name})
			i = len(out) - 1
		}
		out[i].cells = append(out[i].cells, c)
	}
	if axis != "" {
		for _, g := range out {
			slices.SortStableFunc(g.cells, func(a, b *Cell) int {
				return cmp.Compare(a.At(axis), b.At(axis))
			})
		}
	}
	return out
}

// along is the x axis of charts against load: the axis of load, or the cells
// one beside the other where no load is swept.
type along struct {
	axis  draw.Axis
	name  string // of the swept setting
	d     *Data
	nomin bool
}

func (d *Data) along() along {
	if name := d.Load(); name != "" {
		return along{
			draw.Axis{Label: sweep.AxisNamed(name).Label, Log: d.spread(name), Ticks: d.swept(name)},
			name, d,
			false,
		}
	}
	return d.nominal()
}

// nominal puts the cells one beside the other: what neighbours have in common stands
// once below them, what numbers are of at the axis.
func (d *Data) nominal() along {
	a := along{axis: draw.Axis{Names: true}, d: d, nomin: true}
	last := ""
	if len(d.Axes) > 0 {
		last = d.Axes[len(d.Axes)-1]
	}
	if d.Numeric(last) {
		a.axis.Label = cmp.Or(sweep.AxisNamed(last).Label, Spoken(last))
	}
	for i, c := range d.Cells {
		t := draw.Tick{At: float64(i), Label: valueOf(c, last), Group: d.label(c, last)}
		if last == "" {
			t = draw.Tick{At: t.At, Label: d.Name}
		}
		a.axis.Ticks = append(a.axis.Ticks, t)
	}
	return a
}

// swept are the values of an axis as ticks, when they are few.
func (d *Data) swept(axis string) []draw.Tick {
	var out []draw.Tick
	for _, c := range d.Cells {
		t := draw.Tick{At: c.At(axis), Label: setting(c.At(axis))}
		if !math.IsNaN(t.At) && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b draw.Tick) int { return cmp.Compare(a.At, b.At) })
	return out
}

// setting is a number as somebody wrote it.
func setting(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// spread reports whether an axis spans so much that a linear one would hide the small loads.
// A search doubles its load, and looks closely between two of them.
func (d *Data) spread(axis string) bool {
	most := 20.0
	if d.Searched() {
		most = 4
	}
	lo, hi := math.Inf(1), 0.0
	for _, c := range d.Cells {
		if v := c.At(axis); !math.IsNaN(v) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	return lo > 0 && hi > most*lo
}

func (a along) x(c *Cell) float64 {
	if a.nomin {
		return float64(slices.Index(a.d.Cells, c))
	}
	return c.At(a.name)
}

// groups of a nominal axis is one.
func (a along) groups() []group {
	if a.nomin {
		return []group{{cells: a.d.Cells}}
	}
	return a.d.groups(a.name)
}

// point is a figure of a cell at x.
func (d *Data) point(c *Cell, x float64, name string, s Stat) draw.Point {
	return draw.Point{
		X: x, Y: s.Value, Low: s.Low, High: s.High, Hollow: s.Unsupported, Taint: s.Taint,
		Title: d.describe(c, name, s), Link: fmt.Sprintf("#cell-%d", c.Index),
	}
}

// describe is what pointing at a value says.
func (d *Data) describe(c *Cell, name string, s Stat) string {
	parts := []string{d.Label(c) + ": " + name + " " + words.Number(s.Value) + unit(s.Unit)}
	if !math.IsNaN(s.Low) && !math.IsNaN(s.High) {
		parts = append(parts, "95 % ["+words.Number(s.Low)+", "+words.Number(s.High)+"]")
	}
	if s.Unsupported {
		parts = append(parts, "too few samples for this percentile")
	}
	if s.Taint != "" {
		parts = append(parts, validity.ParseTaint(s.Taint).Sentence())
	}
	return strings.Join(parts, "; ")
}

func unit(u string) string {
	if u == "" || u == "ratio" {
		return ""
	}
	return " " + u
}

// series is a figure along an axis, one line a group.
func (d *Data) series(a along, metric, stat, name string, set func(*draw.Series)) []draw.Series {
	var out []draw.Series
	for i, g := range a.groups() {
		s := draw.Series{
			Name: strings.TrimSpace(g.name + " " + name), Ink: draw.Nth(i), Dash: i / 4,
			Shape: i, Line: !a.nomin && len(g.cells) > 1,
		}
		for _, c := range g.cells {
			if v := d.Get(c, metric, stat); v.known() && !math.IsNaN(a.x(c)) {
				s.Points = append(s.Points, d.point(c, a.x(c), metric+" "+stat, v))
			}
		}
		if set != nil {
			set(&s)
		}
		if len(s.Points) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// output is the metric of throughput and what the axis calls it.
func (d *Data) output() (metric, label string) {
	if d.Has(metrics.OutputTokenThroughput, "avg") {
		return metrics.OutputTokenThroughput, "output tokens/s"
	}
	return metrics.RequestThroughput, "requests/s"
}

// throughput is chart 2.
func throughput(d *Data, _ *Cell) ([]draw.Panel, string) {
	if len(d.Cells) < 2 {
		return nil, "one cell only: sweep a load, such as --concurrency 1,4,16"
	}
	a := d.along()
	metric, label := d.output()
	p := draw.Panel{
		X: a.axis, Y: draw.Axis{Label: label, Zero: true, Wide: true},
		Series: d.series(a, metric, "avg", "", nil),
	}
	if !a.nomin {
		p.Marks = append(d.marked("knee", draw.Muted, func(c *Cell) bool { return c.Knee }),
			d.marked("INVALID", draw.Warn, func(c *Cell) bool { return c.Verdict == validity.Invalid })...)
	}
	if len(p.Series) == 0 {
		return nil, "no cell has a " + metric
	}
	return []draw.Panel{p}, ""
}

// marked are lines at the loads of some cells, a line a load, which say which lines of
// the picture they are about where it is not all of them.
func (d *Data) marked(what string, ink draw.Ink, is func(c *Cell) bool) (out []draw.Mark) {
	load := d.Load()
	for _, t := range d.swept(load) {
		var of []string
		n := 0
		for _, c := range d.Cells {
			if c.At(load) != t.At {
				continue
			}
			if n++; is(c) {
				of = append(of, d.label(c, load))
			}
		}
		if len(of) == 0 {
			continue
		}
		label := what
		if len(of) < n {
			label += ": " + strings.Join(of, ", ")
		}
		out = append(out, draw.Mark{Vertical: true, At: t.At, To: t.At, Label: label, Ink: ink})
	}
	return out
}

// limited is the limit of a latency, in ms, in words.
func limited(l float64) string { return "limit " + setting(l) + " ms" }

// tails are tried in this order: the highest that every cell supports is drawn.
var tails = []string{"p99", "p95", "p90", "p75"}

// tail is the percentile that most cells support: of several the highest, p99 where none
// is supported anywhere.
func (d *Data) tail(metric string) (best string) {
	most := -1
	for _, t := range tails {
		n := 0
		for _, c := range d.Cells {
			if !d.Get(c, metric, t).Unsupported {
				n++
			}
		}
		if n > most {
			best, most = t, n
		}
	}
	return best
}

// latency is chart 3.
func latency(d *Data, _ *Cell) ([]draw.Panel, string) {
	if len(d.Cells) < 2 {
		return nil, "one cell only: sweep a load, such as --concurrency 1,4,16"
	}
	if d.Load() == "" && len(d.Cells) < 3 {
		return nil, "two cells at one load: the table and the changes say it; sweep a load, such as --concurrency 1,4,16"
	}
	a := d.along()
	var out []draw.Panel
	for _, metric := range []string{metrics.TimeToFirstToken, metrics.InterTokenLatency, metrics.RequestLatency} {
		if !d.Has(metric, "p50") || metric == metrics.RequestLatency && len(out) > 0 {
			continue
		}
		tail := d.tail(metric)
		p := draw.Panel{Y: draw.Axis{Label: metrics.Axis(metric, ""), Zero: true, Wide: true}}
		p.Series = d.series(a, metric, "p50", "", func(s *draw.Series) { s.Ribbon, s.Dash = s.Line, 2*s.Dash })
		for i, s := range d.series(a, metric, tail, "", nil) {
			s.Dash = 2*s.Dash + 1
			s.Shape += 1 + slices.Index(tails, tail) // panels may show different percentiles
			s.With = 1 + slices.IndexFunc(p.Series, func(x draw.Series) bool { return x.Name == s.Name })
			if s.With == 0 { // it has no median
				s.With = i + 1
			}
			s.Name, s.Silent = strings.TrimSpace(s.Name+" "+tail), true
			p.Series = append(p.Series, s)
		}
		p.Series = append(p.Series, draw.Series{Name: "p50", Ink: draw.Muted, Line: !a.nomin}, draw.Series{
			Name: tail,
			Ink:  draw.Muted, Line: !a.nomin, Dash: draw.Dashed, Shape: 1 + slices.Index(tails, tail),
		})
		if l, ok := d.Limits[metric]; ok {
			p.Marks = append(p.Marks, draw.Mark{At: l, To: l, Label: limited(l)})
		}
		p.X = draw.Axis{Log: a.axis.Log, Ticks: a.axis.Ticks, Names: a.axis.Names}
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, "no latency was measured: every request failed, or answers were not streamed (--streaming)"
	}
	out[len(out)-1].X.Label = a.axis.Label
	return out, ""
}

// speedAxis is the axis of what one user sees, of points with their loads beside them. It
// does not begin at 0, where no system is.
func (d *Data) speedAxis() draw.Axis {
	a := draw.Axis{Label: "output tokens/s per user (p50)", Wide: true, Least: 0.25}
	if load := d.Load(); load != "" {
		a.Notes = append(a.Notes, "numbers: "+Spoken(load))
	}
	return a
}

// sameSpeed is by how much, of the highest, speeds may differ that are one.
const sameSpeed = 0.05

// oneSpeed reports whether one user gets the same speed in every cell: all points against it
// would stand above each other.
func (d *Data) oneSpeed() bool {
	low, high := math.Inf(1), 0.0
	for _, c := range d.Cells {
		if s := d.Get(c, metrics.OutputTokenThroughputPerUser, "p50"); s.known() {
			low, high = min(low, s.Value), max(high, s.Value)
		}
	}
	return high > 0 && high-low <= sameSpeed*high
}

// pareto is chart 1.
func pareto(d *Data, _ *Cell) ([]draw.Panel, string) {
	metric, label := d.output()
	speed := metrics.OutputTokenThroughputPerUser
	if !d.Has(speed, "p50") {
		return nil, "no speed per user: it needs streamed answers of more than one token (--streaming)"
	}
	if len(d.Cells) < 2 {
		return nil, "one cell only: sweep a load, such as --concurrency 1,4,16"
	}
	if d.oneSpeed() {
		return nil, fmt.Sprintf("one user gets the same speed in every cell, within %.0f %%: throughput against load shows the rest", 100*sameSpeed)
	}
	p := draw.Panel{X: d.speedAxis(), Y: draw.Axis{Label: label, Zero: true, Wide: true}}
	fronts := map[string][]draw.Point{} // by what was asked: cells are ranked within it
	for i, g := range d.groups(d.Load()) {
		s := draw.Series{Name: g.name, Ink: draw.Nth(i), Dash: i / 4, Shape: i, Line: len(g.cells) > 1}
		for _, c := range g.cells {
			x, y := d.Get(c, speed, "p50"), d.Get(c, metric, "avg")
			if !x.known() || !y.known() {
				continue
			}
			q := d.point(c, x.Value, metric, y)
			q.Title += "; " + words.Number(x.Value) + " tokens/s per user"
			if load := c.At(d.Load()); d.Load() != "" && !math.IsNaN(load) {
				q.Label = setting(load)
			}
			if c.Front {
				q.Title += "; on the front"
				q.Above = true
				work := d.work(c)
				fronts[work] = append(fronts[work], draw.At(x.Value, y.Value, ""))
			}
			s.Points = append(s.Points, q)
		}
		p.Series = append(p.Series, s)
	}
	for _, work := range slices.Sorted(maps.Keys(fronts)) {
		front := draw.Series{
			Name: "on the Pareto front", Ink: draw.Text, Line: true, Dash: draw.Dotted, Bare: true, Points: fronts[work],
		}
		slices.SortFunc(front.Points, func(a, b draw.Point) int { return cmp.Compare(a.X, b.X) })
		if len(front.Points) > 1 {
			p.Series = append(p.Series, front)
		}
	}
	return []draw.Panel{p}, ""
}
