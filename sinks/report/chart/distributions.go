package chart

import (
	"fmt"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/words"

	"aiperf.dev/aiperf/sinks/report/chart/draw"
)

// A picture of distributions has a colour for each workload and system, and dashes for
// the loads of it.
const (
	coloursMost = 4
	dashesMost  = 3
)

// distributed is how many requests make a distribution that is worth a picture.
const distributed = 10

// ecdf is chart 5: the share of requests that took at most so long.
func ecdf(d *Data, _ *Cell) ([]draw.Panel, string) {
	var out []draw.Panel
	ended := 0
	for _, m := range []struct {
		metric string
		of     func(*Requests) []float64
	}{
		{metrics.TimeToFirstToken, func(r *Requests) []float64 { return r.TTFT }},
		{metrics.RequestLatency, func(r *Requests) []float64 { return r.Latency }},
		{metrics.InterTokenLatency, func(r *Requests) []float64 { return r.ITL }},
	} {
		p := draw.Panel{
			X: draw.Axis{Label: metrics.Axis(m.metric, ""), Wide: true, Least: 0.2},
			Y: draw.Axis{Label: "requests (%)", Zero: true},
		}
		var longest []float64 // of the cell whose slowest request is the slowest
		groups := d.groups(d.Load())
		for i, g := range groups {
			for k, c := range g.cells {
				values := d.Requests.values(c, m.of(d.Requests))
				ended += len(values)
				if len(values) < distributed {
					continue
				}
				if n := len(longest); n == 0 || values[len(values)-1] > longest[n-1] {
					longest = values
				}
				p.Series = append(p.Series, draw.Series{
					Name: d.Label(c), Silent: true, With: i + 1, Ink: draw.Nth(i),
					Dash: k, Line: true, Bare: true, Points: begun(steps(values)),
				})
			}
		}
		if len(p.Series) > 0 {
			p.Series = append(p.Series, d.keys(groups)...)
			d.limit(&p, m.metric, longest)
			out = append(out, p)
		}
	}
	switch {
	case len(out) > 0:
		return out, ""
	case ended > 0:
		return nil, fmt.Sprintf("no cell has %d requests: send more, such as --request-count 200", distributed)
	}
	return nil, "no request ended well"
}

// farOff is how many times the longest latency a limit may be that stretches the axis to its place.
const farOff = 3

// limit marks the limit of a latency, and of the only distribution says how many are within it.
// One that is far off is named at the axis: nothing comes near it.
func (d *Data) limit(p *draw.Panel, metric string, longest []float64) {
	l, ok := d.Limits[metric]
	if !ok {
		return
	}
	if l > farOff*longest[len(longest)-1] {
		p.X.Notes = append(p.X.Notes, limited(l)+" is farther right")
		return
	}
	m := draw.Mark{Vertical: true, At: l, To: l, Label: limited(l)}
	if len(d.Cells) == 1 {
		within, _ := slices.BinarySearchFunc(longest, l, func(v, limit float64) int {
			if v <= limit {
				return -1
			}
			return 1
		})
		m.Label += fmt.Sprintf(", met by %s %%", words.Number(100*float64(within)/float64(len(longest))))
	}
	p.Marks = append(p.Marks, m)
}

// keys say what colours and dashes mean, by series without points.
func (d *Data) keys(groups []group) (out []draw.Series) {
	for i, g := range groups {
		if g.name != "" && len(d.Cells) > 1 { // the only line needs no name
			out = append(out, draw.Series{Name: g.name, With: i + 1, Ink: draw.Nth(i), Line: true, Bare: true})
		}
	}
	load, ink := d.Load(), draw.Muted
	if load == "" {
		return out
	}
	if len(groups) == 1 {
		ink = draw.Nth(0)
	}
	for k, c := range groups[0].cells {
		out = append(out, draw.Series{
			Name: Spoken(load) + " " + valueOf(c, load), Ink: ink, Dash: k, Line: true,
			Bare: true,
		})
	}
	return out
}

