package draw

import (
	"math"
	"slices"
)

// Size of a picture in pixels.
type Size struct{ W, H float64 }

// Usual is the size of a chart of one panel or two.
var Usual = Size{720, 460}

// SizeOf is the size that shows c well beside others: more panels, and more words,
// need more height.
func SizeOf(c *Chart) Size {
	size := SizeIn(Usual.W, c)
	if len(c.Panels) == 0 || len(c.Panels[0].Rows) == 0 {
		size.H = max(size.H, Usual.H)
	}
	return size
}

// SizeIn is the size of c at a width that is given: as high as its words and its
// panels need there.
func SizeIn(width float64, c *Chart) Size {
	first, more := 240.0, 90.0 // pixels of a panel without its words, and of each below it
	if width < 600 {
		first, more = 170, 130
	}
	l := &layout{ruler: newRuler(), size: Size{W: width}}
	h := l.legend(c, l.head(c)) - l.foot(c)
	if len(c.Panels) == 0 {
		return Size{width, math.Ceil(h + l.missing(c, 0))}
	}
	if len(c.Panels[0].Rows) > 0 {
		return Size{width, math.Ceil(h + l.rowsHeight(&c.Panels[0], width-2*edge))}
	}
	if p := &c.Panels[0]; p.Y.Names { // a list needs no more than its lines
		first = min(first, 45*float64(len(p.Y.Ticks)+1))
	}
	list, _, _ := l.measured(c, edge, width-edge)
	for i, p := range list {
		h += p.u.height + gap + map[bool]float64{true: first, false: more}[i == 0]
	}
	return Size{width, math.Ceil(h)}
}

const (
	titleSize  = 16.0
	smallSize  = 11.0
	labelSize  = 12.0
	edge       = 12.0 // around everything
	gap        = 6.0
	legendStep = 18.0
	radius     = 3.6 // of a glyph
)

// layout places a chart. It goes from top to bottom, then fills the panels in.
type layout struct {
	*ruler
	size   Size
	shapes []shape
}

func (l *layout) add(s ...shape) { l.shapes = append(l.shapes, s...) }

// place gives the shapes of c in their order of painting.
func place(c *Chart, size Size) []shape {
	l := &layout{ruler: newRuler(), size: size}
	l.add(rectangle(Paper, box{0, 0, size.W, size.H}))
	top := l.head(c)
	bottom := l.foot(c)
	if len(c.Panels) == 0 {
		l.missing(c, top)
		return l.shapes
	}
	top = l.legend(c, top)
	l.panels(c, box{edge, top, size.W - edge, bottom})
	return l.shapes
}

// head writes title and question and returns where they end.
func (l *layout) head(c *Chart) float64 {
	y, room := edge, (l.size.W-2*edge)/wide
	for _, line := range l.wrap(c.Title, titleSize, true, room) {
		if y > edge {
			y += gap
		}
		y += titleSize
		t := words(l.cut(line, titleSize*1.05, l.size.W-2*edge), Text, titleSize, edge, y-2, "start")
		t.bold = true
		l.add(t)
	}
	for _, line := range l.wrap(c.Question, labelSize, false, room) {
		y += labelSize + 4
		l.add(words(line, Muted, labelSize, edge, y, "start"))
	}
	return y + gap
}

// foot writes the footer from the bottom and returns where it begins.
func (l *layout) foot(c *Chart) float64 {
	lines := l.wrap(c.Footer, smallSize, false, l.size.W-2*edge)
	y := l.size.H - edge - float64(len(lines)-1)*(smallSize+3)
	for i, line := range lines {
		l.add(words(line, Muted, smallSize, edge, y+float64(i)*(smallSize+3), "start"))
	}
	return y - smallSize - gap
}

// missing says why there is nothing to see, and returns where that ends.
func (l *layout) missing(c *Chart, y float64) float64 {
	for _, line := range l.wrap("not drawn: "+c.Missing, labelSize, false, l.size.W-2*edge) {
		y += labelSize + 6
		l.add(words(line, Text, labelSize, edge, y, "start"))
	}
	return y + gap
}

// legend lists the named series once each, in rows.
func (l *layout) legend(c *Chart, y float64) float64 {
	x, seen, n := edge, map[string]bool{}, 0
	for p := range c.Panels {
		for i := range c.Panels[p].Series {
			s := &c.Panels[p].Series[i]
			if s.Name == "" || s.Silent || seen[s.Name] {
				continue
			}
			seen[s.Name] = true
			name := l.middle(s.Name, labelSize, l.size.W-2*edge-44)
			w := 30 + l.room(name, labelSize, false) + 14
			if n++; n == 1 {
				y += legendStep
			} else if x+w > l.size.W-edge {
				x, y = edge, y+legendStep
			}
			l.key(s, x, y-4, s.number(i))
			t := words(name, Text, labelSize, x+28, y, "start")
			t.series = s.number(i)
			l.add(t)
			x += w
		}
	}
	return y + gap
}

