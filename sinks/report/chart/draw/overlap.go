package draw

import "fmt"

// Overlaps says which words of the picture of c lie on other words, on a line, on a sign
// or a bar, or beyond its edge. There are none of a picture that can be read.
func Overlaps(c *Chart, size Size) (out []string) {
	const touch = 0.5 // pixels that boxes of letters may share
	r := newRuler()
	shapes := place(c, size)
	for i := range shapes {
		s := &shapes[i]
		if s.kind != textKind || s.text == "" {
			continue
		}
		b := r.boxOf(s)
		b = box{b.x0 + touch, b.y0 + touch, b.x1 - touch, b.y1 - touch}
		if b.x0 < 0 || b.y0 < 0 || b.x1 > size.W || b.y1 > size.H {
			out = append(out, fmt.Sprintf("%q is cut by the edge of the picture", s.text))
		}
		for k := range shapes {
			if k != i && r.under(&shapes[k], b, shapes[min(k+1, i):i]) {
				out = append(out, fmt.Sprintf("%q lies on %s", s.text, shapes[k].called()))
			}
		}
	}
	return out
}

// under reports whether s has a part in b that is seen: what is painted between s and the
// words, which are painted after it, may cover it with paper.
func (r *ruler) under(s *shape, b box, between []shape) bool {
	for i := range between {
		if c := &between[i]; c.kind == areaKind && c.fill == Paper && c.stroke == "" && len(c.points) == 4 {
			if k := around(c.points); k.x0 <= b.x0 && k.y0 <= b.y0 && k.x1 >= b.x1 && k.y1 >= b.y1 {
				return false
			}
		}
	}
	if s.clip != nil {
		b = box{max(b.x0, s.clip.x0), max(b.y0, s.clip.y0), min(b.x1, s.clip.x1), min(b.y1, s.clip.y1)}
		if b.x0 >= b.x1 || b.y0 >= b.y1 {
			return false
		}
	}
	switch {
	case s.kind == textKind:
		return s.text != "" && r.boxOf(s).meets(b)
	case s.kind == areaKind:
		return s.fill != Paper && (s.shade == 0 || s.shade > 0.4) && around(s.points).meets(b)
	}
	for k := 1; k < len(s.points); k++ {
		if b.crossed(s.points[k-1], s.points[k]) {
			return true
		}
	}
	return false
}

// called is a shape in words.
func (s *shape) called() string {
	switch {
	case s.kind == textKind:
		return fmt.Sprintf("%q", s.text)
	case s.kind == areaKind:
		return fmt.Sprintf("a sign or a bar (%s)", s.title)
	}
	return fmt.Sprintf("a line of the %s", s.stroke)
}
