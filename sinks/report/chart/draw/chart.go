// Package draw turns a chart, which is data, into a picture. In goes a Chart;
// out come SVG (themable, with a title on every point, readable without a
// script) and PNG. The same chart gives the same bytes. The package knows
// nothing of benchmarks and does no I/O.
//
// The steps: layout places everything and gives a list of shapes; svg.go and
// png.go paint them.
package draw

import "math"

// Chart is one picture before it is one: what is shown, and what stands around.
type Chart struct {
	ID       string // ttft-vs-load
	Title    string
	Question string // what the reader wants to know
	Panels   []Panel
	Footer   string // n, trials, window, verdict, version, plan
	// Missing says why the chart cannot be drawn and what would give it; there
	// are no panels then.
	Missing string
}

// Panel is one coordinate system. Panels stand one below the other.
type Panel struct {
	X, Y   Axis
	Series []Series
	Rows   []Row // in place of series: one thing a line, its value along X
	Marks  []Mark
	Height float64 // share of the chart's height relative to other panels; 0 is 1
}

// Axis is one direction of a panel.
type Axis struct {
	Label string   // with its unit: TTFT (ms)
	Notes []string // stand behind the label, as many as there is room for
	Log   bool
	Zero  bool   // begin at 0 whatever the values are; not for Log
	Wide  bool   // logarithmic where the values span more than a factor of 20
	Ticks []Tick // for names in place of numbers; nil: chosen
	Names bool   // Ticks are things one apart, not places of a scale: each has as much room
	Whole bool   // of counts: no ticks between whole numbers
	// Least is the smallest range of the axis as a share of its largest value: values that
	// hardly differ do not look as if they did. Reach is a value that the axis reaches at least.
	Least, Reach float64
}

// Tick is a labelled place of an axis.
type Tick struct {
	At    float64
	Label string
	Group string // what neighbours have in common: it stands once below all of them
}

// Ink is a colour by what it is for; the theme says which one it is.
type Ink string

// The inks. Series take S1 to S8 in turn.
const (
	Text  Ink = "text"
	Muted Ink = "muted"
	Grid  Ink = "grid"
	Paper Ink = "paper"
	Good  Ink = "good"
	Warn  Ink = "warn"
	Bad   Ink = "bad"
	S1    Ink = "s1"
	S2    Ink = "s2"
	S3    Ink = "s3"
	S4    Ink = "s4"
	S5    Ink = "s5"
	S6    Ink = "s6"
	S7    Ink = "s7"
	S8    Ink = "s8"
)

var seriesInks = []Ink{S1, S2, S3, S4, S5, S6, S7, S8}

// hues is how many colours tell series apart; more would be a rainbow, in which no one
// finds a line again. Dashes and shapes tell the others apart.
const hues = 4

// Nth is the ink of series i.
func Nth(i int) Ink { return seriesInks[i%hues] }

// The dashes of lines.
const (
	Solid = iota
	Dashed
	Dotted
	DashDotted
)

// dashPatterns are the lengths of strokes and gaps in pixels, in turn.
var dashPatterns = [...][]float64{nil, {6, 4}, {1.5, 3.5}, {9, 3, 2, 3}}

// Series is what belongs together: its points have one colour and one shape,
// and a line when Line is set.
type Series struct {
	Name   string // in the legend; "" is not listed
	Silent bool   // not in the legend either: others there say what its ink and dash mean
	Ink    Ink
	Shape  int  // of the points: 0 circle, 1 square, 2 triangle, 3 diamond, 4 cross
	Line   bool // points are joined, in their order
	Dash   int  // Solid, Dashed, Dotted, DashDotted, and again
	Bare   bool // no glyphs, only the line
	Ribbon bool // the intervals are a band behind the line, not whiskers
	With   int  // a number, from 1, that series have in common which a reader shows and hides together; 0: its own
	Points []Point
	Rects  []Rect
}

// Point is a value with its interval. NaN in Y is a gap in the line.
type Point struct {
	X, Y      float64
	Low, High float64 // NaN both: no interval
	// Hollow says that the value is not supported by its number of samples.
	Hollow bool
	// Taint says which check makes the value doubtful; such a point is ringed.
	Taint string
	Title string // what a reader sees on pointing at it
	Link  string // anchor in the page, "" for none
	Label string // stands beside the point where there is room
	Above bool   // it is not hidden by points of other series
}

// At is a point without an interval.
func At(x, y float64, title string) Point {
	return Point{X: x, Y: y, Low: math.NaN(), High: math.NaN(), Title: title}
}

// Row is a line of a panel that lists things.
type Row struct {
	Margin           float64 // how far around 0 a value says nothing; the place is shaded
	Name, Said       string  // at the left and at the right of the value
	Value, Low, High float64 // NaN for none
	Ink              Ink
	Hollow           bool
	Title            string
	Heading          bool // names what the next rows are of
}

// Rect is a filled rectangle in the panel's coordinates.
type Rect struct {
	X0, X1, Y0, Y1 float64
	Ink            Ink      // "" is the series' own
	Shade          float64  // opacity, 0 means 1
	At             *float64 // where on the x axis a bar stands whose width says nothing
	Title          string
}

// Mark is a line across the panel, or a shaded band when To differs from At.
type Mark struct {
	Vertical bool // at an x, else at a y
	At, To   float64
	Label    string
	Ink      Ink
}