// key is the sample of a series in the legend.
func (l *layout) key(s *Series, x, y float64, series int) {
	mid := x + 12
	switch {
	case len(s.Rects) > 0 && len(s.Points) == 0:
		ink := s.Ink
		if ink == "" {
			ink = s.Rects[0].Ink
		}
		r := rectangle(ink, box{mid - 6, y - 5, mid + 6, y + 5})
		r.series = series
		l.add(r)
		return
	case s.Line:
		ln := line(s.Ink, 2, xy{x, y}, xy{x + 24, y})
		ln.dash, ln.series = s.Dash%len(dashPatterns), series
		l.add(ln)
	}
	if !s.Bare {
		g := sign(s.Shape, mid, y, radius)
		g.fill, g.series = s.Ink, series
		l.add(g)
	}
}

// panels shares the height among the panels.
func (l *layout) panels(c *Chart, b box) {
	if len(c.Panels[0].Rows) > 0 {
		l.rows(&c.Panels[0], b)
		return
	}
	list, x0, x1 := l.measured(c, b.x0, b.x1)
	total, room := 0.0, b.h()
	for _, p := range list {
		total += share(p.p)
		room -= p.u.height + gap
	}
	y := b.y0
	for _, p := range list {
		y += gap
		bottom := y + room*share(p.p)/total
		p.b = box{x0, y, x1, bottom}
		p.draw()
		y = bottom + p.u.height
	}
}

// measured are the panels with their scales and the words below them, and their left and
// right edges. All have the same ones, and panels of one axis of x the same range on it,
// which is named below the last one.
func (l *layout) measured(c *Chart, x0, x1 float64) (list []*panel, left, right float64) {
	together, widest := newExtent(), 0.0
	for i := range c.Panels {
		p := c.Panels[i]
		p.X, p.Y = p.X.settled(p.values(true)), p.Y.settled(p.values(false))
		xs, ys := extents(&p)
		together.include(xs.lo)
		together.include(xs.hi)
		list = append(list, &panel{layout: l, p: &p, y: newScale(p.Y, ys, 6)})
		for _, t := range list[i].y.ticks {
			widest = max(widest, l.room(t.Label, smallSize, false))
		}
	}
	left, right = x0+min(widest, 180)+labelSize+3*gap, x1-gap
	shared := len(list) > 1 && oneX(c.Panels)
	for i, p := range list {
		xs, _ := extents(p.p)
		if shared {
			xs = together
		}
		p.x = newScale(p.p.X, xs, int((right-left)/80))
		p.u = p.below(right-left, shared && i < len(list)-1)
	}
	return list, left, right
}

// oneX reports whether panels have one axis of x: the last one names it.
func oneX(panels []Panel) bool {
	last := panels[len(panels)-1].X
	return !slices.ContainsFunc(panels[:len(panels)-1], func(p Panel) bool {
		return p.X.Label != "" || p.X.Names != last.Names || p.X.Log != last.Log
	})
}

// values is the range of what is shown along x or y, without intervals.
func (p *Panel) values(x bool) extent {
	e := newExtent()
	for i := range p.Series {
		for _, q := range p.Series[i].Points {
			if x && !math.IsNaN(q.Y) {
				e.include(q.X)
			} else if !x {
				e.include(q.Y)
			}
		}
		if len(p.Series[i].Rects) > 0 { // bars have a foot, at 0
			e.include(0)
		}
	}
	for _, m := range p.Marks {
		if m.Vertical == x {
			e.include(m.At)
		}
	}
	return e
}

func share(p *Panel) float64 {
	if p.Height > 0 {
		return p.Height
	}
	return 1
}

// sensible is how far intervals may widen the axis of y: twice the range of the
// values, which begins at 0 when they are all positive, to either side; ten
// times the values on a logarithmic axis.
func sensible(p *Panel) (lowest, highest float64) {
	e := newExtent()
	for i := range p.Series {
		for _, q := range p.Series[i].Points {
			e.include(q.Y)
		}
	}
	if p.Y.Log {
		return e.lo / 10, e.hi * 10
	}
	e.include(0)
	span := 2 * (e.hi - e.lo)
	return e.lo - span, e.hi + span
}

// extents is the range of everything in p, marks and intervals included. An
// interval that dwarfs the values runs out of the picture, so that these can
// still be told apart; its ends stand in the title and in the table.
func extents(p *Panel) (x, y extent) {
	x, y = newExtent(), newExtent()
	lowest, highest := sensible(p)
	for i := range p.Series {
		for _, q := range p.Series[i].Points {
			if math.IsNaN(q.Y) || math.IsNaN(q.X) {
				continue
			}
			x.include(q.X)
			y.include(q.Y)
			if interval(&q) {
				y.include(max(q.Low, lowest))
				y.include(min(q.High, highest))
			}
		}
		for _, r := range p.Series[i].Rects {
			x.include(r.X0)
			x.include(r.X1)
			y.include(r.Y0)
			y.include(r.Y1)
		}
	}
	for _, m := range p.Marks {
		if e := map[bool]*extent{true: &x, false: &y}[m.Vertical]; !m.Vertical || !e.empty() {
			e.include(m.At)
			e.include(m.To)
		}
	}
	for _, t := range p.X.Ticks {
		x.include(t.At)
	}
	return x, y
}
