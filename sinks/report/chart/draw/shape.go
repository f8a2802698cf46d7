package draw

// shape is one thing to paint, in pixels, y downwards.
type shape struct {
	kind   shapeKind
	points []xy
	round  float64 // the points are a circle of this radius, the first one its right end
	fill   Ink     // "" is none
	stroke Ink
	shade  float64 // opacity of the fill, 0 means 1
	width  float64 // of the stroke
	dash   int     // one of dashPatterns
	clip   *box
	title  string
	link   string
	series int // from 1; 0 belongs to none

	text   string
	size   float64
	bold   bool
	anchor string // start, middle, end
	turned bool   // a quarter turn to the left
}

type shapeKind uint8

const (
	pathKind shapeKind = iota // open
	areaKind                  // closed
	textKind
)

type xy struct{ x, y float64 }

type box struct{ x0, y0, x1, y1 float64 }

func (b box) w() float64 { return b.x1 - b.x0 }
func (b box) h() float64 { return b.y1 - b.y0 }

// meets reports whether two boxes have something in common.
func (b box) meets(c box) bool { return b.x0 < c.x1 && c.x0 < b.x1 && b.y0 < c.y1 && c.y0 < b.y1 }

func line(ink Ink, width float64, pts ...xy) shape {
	return shape{kind: pathKind, points: pts, stroke: ink, width: width}
}

func rectangle(ink Ink, b box) shape {
	return shape{kind: areaKind, fill: ink, points: []xy{{b.x0, b.y0}, {b.x1, b.y0}, {b.x1, b.y1}, {b.x0, b.y1}}}
}

func words(s string, ink Ink, size, x, y float64, anchor string) shape {
	return shape{kind: textKind, text: s, fill: ink, size: size, points: []xy{{x, y}}, anchor: anchor}
}

// dot is a circle.
func dot(x, y, r float64) shape {
	return shape{kind: areaKind, points: circle(x, y, r), round: r}
}

// sign is the sign of a point.
func sign(kind int, x, y, r float64) shape {
	if kind%5 == 0 {
		return dot(x, y, r)
	}
	return shape{kind: areaKind, points: glyph(kind, x, y, r)}
}

// glyph is the sign of a point: its outline around (x, y).
func glyph(kind int, x, y, r float64) []xy {
	switch kind % 5 {
	default:
		return circle(x, y, r)
	case 1:
		r *= 0.9
		return []xy{{x - r, y - r}, {x + r, y - r}, {x + r, y + r}, {x - r, y + r}}
	case 2:
		return []xy{{x, y - 1.2*r}, {x + 1.1*r, y + 0.8*r}, {x - 1.1*r, y + 0.8*r}}
	case 3:
		r *= 1.25
		return []xy{{x, y - r}, {x + r, y}, {x, y + r}, {x - r, y}}
	case 4:
		a, b := r*1.2, r*0.4
		return []xy{
			{x - b, y - a},
			{x + b, y - a},
			{x + b, y - b},
			{x + a, y - b},
			{x + a, y + b},
			{x + b, y + b},
			{x + b, y + a},
			{x - b, y + a},
			{x - b, y + b},
			{x - a, y + b},
			{x - a, y - b},
			{x - b, y - b},
		}
	}
}
