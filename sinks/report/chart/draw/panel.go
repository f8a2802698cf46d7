package draw

import (
	"math"
)

// panel draws one coordinate system into its box.
type panel struct {
	*layout
	p    *Panel
	b    box
	x, y scale
	u    under
}

func (p *panel) px(v float64) float64 { return p.b.x0 + p.x.at(v)*p.b.w() }
func (p *panel) py(v float64) float64 { return p.b.y1 - p.y.at(v)*p.b.h() }

// in is s, cut off at the panel's edges.
func (p *panel) in(s shape) shape {
	c := p.b
	s.clip = &c
	return s
}

// draw paints the panel. Where a mark's words find no free place beside it, the panel
// is painted again, with lines above it that have those of all marks.
func (p *panel) draw() {
	from := len(p.shapes)
	if p.paint(nil) {
		return
	}
	p.shapes = p.shapes[:from]
	p.b.y0 = p.strip()
	p.paint(p.crowdOf(p.shapes[from:]))
}

// paint reports whether the words of every mark have a place. above is what has them
// already, nil for nothing.
func (p *panel) paint(above *crowd) (placed bool) {
	placed = true
	p.bands()
	p.axes()
	from := len(p.shapes)
	p.lines()
	for i := range p.p.Series {
		p.rects(&p.p.Series[i], p.p.Series[i].number(i))
	}
	for i := range p.p.Series {
		p.ribbon(&p.p.Series[i], p.p.Series[i].number(i))
	}
	for i := range p.p.Series {
		p.line(&p.p.Series[i], p.p.Series[i].number(i))
	}
	for _, above := range []bool{false, true} {
		for i := range p.p.Series {
			p.points(&p.p.Series[i], p.p.Series[i].number(i), above)
		}
	}
	taken := p.crowdOf(p.shapes[from:])
	if above == nil {
		placed = p.markLabels(taken)
	} else {
		taken.boxes = append(taken.boxes, above.boxes...)
	}
	p.labels(taken)
	return placed
}

// number is what a reader's page knows series i by.
func (s *Series) number(i int) int {
	if s.With > 0 {
		return s.With
	}
	return i + 1
}

// axes draws grid, ticks and labels.
func (p *panel) axes() {
	for _, t := range p.y.ticks {
		if p.y.holds(t.At) {
			p.add(line(Grid, 1, xy{p.b.x0, p.py(t.At)}, xy{p.b.x1, p.py(t.At)}))
		}
	}
	free := math.Inf(1) // labels of y that would touch are left out, from the bottom
	for _, t := range p.y.ticks {
		if !p.y.holds(t.At) {
			continue
		}
		y := p.py(t.At)
		if y+smallSize < free {
			p.add(words(p.cut(t.Label, smallSize, 180), Muted, smallSize, p.b.x0-gap, y+4, "end"))
			free = y
		}
	}
	p.xAxis()
	if p.p.Y.Label != "" {
		t := words(p.cut(p.p.Y.Label, labelSize, p.b.h()+2*gap), Text, labelSize, edge+labelSize-2, (p.b.y0+p.b.y1)/2,
			"middle")
		t.turned = true
		p.add(t)
	}
}

// xAxis draws the axis of x with its words.
func (p *panel) xAxis() {
	p.add(line(Muted, 1, xy{p.b.x0, p.b.y1}, xy{p.b.x1, p.b.y1}))
	p.xTicks()
	if p.p.X.Label != "" {
		mid, most := (p.b.x0+p.b.x1)/2, p.size.W-2*edge
		label := p.p.X.Label
		for _, note := range p.p.X.Notes {
			if whole := label + ", " + note; p.room(whole, labelSize, false) <= most {
				label = whole
			}
		}
		label = p.cut(label, labelSize, most)
		if half := p.room(label, labelSize, false) / 2; mid+half > p.size.W-edge { // longer than its axis
			mid = p.size.W - edge - half
		} else if mid-half < edge {
			mid = edge + half
		}
		p.add(words(label, Text, labelSize, mid, p.b.y1+p.u.height-gap, "middle"))
	}
}

// bandShade is how much of a band is seen.
const bandShade = 0.35

// bands are the shaded marks, behind everything.
func (p *panel) bands() {
	for _, m := range p.p.Marks {
		if !m.band() {
			continue
		}
		b := box{p.b.x0, p.py(m.To), p.b.x1, p.py(m.At)}
		if m.Vertical {
			b = box{p.px(m.At), p.b.y0, p.px(m.To), p.b.y1}
		}
		r := p.in(rectangle(inkOr(m.Ink, Grid), b))
		r.shade, r.title = bandShade, m.Label
		p.add(r)
	}
}

// lines are the marks that are lines.
func (p *panel) lines() {
	for _, m := range p.p.Marks {
		if m.band() {
			continue
		}
		a, z := xy{p.b.x0, p.py(m.At)}, xy{p.b.x1, p.py(m.At)}
		if m.Vertical {
			a, z = xy{p.px(m.At), p.b.y0}, xy{p.px(m.At), p.b.y1}
		}
		s := p.in(line(inkOr(m.Ink, Bad), 1.5, a, z))
		s.dash, s.title = Dashed, m.Label
		p.add(s)
	}
}

// band reports whether m is one, and no line.
func (m *Mark) band() bool { return m.To != m.At && !math.IsNaN(m.To) }

func inkOr(i, other Ink) Ink {
	if i == "" {
		return other
	}
	return i
}

