package draw

import "math"

// Size of a picture in pixels.
type Size struct{ W, H float64 }

// Usual is the size of a chart of one panel.
var Usual = Size{720, 430}

// SizeOf is the size that shows c well: more panels need more height.
func SizeOf(c *Chart) Size {
	const more = 130
	return Size{Usual.W, Usual.H + more*float64(max(len(c.Panels)-1, 0))}
}

// SizeIn is the size of c at a width that is given: as high as its words and its
// panels need there.
func SizeIn(width float64, c *Chart) Size {
	const each = 200 // of a panel
	l := &layout{ruler: newRuler(), size: Size{W: width}}
	top := l.legend(c, l.head(c))
	return Size{width, math.Ceil(top - l.foot(c) + each*float64(max(len(c.Panels), 1)))}
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
	y := edge
	for _, line := range l.wrap(c.Title, titleSize, true, l.size.W-2*edge) {
		if y > edge {
			y += gap
		}
		y += titleSize
		t := words(l.cut(line, titleSize*1.05, l.size.W-2*edge), Text, titleSize, edge, y-2, "start")
		t.bold = true
		l.add(t)
	}
	for _, line := range l.wrap(c.Question, labelSize, false, l.size.W-2*edge) {
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

func (l *layout) missing(c *Chart, y float64) {
	for _, line := range l.wrap("not drawn: "+c.Missing, labelSize, false, l.size.W-2*edge) {
		y += labelSize + 6
		l.add(words(line, Text, labelSize, edge, y, "start"))
	}
}

// legend lists the named series once each, in rows.
func (l *layout) legend(c *Chart, y float64) float64 {
	x, seen, n := edge, map[string]bool{}, 0
	for p := range c.Panels {
		for i := range c.Panels[p].Series {
			s := &c.Panels[p].Series[i]
			if s.Name == "" || seen[s.Name] {
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
			l.key(s, x, y-4, i+1)
			t := words(name, Text, labelSize, x+28, y, "start")
			t.series = i + 1
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
		ln.dash, ln.series = s.Dashed, series
		l.add(ln)
	}
	if !s.Bare {
		g := sign(s.Shape, mid, y, radius)
		g.fill, g.series = s.Ink, series
		l.add(g)
	}
}

// panels shares the height among the panels. All have the same left edge.
func (l *layout) panels(c *Chart, b box) {
	scales := make([][2]scale, len(c.Panels))
	left, total := 0.0, 0.0
	for i := range c.Panels {
		p := &c.Panels[i]
		total += share(p)
		xs, ys := extents(p)
		scales[i] = [2]scale{newScale(p.X, xs, int(b.w()/80)), newScale(p.Y, ys, 6)}
		for _, t := range scales[i][1].ticks {
			left = max(left, l.room(t.Label, smallSize, false))
		}
	}
	b.x0 += min(left, 180) + labelSize + 3*gap
	y := b.y0
	for i := range c.Panels {
		h := b.h() * share(&c.Panels[i]) / total
		pl := &panel{l, &c.Panels[i], box{b.x0, y + gap, b.x1 - gap, y + h - c.Panels[i].low()}, scales[i][0], scales[i][1]}
		pl.draw()
		y += h
	}
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
			e.take(q.Y)
		}
	}
	if p.Y.Log {
		return e.lo / 10, e.hi * 10
	}
	e.take(0)
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
			x.take(q.X)
			y.take(q.Y)
			if interval(&q) {
				y.take(max(q.Low, lowest))
				y.take(min(q.High, highest))
			}
		}
		for _, r := range p.Series[i].Rects {
			x.take(r.X0)
			x.take(r.X1)
			y.take(r.Y0)
			y.take(r.Y1)
		}
	}
	for _, m := range p.Marks {
		if e := map[bool]*extent{true: &x, false: &y}[m.Vertical]; !m.Vertical || !e.empty() {
			e.take(m.At)
			e.take(m.To)
		}
	}
	for _, t := range p.X.Ticks {
		x.take(t.At)
	}
	return x, y
}
