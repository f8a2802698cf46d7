package draw

import (
	"math"
	"slices"
	"strings"
)

// panel draws one coordinate system into its box.
type panel struct {
	*layout
	p    *Panel
	b    box
	x, y scale
}

func (p *panel) px(v float64) float64 { return p.b.x0 + p.x.at(v)*p.b.w() }
func (p *panel) py(v float64) float64 { return p.b.y1 - p.y.at(v)*p.b.h() }

// in is s, cut off at the panel's edges.
func (p *panel) in(s shape) shape {
	c := p.b
	s.clip = &c
	return s
}

func (p *panel) draw() {
	p.bands()
	p.axes()
	for i := range p.p.Series {
		p.rects(&p.p.Series[i], i+1)
	}
	for i := range p.p.Series {
		p.ribbon(&p.p.Series[i], i+1)
	}
	for i := range p.p.Series {
		p.line(&p.p.Series[i], i+1)
	}
	for i := range p.p.Series {
		p.points(&p.p.Series[i], i+1)
	}
	p.labels()
	p.lines()
}

// labels stand to the right of their points, above or below them; one for which
// there is no room is left out.
func (p *panel) labels() {
	var taken []box
	for i := range p.p.Series {
		for _, q := range p.p.Series[i].Points {
			if finite(q.X) && finite(q.Y) && !p.p.Series[i].Bare {
				x, y := p.px(q.X), p.py(q.Y)
				taken = append(taken, box{x - radius, y - radius, x + radius, y + radius})
			}
		}
	}
	for i := range p.p.Series {
		for _, q := range p.p.Series[i].Points {
			if q.Label == "" || !finite(q.X) || !finite(q.Y) {
				continue
			}
			x, y, w := p.px(q.X), p.py(q.Y), p.room(q.Label, smallSize, false)
			for _, at := range []xy{{x + 9, y - 5}, {x + 9, y + smallSize + 3}, {x - 9 - w, y - 5}, {x - 9 - w, y + smallSize + 3}} {
				b := box{at.x, at.y - smallSize, at.x + w, at.y}
				if b.x0 < p.b.x0 || b.x1 > p.b.x1+gap || b.y0 < p.b.y0-gap || b.y1 > p.b.y1 || slices.ContainsFunc(taken, b.meets) {
					continue
				}
				taken = append(taken, b)
				p.add(words(q.Label, Muted, smallSize, at.x, at.y, "start"))
				break
			}
		}
	}
}

// axes draws grid, ticks and labels.
func (p *panel) axes() {
	free := math.Inf(1) // labels of y that would touch are left out, from the bottom
	for _, t := range p.y.ticks {
		if !p.y.holds(t.At) {
			continue
		}
		y := p.py(t.At)
		p.add(line(Grid, 1, xy{p.b.x0, y}, xy{p.b.x1, y}))
		if y+smallSize < free {
			p.add(words(p.cut(t.Label, smallSize, 180), Muted, smallSize, p.b.x0-gap, y+4, "end"))
			free = y
		}
	}
	p.xTicks()
	p.add(line(Muted, 1, xy{p.b.x0, p.b.y1}, xy{p.b.x1, p.b.y1}))
	if p.p.X.Label != "" {
		mid, most := (p.b.x0+p.b.x1)/2, p.size.W-2*edge
		label := p.cut(p.p.X.Label, labelSize, most)
		if half := p.room(label, labelSize, false) / 2; mid+half > p.size.W-edge { // longer than its axis
			mid = p.size.W - edge - half
		}
		p.add(words(label, Text, labelSize, mid, p.b.y1+p.p.low()-gap, "middle"))
	}
	if p.p.Y.Label != "" {
		t := words(p.cut(p.p.Y.Label, labelSize, p.b.h()+2*gap), Text, labelSize, edge+labelSize-2, (p.b.y0+p.b.y1)/2, "middle")
		t.turned = true
		p.add(t)
	}
}

// xTicks leaves out numbers that would touch the one before; names stand in
// several lines, one for each part of them.
func (p *panel) xTicks() {
	room, every := p.named()
	last := math.Inf(-1)
	for i, t := range p.x.ticks {
		if !p.x.holds(t.At) {
			continue
		}
		x := p.px(t.At)
		p.add(line(Muted, 1, xy{x, p.b.y1}, xy{x, p.b.y1 + 4}))
		if i%every > 0 {
			continue
		}
		for i, label := range tickLines(t.Label) {
			if label = p.abridge(label, smallSize, max(room-4, 34)); i == 0 {
				w := p.room(label, smallSize, false)
				if x-w/2 < last+4 {
					break
				}
				last = x + w/2
			}
			p.add(words(label, Muted, smallSize, x, p.b.y1+smallSize+gap+float64(i)*(smallSize+2), "middle"))
		}
	}
}

