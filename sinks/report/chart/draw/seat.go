package draw

import (
	"math"
	"slices"
)

// crowd is what words must not lie on.
type crowd struct {
	boxes []box
	lines [][2]xy
}

// crowdOf is what the shapes take: words, lines, signs, bars. The grid and soft areas
// are a ground that words may stand on.
func (r *ruler) crowdOf(shapes []shape) *crowd {
	const soft = 0.4
	c := &crowd{}
	for i := range shapes {
		switch s := &shapes[i]; {
		case s.kind == textKind:
			c.boxes = append(c.boxes, r.boxOf(s))
		case s.kind == areaKind && (s.shade == 0 || s.shade > soft):
			c.boxes = append(c.boxes, around(s.points))
		case s.kind == pathKind && s.stroke != Grid:
			for k := 1; k < len(s.points); k++ {
				c.lines = append(c.lines, [2]xy{s.points[k-1], s.points[k]})
			}
		}
	}
	return c
}

// free reports whether nothing is in b.
func (c *crowd) free(b box) bool {
	return !slices.ContainsFunc(c.boxes, b.meets) && !slices.ContainsFunc(c.lines,
		func(l [2]xy) bool { return b.crossed(l[0], l[1]) })
}

// around is the smallest box of some points.
func around(pts []xy) box {
	b := box{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, p := range pts {
		b = box{min(b.x0, p.x), min(b.y0, p.y), max(b.x1, p.x), max(b.y1, p.y)}
	}
	return b
}

// crossed reports whether a line between two points has a part in b (Liang and Barsky).
func (b box) crossed(p, q xy) bool {
	from, to := 0.0, 1.0
	dx, dy := q.x-p.x, q.y-p.y
	for _, e := range [...][2]float64{{-dx, p.x - b.x0}, {dx, b.x1 - p.x}, {-dy, p.y - b.y0}, {dy, b.y1 - p.y}} {
		switch {
		case e[0] == 0 && e[1] < 0:
			return false
		case e[0] < 0:
			from = max(from, e[1]/e[0])
		case e[0] > 0:
			to = min(to, e[1]/e[0])
		}
	}
	return from <= to
}

// Parts of a line of text above and below the line that its letters stand on.
const ascent, descent = 0.8, 0.22

// boxOf is what a text takes.
func (r *ruler) boxOf(s *shape) box {
	p, w := s.points[0], r.width(s.text, s.size, s.bold)
	back := map[string]float64{"middle": w / 2, "end": w}[s.anchor]
	if s.turned {
		return box{p.x - ascent*s.size, p.y + back - w, p.x + descent*s.size, p.y + back}
	}
	return box{p.x - back, p.y - ascent*s.size, p.x - back + w, p.y + descent*s.size}
}

// seat writes small words at the first of the places (the left ends of their line)
// that is free and inside the panel: if there is one, at one without a line of the grid.
func (p *panel) seat(text string, ink Ink, places []xy, taken *crowd) bool {
	w := p.room(text, smallSize, false)
	for _, grid := range []bool{false, true} {
		for _, at := range places {
			b := box{at.x - 1, at.y - ascent*smallSize - 1, at.x + w + 1, at.y + descent*smallSize + 1}
			if b.x0 < p.b.x0 || b.x1 > p.b.x1+gap || b.y0 < p.b.y0-gap || b.y1 > p.b.y1 || !taken.free(b) || !grid &&
				p.onGrid(b) {
				continue
			}
			if grid {
				p.add(rectangle(Paper, b)) // the line of the grid ends at the words
			}
			taken.boxes = append(taken.boxes, b)
			p.add(words(text, ink, smallSize, at.x, at.y, "start"))
			return true
		}
	}
	return false
}

// onGrid reports whether a line of the grid goes through b.
func (p *panel) onGrid(b box) bool {
	return slices.ContainsFunc(p.y.ticks, func(t Tick) bool {
		y := p.py(t.At)
		return p.y.holds(t.At) && y > b.y0 &&
			y < b.y1
	})
}

// markLabels writes the words of the marks beside them; false where one has no place.
func (p *panel) markLabels(taken *crowd) bool {
	for _, m := range p.p.Marks {
		if m.Label == "" {
			continue
		}
		ink := inkOr(m.Ink, Bad)
		if m.band() {
			ink = inkOr(m.Ink, Muted)
		}
		if !p.seat(m.Label, ink, p.besides(&m), taken) {
			return false
		}
	}
	return true
}

// besides are the places beside a mark, the best first.
func (p *panel) besides(m *Mark) (places []xy) {
	const steps, off = 8, 8 // places, and pixels between a line and its words
	w := p.room(m.Label, smallSize, false)
	if !m.Vertical {
		y := p.py(max(m.At, m.To))
		for k := range steps + 1 {
			x := p.b.x0 + 4 + float64(k)/steps*(p.b.w()-w-8)
			places = append(places, xy{x, y - 5}, xy{x, y + smallSize + 3})
		}
		return places
	}
	for k := range steps {
		y := p.b.y0 + smallSize + 2 + float64(k)*(smallSize+4)
		places = append(places, xy{max(p.px(m.At), p.b.x0) + off, y}, xy{p.px(m.At) - off - w, y})
		if m.band() {
			places[len(places)-1] = xy{min(p.px(m.To), p.b.x1) - off - w, y}
		}
	}
	return places
}

// strip writes the words of the marks into lines above the panel, each behind a sample of
// its mark, and gives the panel's new top.
func (p *panel) strip() float64 {
	x, y := p.b.x0, p.b.y0+smallSize
	for _, m := range p.p.Marks {
		if m.Label == "" {
			continue
		}
		label := p.cut(m.Label, smallSize, p.b.w()-30)
		w := 28 + p.room(label, smallSize, false) + 14
		if x > p.b.x0 && x+w > p.b.x1 {
			x, y = p.b.x0, y+legendStep
		}
		ink := inkOr(m.Ink, Bad)
		if m.band() {
			r := rectangle(inkOr(m.Ink, Grid), box{x, y - 8, x + 22, y})
			r.shade = bandShade
			p.add(r)
			ink = inkOr(m.Ink, Muted)
		} else {
			s := line(ink, 1.5, xy{x, y - 4}, xy{x + 22, y - 4})
			s.dash = Dashed
			p.add(s)
		}
		p.add(words(label, ink, smallSize, x+28, y, "start"))
		x += w
	}
	return y + gap
}

// apart is how many pixels lie between two points that have the same words.
const apart = 40

// labels stand beside their points; one for which there is no room is left out, and one
// that says the same as that of a point beside it.
func (p *panel) labels(taken *crowd) {
	said := map[string][]xy{}
	for i := range p.p.Series {
		for _, q := range p.p.Series[i].Points {
			if q.Label == "" || !finite(q.X) || !finite(q.Y) {
				continue
			}
			x, y, w := p.px(q.X), p.py(q.Y), p.room(q.Label, smallSize, false)
			if slices.ContainsFunc(said[q.Label], func(at xy) bool { return math.Hypot(at.x-x, at.y-y) < apart }) {
				continue
			}
			var places []xy
			for _, d := range []float64{8, 15, 24} {
				places = append(places, xy{x + d, y - d/2}, xy{x + d, y + d/2 + smallSize/2},
					xy{x - d - w, y - d/2}, xy{x - d - w, y + d/2 + smallSize/2},
					xy{x - w/2, y - d}, xy{x - w/2, y + d + smallSize*0.6})
			}
			if p.seat(q.Label, Muted, places, taken) {
				said[q.Label] = append(said[q.Label], xy{x, y})
			}
		}
	}
}
