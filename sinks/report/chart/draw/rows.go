package draw

import "math"

const (
	rowStep     = 22.0
	headingStep = 26.0
	narrowStep  = 38.0 // of a row whose words stand above its value
)

// columns are what the words of rows take at the left and at the right. Where too
// little would be left for the values, the words stand above them.
func (l *layout) columns(p *Panel, width float64) (left, right float64, above bool) {
	for i := range p.Rows {
		r := &p.Rows[i]
		right = max(right, l.room(r.Said, labelSize, false)+2*gap)
		if !r.Heading {
			left = max(left, l.room(r.Name, labelSize, false)+2*gap)
		}
	}
	if left+right > 0.65*width {
		return 0, 0, true
	}
	return left, right, false
}

// rowsHeight is what a panel of rows needs, its axis included.
func (l *layout) rowsHeight(p *Panel, width float64) float64 {
	h := smallSize + labelSize + 5*gap
	_, _, above := l.columns(p, width)
	for i := range p.Rows {
		h += step(&p.Rows[i], above)
	}
	return h
}

func step(r *Row, above bool) float64 {
	switch {
	case r.Heading:
		return headingStep
	case above:
		return narrowStep
	}
	return rowStep
}

// rows draws a panel that lists things: the name of each, its value with its interval
// along one axis, and the value in words.
func (l *layout) rows(p *Panel, b box) {
	left, right, above := l.columns(p, b.w())
	x := newScale(p.X, rowsExtent(p), int((b.w()-left-right)/80))
	pl := &panel{layout: l, p: &Panel{X: p.X}, x: x, b: box{b.x0 + left + gap, b.y0, b.x1 - right - gap, b.y1}}
	pl.u = pl.below(pl.b.w(), false)
	pl.b.y1 -= pl.u.height
	y := b.y0
	for i := range p.Rows { // behind the words of all of them
		h := step(&p.Rows[i], above)
		if !above {
			pl.margin(p.Rows, i, y, y+h)
		}
		y += h
	}
	if !above {
		pl.ground(p.Marks, pl.b.y0, pl.b.y1)
	}
	pl.xAxis()
	y = b.y0
	for i := range p.Rows {
		r := &p.Rows[i]
		h := step(r, above)
		base := y + h/2 + labelSize*0.35
		if above && !r.Heading {
			base = y + labelSize + 2
		}
		pl.behind(l.row(r, b, base, left, right, above))
		if !r.Heading {
			at := y + h/2
			if above { // no mark goes through words
				at = y + h - 9
				pl.margin(p.Rows, i, at-8, y+h)
				pl.ground(p.Marks, at-8, y+h)
			}
			pl.value(r, at, i+1)
		}
		y += h
	}
}

// margin shades the place around 0 in which the value of row i says nothing, under a heading
// that of the row below it.
func (p *panel) margin(rows []Row, i int, top, bottom float64) {
	m := rows[i].Margin
	if rows[i].Heading && i+1 < len(rows) {
		m = rows[i+1].Margin
	}
	if m > 0 {
		r := p.in(rectangle(Grid, box{p.px(-m), top, p.px(m), bottom}))
		r.shade = bandShade
		p.add(r)
	}
}

// ground draws the marks behind values, from one height to another.
func (p *panel) ground(marks []Mark, top, bottom float64) {
	for _, m := range marks {
		if m.band() {
			r := p.in(rectangle(inkOr(m.Ink, Grid), box{p.px(m.At), top, p.px(m.To), bottom}))
			r.shade = bandShade
			p.add(r)
		} else {
			p.add(p.in(line(inkOr(m.Ink, Muted), 1, xy{p.px(m.At), top}, xy{p.px(m.At), bottom})))
		}
	}
}

// row writes the words of a row, and gives them.
func (l *layout) row(r *Row, b box, y, left, right float64, above bool) []shape {
	said := words(r.Said, Text, labelSize, b.x1, y, "end")
	if r.Heading {
		said.fill, said.size = Muted, smallSize
	}
	room := left - gap
	if above || r.Heading {
		room = b.w() - l.room(r.Said, labelSize, false) - 2*gap
	}
	name := words(l.middle(r.Name, labelSize, room), Muted, labelSize, b.x0, y, "start")
	if r.Heading {
		name.fill, name.bold = Text, true
	}
	return []shape{name, said}
}

// behind writes words where lines of the panel may go through: these end there.
func (p *panel) behind(list []shape) {
	for i := range list {
		if list[i].text == "" {
			continue
		}
		b := p.boxOf(&list[i])
		if wide := (box{b.x0 - 3, b.y0 - 1, b.x1 + 3, b.y1 + 1}); wide.meets(p.b) {
			p.add(rectangle(Paper, wide))
		}
		p.add(list[i])
	}
}

// value is the sign of a row and its interval.
func (p *panel) value(r *Row, y float64, n int) {
	if !finite(r.Value) {
		return
	}
	if finite(r.Low) && finite(r.High) {
		for _, s := range []shape{
			line(r.Ink, 2, xy{p.px(r.Low), y}, xy{p.px(r.High), y}),
			line(r.Ink, 2, xy{p.px(r.Low), y - 4}, xy{p.px(r.Low), y + 4}),
			line(r.Ink, 2, xy{p.px(r.High), y - 4}, xy{p.px(r.High), y + 4}),
		} {
			s.series = n
			p.add(p.in(s))
		}
	}
	d := dot(p.px(r.Value), y, radius+1)
	d.fill, d.stroke, d.width, d.title, d.series = r.Ink, r.Ink, 1.4, r.Title, n
	if r.Hollow {
		d.fill = Paper
	}
	p.add(p.in(d))
}

// rowsExtent is the range of the rows. An interval that dwarfs the values runs out of
// the picture; its ends stand in the words.
func rowsExtent(p *Panel) extent {
	values, e := newExtent(), newExtent()
	for _, r := range p.Rows {
		if finite(r.Value) && !r.Heading {
			values.include(r.Value)
		}
	}
	for _, m := range p.Marks {
		values.include(m.At)
		values.include(m.To)
	}
	for _, r := range p.Rows {
		values.include(-r.Margin)
		values.include(r.Margin)
	}
	most := 2 * math.Max(values.hi-values.lo, 1e-9)
	e.include(values.lo)
	e.include(values.hi)
	for _, r := range p.Rows {
		if finite(r.Low) && finite(r.High) && !r.Heading {
			e.include(max(r.Low, values.lo-most))
			e.include(min(r.High, values.hi+most))
		}
	}
	return e
}