// values of the good requests of c, in order of size.
func (r *Requests) values(c *Cell, column []float64) []float64 {
	var out []float64
	for i := range r.Cell {
		if r.Cell[i] == c && r.OK[i] && r.InWindow[i] && !math.IsNaN(column[i]) {
			out = append(out, column[i])
		}
	}
	slices.Sort(out)
	return out
}

// steps is an empirical distribution, from 0 to 100 %, as a line of at most a few hundred
// points: even in the body, every one at both ends.
func steps(values []float64) []draw.Point {
	n := len(values)
	out := []draw.Point{draw.At(values[0], 0, "")}
	last := -1
	for i := 0; i < n; i++ {
		if share := float64(i+1) / float64(n); n > 400 && i-last < int(float64(n)*min(share, 1-share)/40) {
			continue
		}
		last = i
		out = append(out, draw.At(values[i], 100*float64(i+1)/float64(n), ""))
	}
	return out
}

// fastestFew is the share of requests, in percent, that would stretch an axis by themselves.
const fastestFew = 2

// begun begins a line above 0, which has no place on a logarithmic axis, and where it is not
// for the fastest few alone that the axis would begin: at the share of what lies before. A
// line that has nothing else stays.
func begun(pts []draw.Point) []draw.Point {
	i := slices.IndexFunc(pts, func(p draw.Point) bool { return p.X > 0 })
	if usual := slices.IndexFunc(pts, func(p draw.Point) bool { return p.Y > fastestFew }); usual >= 0 {
		for i >= 0 && i < usual && pts[i].X < pts[usual].X/2 {
			i++
		}
	}
	if i <= 0 {
		return pts
	}
	pts = pts[i-1:]
	pts[0].X = pts[1].X
	return pts
}

// lengthsID is the chart whose bars are of requests, not of trials.
const lengthsID = "lengths"

// lengths is chart 12: what was asked for, what was sent and what came.
func lengths(d *Data, _ *Cell) ([]draw.Panel, string) {
	a := d.nominal()
	r := d.Requests
	var out []draw.Panel
	for _, m := range []struct {
		label string
		parts []part
	}{
		{"input tokens", []part{
			{"sent, by the client's count", draw.S1, 0, r.ISL},
			{"by the server's count", draw.S2, 1, r.UsagePrompt},
		}},
		{"output tokens", []part{{"asked for", draw.S8, 3, r.Asked}, {"got", draw.S3, 2, r.OSL}}},
	} {
		p := draw.Panel{X: a.axis, Y: draw.Axis{Label: m.label, Zero: true}}
		for _, q := range m.parts {
			if s := d.lengthSeries(q); len(s.Points) > 0 {
				p.Series = append(p.Series, s)
			}
		}
		if len(p.Series) > 0 {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return nil, "no tokens were counted"
	}
	return oneAxis(out), ""
}

// part is one kind of length.
type part struct {
	name  string
	ink   draw.Ink
	shape int
	of    []float64
}

// lengthSeries has the mean of a length in each cell, and the range of the
// middle 90 % as its interval.
func (d *Data) lengthSeries(q part) draw.Series {
	s := draw.Series{Name: q.name, Ink: q.ink, Shape: q.shape}
	for x, c := range d.Cells {
		v := d.Requests.values(c, q.of)
		if len(v) == 0 {
			continue
		}
		sum := 0.0
		for _, n := range v {
			sum += n
		}
		p := draw.At(float64(x)+0.08*float64(q.shape-1), sum/float64(len(v)), "")
		p.Low, p.High = v[len(v)/20], v[len(v)-1-len(v)/20]
		p.Title = fmt.Sprintf("%s: %s: mean %s, middle 90 %% from %s to %s", d.Label(c), q.name,
			words.Number(p.Y), words.Number(p.Low), words.Number(p.High))
		s.Points = append(s.Points, p)
	}
	return s
}