func (p *panel) rects(s *Series, n int) {
	for _, r := range s.Rects {
		b := box{p.px(r.X0), p.py(r.Y1), p.px(r.X1), p.py(r.Y0)}
		if b.x1-b.x0 < 0.5 {
			b.x1 = b.x0 + 0.5
		}
		sh := p.in(rectangle(inkOr(r.Ink, s.Ink), b))
		sh.shade, sh.title, sh.series = r.Shade, r.Title, n
		p.add(sh)
	}
}

func (p *panel) ribbon(s *Series, n int) {
	if !s.Ribbon {
		return
	}
	for _, run := range runs(s.Points, func(q *Point) bool { return interval(q) }) {
		var up, down []xy
		for i := range run {
			up = append(up, xy{p.px(run[i].X), p.py(run[i].High)})
			j := len(run) - 1 - i
			down = append(down, xy{p.px(run[j].X), p.py(run[j].Low)})
		}
		p.add(p.in(shape{kind: areaKind, points: append(up, down...), fill: s.Ink, shade: 0.18, series: n}))
	}
}

func (p *panel) line(s *Series, n int) {
	if !s.Line {
		return
	}
	for _, run := range runs(s.Points, func(q *Point) bool { return finite(q.X) && finite(q.Y) }) {
		pts := make([]xy, len(run))
		for i, q := range run {
			pts[i] = xy{p.px(q.X), p.py(q.Y)}
		}
		if len(pts) == 1 && s.Bare { // a line of one point would not be seen
			d := dot(pts[0].x, pts[0].y, radius-1)
			d.fill, d.title, d.series = s.Ink, run[0].Title, n
			p.add(p.in(d))
			continue
		}
		if s.Bare { // no glyph marks its points
			pts = straightened(pts)
		}
		l := p.in(line(s.Ink, 2, pts...))
		l.dash, l.series = s.Dash%len(dashPatterns), n
		p.add(l)
	}
}

// unseen is how far, in pixels, a line may pass by one of its points.
const unseen = 0.3

// straightened is a line without the points that nobody would miss (Douglas and Peucker).
func straightened(pts []xy) []xy {
	if len(pts) < 3 {
		return pts
	}
	a, z := pts[0], pts[len(pts)-1]
	length := math.Hypot(z.x-a.x, z.y-a.y)
	far, most := 0, unseen
	for i, q := range pts[1 : len(pts)-1] {
		off := math.Hypot(q.x-a.x, q.y-a.y)
		if length > 0 {
			off = math.Abs((z.x-a.x)*(a.y-q.y)-(a.x-q.x)*(z.y-a.y)) / length
		}
		if off > most {
			far, most = i+1, off
		}
	}
	if far == 0 {
		return []xy{a, z}
	}
	head := straightened(pts[:far+1])
	return append(head[:len(head)-1:len(head)-1], straightened(pts[far:])...)
}

// points draws those that lie above others, or the others.
func (p *panel) points(s *Series, n int, above bool) {
	for i := range s.Points {
		q := &s.Points[i]
		if q.Above != above || !finite(q.X) || !finite(q.Y) || !p.x.holds(q.X) || !p.y.holds(q.Y) {
			continue
		}
		x, y := p.px(q.X), p.py(q.Y)
		if interval(q) && !s.Ribbon {
			p.whisker(s, q, x, n)
		}
		if s.Bare {
			continue
		}
		g := sign(s.Shape, x, y, radius)
		g.fill, g.stroke, g.width, g.title, g.link, g.series = s.Ink, s.Ink, 1.4, q.Title, q.Link, n
		if q.Hollow {
			g.fill = Paper
		}
		p.add(g)
		if q.Taint != "" {
			ring := dot(x, y, radius+3.5)
			ring.stroke, ring.width, ring.dash, ring.title, ring.series = Warn, 1.4, Dashed, q.Title, n
			p.add(ring)
		}
	}
}

// whisker is the interval of a point.
func (p *panel) whisker(s *Series, q *Point, x float64, n int) {
	lo, hi := p.py(q.Low), p.py(q.High)
	if lo-hi < 2 { // it lies within the glyph, and would only deform that
		return
	}
	list := []shape{line(s.Ink, 1.3, xy{x, min(lo, p.b.y1)}, xy{x, max(hi, p.b.y0)})}
	for _, end := range []struct{ at, edge, inwards float64 }{{lo, p.b.y1, -5}, {hi, p.b.y0, 5}} {
		if (end.at-end.edge)*end.inwards < 0 { // beyond the panel: an arrow
			list = append(list, line(s.Ink, 1.3, xy{x - 4, end.edge + end.inwards},
				xy{x, end.edge}, xy{x + 4, end.edge + end.inwards}))
		} else {
			list = append(list, line(s.Ink, 1.3, xy{x - 4, end.at}, xy{x + 4, end.at}))
		}
	}
	for _, l := range list {
		l.series = n
		p.add(p.in(l))
	}
}

// runs are the stretches of points for which ok holds.
func runs(pts []Point, ok func(*Point) bool) [][]Point {
	var out [][]Point
	start := -1
	for i := range pts {
		switch good := ok(&pts[i]); {
		case good && start < 0:
			start = i
		case !good && start >= 0:
			out, start = append(out, pts[start:i]), -1
		}
	}
	if start >= 0 {
		out = append(out, pts[start:])
	}
	return out
}

func interval(q *Point) bool { return finite(q.Low) && finite(q.High) && finite(q.X) && finite(q.Y) }

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// circle is a polygon that looks like one.
func circle(x, y, r float64) []xy {
	const n = 20
	pts := make([]xy, n)
	for i := range pts {
		a := 2 * math.Pi * float64(i) / n
		pts[i] = xy{x + r*math.Cos(a), y + r*math.Sin(a)}
	}
	return pts
}
