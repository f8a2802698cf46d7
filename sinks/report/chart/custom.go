package chart

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
	"aiperf.dev/aiperf/sweep"
)

// Custom is a chart of any two columns: of axes and figures over the cells, or
// of requests over time.
type Custom struct {
	X, Y  string // "concurrency", "time_to_first_token.p99", "sent"
	By    string // axis whose values are series; "" takes all axes but X
	Title string
	Lines bool // points are joined
}

// requestValues are the columns of requests that can be drawn, with what an
// axis calls them.
var requestValues = map[string]struct {
	label string
	of    func(*Requests) []float64
}{
	"sent":     {"sent (s)", func(r *Requests) []float64 { return r.Sent }},
	"request":  {"request number", func(r *Requests) []float64 { return r.ID }},
	"ttft":     {metrics.Axis(metrics.TimeToFirstToken, ""), func(r *Requests) []float64 { return r.TTFT }},
	"itl":      {metrics.Axis(metrics.InterTokenLatency, ""), func(r *Requests) []float64 { return r.ITL }},
	"latency":  {metrics.Axis(metrics.RequestLatency, ""), func(r *Requests) []float64 { return r.Latency }},
	"isl":      {"input tokens", func(r *Requests) []float64 { return r.ISL }},
	"osl":      {"output tokens", func(r *Requests) []float64 { return r.OSL }},
	"send_lag": {"send lag (ms)", func(r *Requests) []float64 { return r.Lateness }},
}

// requestName is a column of requests by AIPerf's name for it, or by ours.
func requestName(name string) string {
	if ours := map[string]string{
		"request_number": "request", "timestamp_s": "sent", "timestamp": "sent", "time_to_first_token": "ttft",
		"inter_token_latency": "itl",
		"request_latency":     "latency", "input_sequence_length": "isl", "output_sequence_length": "osl",
	}[name]; ours != "" {
		return ours
	}
	return name
}

// Build draws the chart. An error names the column that is not there and those
// that are.
func (u Custom) Build(d *Data) (*draw.Chart, error) {
	out := &draw.Chart{ID: "custom", Title: u.Title, Footer: d.footer(nil, shown{}, "")}
	if out.Title == "" {
		out.Title = u.Y + " against " + u.X
	}
	x, overRequests := requestValues[requestName(u.X)]
	_, alsoAxis := d.Cells[0].Values[u.X]
	y, yRequests := requestValues[requestName(u.Y)]
	if overRequests && yRequests && (!alsoAxis || !d.figure(u.Y)) {
		out.Panels = []draw.Panel{d.scatter(u, x.of(d.Requests), y.of(d.Requests))}
		if len(out.Panels[0].Series) == 0 {
			return nil, fmt.Errorf("no request has %s and %s: all failed, or answers were not streamed (--streaming)",
				x.label, y.label)
		}
		out.Panels[0].X.Label, out.Panels[0].Y.Label = x.label, y.label
		return out, nil
	}
	names := d.named(u.X)
	for _, name := range []string{u.X, u.Y} {
		if !d.figure(name) && (name == u.Y || len(names) == 0) {
			axes := ""
			if len(d.Axes) > 0 {
				axes = "the axes " + strings.Join(d.Axes, ", ") + ", "
			}
			return nil, fmt.Errorf("no column %q: there are %sfigures such as time_to_first_token.p99, and of requests %s",
				name, axes, strings.Join(slices.Sorted(maps.Keys(requestValues)), ", "))
		}
	}
	p := draw.Panel{
		X: draw.Axis{Label: d.axisLabel(u.X), Wide: true},
		Y: draw.Axis{Label: d.axisLabel(u.Y), Zero: true, Wide: true},
	}
	load := ""
	if len(names) > 0 {
		p.X.Names, p.X.Ticks = true, names
	} else if !slices.Contains(d.Axes, strings.TrimPrefix(u.X, "axis_")) {
		load = d.Load() // a figure against a figure: the points follow the load, and say it
	}
	for i, g := range d.by(u) {
		s := draw.Series{Name: g.name, Ink: draw.Nth(i), Dash: i / 4, Shape: i, Line: u.Lines && len(g.cells) > 1}
		for _, c := range g.cells {
			x, y := d.value(c, u.X), d.value(c, u.Y)
			if at := c.Values[strings.TrimPrefix(u.X, "axis_")].Text; len(names) > 0 {
				x.Value = float64(slices.IndexFunc(names, func(t draw.Tick) bool { return t.Label == at }))
			}
			if !x.known() || !y.known() {
				continue
			}
			q := d.point(c, x.Value, u.Y, y)
			if v, ok := c.Values[load]; ok {
				q.Label = setting(v.Number)
			}
			s.Points = append(s.Points, q)
		}
		if load == "" {
			slices.SortStableFunc(s.Points, func(a, b draw.Point) int { return cmp.Compare(a.X, b.X) })
		}
		p.Series = append(p.Series, s)
	}
	out.Panels = []draw.Panel{p}
	return out, nil
}