// named is the room of a name below the axis, and that every how manyth has one:
// of many that would all be cut to their common beginning, some stand there whole.
func (p *panel) named() (room float64, every int) {
	const few, most = 8, 120 // pixels of a name
	n := len(p.x.ticks)
	room, every = p.b.w()/float64(max(n, 1)), 1
	if !p.p.X.Names || n <= few {
		return room, every
	}
	widest := 0.0
	for _, t := range p.x.ticks {
		for _, label := range tickLines(t.Label) {
			widest = max(widest, p.width(label, smallSize, false))
		}
	}
	every = max(1, int(math.Ceil((min(widest, most)+8)/room)))
	return room * float64(every), every
}

// Break parts a name on an axis into lines.
const Break = " · "

func tickLines(label string) []string { return strings.Split(label, Break) }

// low is the room that ticks and label of x need below the panel.
func (p *Panel) low() float64 {
	lines := 1
	for _, t := range p.X.Ticks {
		lines = max(lines, len(tickLines(t.Label)))
	}
	h := float64(lines)*(smallSize+2) + 2*gap
	if p.X.Label != "" {
		h += labelSize + gap
	}
	return h
}

// bands are the shaded marks, behind everything.
func (p *panel) bands() {
	for _, m := range p.p.Marks {
		if m.To == m.At || math.IsNaN(m.To) {
			continue
		}
		b := box{p.b.x0, p.py(m.To), p.b.x1, p.py(m.At)}
		if m.Vertical {
			b = box{p.px(m.At), p.b.y0, p.px(m.To), p.b.y1}
		}
		r := p.in(rectangle(inkOr(m.Ink, Grid), b))
		r.shade, r.title = 0.35, m.Label
		p.add(r)
		if m.Label != "" {
			p.add(words(m.Label, Muted, smallSize, max(b.x0, p.b.x0)+4, max(b.y0, p.b.y0)+smallSize+1, "start"))
		}
	}
}

// lines are the marks that are lines, above everything.
func (p *panel) lines() {
	var taken []box
	for _, m := range p.p.Marks {
		if m.To != m.At && !math.IsNaN(m.To) {
			continue
		}
		a, z := xy{p.b.x0, p.py(m.At)}, xy{p.b.x1, p.py(m.At)}
		at, anchor := xy{p.b.x0 + 4, a.y - 4}, "start"
		if at.y < p.b.y0+smallSize {
			at.y = a.y + smallSize + 2
		}
		if m.Vertical {
			x := p.px(m.At)
			a, z, at, anchor = xy{x, p.b.y0}, xy{x, p.b.y1}, xy{x + 4, p.b.y0 + smallSize}, "start"
			if x+p.width(m.Label, smallSize, false)+8 > p.b.x1 {
				at.x, anchor = x-4, "end"
			}
		}
		label := p.cut(m.Label, smallSize, p.b.w())
		w := p.room(label, smallSize, false)
		said := box{at.x, at.y - smallSize, at.x + w, at.y + 2}
		if anchor == "end" {
			said.x0, said.x1 = max(at.x-w, p.b.x0), max(at.x, p.b.x0+w)
			at.x = said.x1
		}
		for slices.ContainsFunc(taken, said.meets) { // below the one that is there
			said.y0, said.y1, at.y = said.y0+smallSize+3, said.y1+smallSize+3, at.y+smallSize+3
		}
		taken = append(taken, said)
		s := p.in(line(inkOr(m.Ink, Bad), 1.5, a, z))
		s.dash, s.title = true, m.Label
		p.add(s, words(label, inkOr(m.Ink, Bad), smallSize, at.x, at.y, anchor))
	}
}

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
		l := p.in(line(s.Ink, 2, pts...))
		l.dash, l.series = s.Dashed, n
		p.add(l)
	}
}

func (p *panel) points(s *Series, n int) {
	for i := range s.Points {
		q := &s.Points[i]
		if !finite(q.X) || !finite(q.Y) || !p.x.holds(q.X) || !p.y.holds(q.Y) {
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
			ring.stroke, ring.width, ring.dash, ring.title, ring.series = Warn, 1.4, true, q.Title, n
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
	for _, l := range []shape{
		line(s.Ink, 1.3, xy{x, lo}, xy{x, hi}), line(s.Ink, 1.3, xy{x - 4, lo}, xy{x + 4, lo}), line(s.Ink, 1.3, xy{x - 4, hi}, xy{x + 4, hi}),
	} {
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