// by groups the cells by one axis, or by all but X.
func (d *Data) by(u Custom) []group {
	if axis := strings.TrimPrefix(u.X, "axis_"); u.By == "" && slices.Contains(d.Axes, axis) {
		return d.groups(axis)
	} else if u.By == "" {
		return d.groups(d.Load())
	}
	var out []group
	for _, c := range d.Cells {
		v := c.Values[strings.TrimPrefix(u.By, "axis_")]
		name := v.Text
		if name == "" && !math.IsNaN(v.Number) {
			name = u.By + " " + setting(v.Number)
		}
		i := slices.IndexFunc(out, func(g group) bool { return g.name == name })
		if i < 0 {
			out = append(out, group{name: name})
			i = len(out) - 1
		}
		out[i].cells = append(out[i].cells, c)
	}
	return out
}

// figure reports whether name is an axis or a figure of some cell.
func (d *Data) figure(name string) bool {
	return slices.ContainsFunc(d.Cells, func(c *Cell) bool { return d.value(c, name).known() })
}

// named are the values of an axis that has words for values, one beside the other;
// none of an axis of numbers.
func (d *Data) named(axis string) (out []draw.Tick) {
	for _, c := range d.Cells {
		v, ok := c.Values[strings.TrimPrefix(axis, "axis_")]
		if !ok || !math.IsNaN(v.Number) {
			return nil
		}
		if !slices.ContainsFunc(out, func(t draw.Tick) bool { return t.Label == v.Text }) {
			out = append(out, draw.Tick{At: float64(len(out)), Label: v.Text})
		}
	}
	return out
}

// axisLabel is what an axis says that shows an axis of the sweep or a figure: its
// usual name, with its unit.
func (d *Data) axisLabel(name string) string {
	name = strings.TrimPrefix(name, "axis_")
	if slices.Contains(d.Axes, name) {
		return sweep.AxisNamed(name).Label
	}
	metric, stat, dotted := strings.Cut(name, ".")
	if i := strings.LastIndexByte(name, '_'); !dotted && i > 0 && d.Has(name[:i], name[i+1:]) {
		metric, stat = name[:i], name[i+1:]
	}
	m, ok := metrics.Lookup(metric)
	if !ok {
		return name
	}
	label := metrics.Axis(metric, stat)
	if !strings.Contains(label, "/s") && m.Unit != "" && m.Unit != "ms" && m.Unit != "ratio" {
		label += " (" + m.Unit + ")"
	}
	return label
}

// value is an axis' value or a figure: metric.stat, AIPerf's metric_stat, or
// the metric alone for its mean.
func (d *Data) value(c *Cell, name string) Stat {
	name = strings.TrimPrefix(name, "axis_")
	if v, ok := c.Values[name]; ok {
		return Stat{Value: v.Number, Low: math.NaN(), High: math.NaN()}
	}
	if metric, stat, ok := strings.Cut(name, "."); ok {
		return d.Get(c, metric, stat)
	}
	if i := strings.LastIndexByte(name, '_'); i > 0 {
		if s := d.Get(c, name[:i], name[i+1:]); s.known() {
			return s
		}
	}
	return d.Get(c, name, "avg")
}

// scatter is one dot a request, at most two thousand of each cell.
func (d *Data) scatter(u Custom, x, y []float64) draw.Panel {
	const most = 2000
	p := draw.Panel{Y: draw.Axis{Zero: true, Wide: true}}
	for i, c := range some(d.Cells, linesMost) {
		s := draw.Series{Name: d.Label(c), Ink: draw.Nth(i), Shape: i, Line: u.Lines}
		for k := range d.Requests.Cell {
			if d.Requests.Cell[k] != c || math.IsNaN(x[k]) || math.IsNaN(y[k]) ||
				len(s.Points) >= most || d.Requests.Trial[k] > 0 {
				continue
			}
			s.Points = append(s.Points, draw.At(x[k], y[k], fmt.Sprintf("request %s: %s", setting(d.Requests.ID[k]),
				words.Number(y[k]))))
		}
		if len(s.Points) == 0 {
			continue
		}
		slices.SortStableFunc(s.Points, func(a, b draw.Point) int { return cmp.Compare(a.X, b.X) })
		p.Series = append(p.Series, s)
	}
	return p
}
