package draw

import (
	"math"
	"strconv"
	"strings"
)

// scale maps values of an axis to 0..1.
type scale struct {
	lo, hi float64 // in transformed units
	fn     func(float64) float64
	ticks  []Tick
}

func (s *scale) at(v float64) float64 {
	x := s.fn(v)
	if s.hi == s.lo {
		return 0.5
	}
	const beyond = 10 // what lies far outside keeps coordinates that can be written
	return min(max((x-s.lo)/(s.hi-s.lo), -beyond), beyond)
}

func (s *scale) holds(v float64) bool {
	const slack = 1e-9
	x := s.at(v)
	return x >= -slack && x <= 1+slack
}

// extent is the range of the values of an axis.
type extent struct{ lo, hi float64 }

func newExtent() extent { return extent{math.Inf(1), math.Inf(-1)} }

func (e *extent) include(v float64) {
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		e.lo, e.hi = min(e.lo, v), max(e.hi, v)
	}
}

func (e extent) empty() bool { return e.lo > e.hi }

// wideSpan is the factor between values from which on a linear axis hides the small ones.
const wideSpan = 20

// settled is the axis as it is drawn over such values.
func (a Axis) settled(e extent) Axis {
	if !a.Wide || a.Log || e.empty() || !(e.lo > 0) || e.hi <= wideSpan*e.lo {
		return a
	}
	a.Log, a.Zero, a.Reach = true, false, 0
	if head, ok := strings.CutSuffix(a.Label, ")"); ok {
		a.Label = head + ", log)"
	} else if a.Label != "" {
		a.Label += " (log)"
	}
	return a
}

// newScale chooses range and ticks. most is about how many ticks fit.
func newScale(a Axis, e extent, most int) scale {
	switch {
	case e.empty():
		e = extent{0, 1}
	case a.Log && e.hi > 0:
		return logScale(a, e, most)
	}
	if a.Zero {
		e.include(0)
	}
	if a.Reach > 0 {
		e.include(a.Reach)
	}
	if lack := a.Least*max(math.Abs(e.lo), math.Abs(e.hi)) - (e.hi - e.lo); lack > 0 {
		e.lo, e.hi = e.lo-lack/2, e.hi+lack/2
	}
	return linearScale(a, e, most)
}

// fewestNames is how many names an axis has room for, at least.
const fewestNames = 3

func linearScale(a Axis, e extent, most int) scale {
	s := scale{fn: func(v float64) float64 { return v }}
	if a.Names && len(a.Ticks) > 0 {
		pad := max(0.5, (fewestNames-float64(len(a.Ticks))+1)/2) // one bar does not fill the picture
		e.include(a.Ticks[0].At - pad)
		e.include(a.Ticks[len(a.Ticks)-1].At + pad)
		s.lo, s.hi, s.ticks = e.lo, e.hi, a.Ticks
		return s
	}
	if e.lo == 0 && e.hi == 0 && a.Ticks == nil { // nothing happened: what would be 1 is the measure
		e.hi, a.Zero = 1, true
	}
	if e.hi == e.lo {
		pad := max(math.Abs(e.hi)*0.1, 1e-9)
		if a.Ticks != nil {
			pad = 0.5
		}
		e.lo, e.hi = e.lo-pad, e.hi+pad
	}
	if a.Ticks != nil {
		pad := (e.hi - e.lo) * 0.04
		s.lo, s.hi, s.ticks = e.lo-pad, e.hi+pad, a.Ticks
		return s
	}
	air := (e.hi - e.lo) * 0.04
	s.lo, s.hi = e.lo-air, e.hi+air
	if a.Zero && e.lo >= 0 {
		s.lo = 0
	}
	for most = max(most, 2); len(s.ticks) < 2 && most < 20; most *= 2 { // one number is no scale
		step := niceStep((e.hi - e.lo) / float64(most))
		if a.Whole {
			step = max(step, 1)
		}
		s.ticks = s.ticks[:0]
		for i := math.Ceil(s.lo/step - 1e-9); i*step <= s.hi; i++ {
			s.ticks = append(s.ticks, Tick{At: i * step, Label: number(i * step)})
		}
	}
	return s
}

// niceStep is 1, 2 or 5 times a power of ten, at least x.
func niceStep(x float64) float64 {
	p := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*p >= x*(1-1e-9) {
			return m * p
		}
	}
	return 10 * p
}

func logScale(a Axis, e extent, most int) scale {
	s := scale{fn: func(v float64) float64 {
		if v <= 0 { // has no place on a logarithmic axis: below everything
			return -math.MaxFloat64
		}
		return math.Log10(v)
	}}
	if e.lo <= 0 {
		e.lo = e.hi / 1000
	}
	lo, hi := math.Log10(e.lo), math.Log10(e.hi)
	if hi-lo < 0.3 { // less than a factor of two: give it air
		mid := (lo + hi) / 2
		lo, hi = mid-0.15, mid+0.15
	}
	pad := (hi - lo) * 0.04
	s.lo, s.hi = lo-pad, hi+pad
	if a.Ticks != nil {
		s.ticks = a.Ticks
		return s
	}
	for _, ms := range [][]float64{{1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 2, 5}, {1, 3}, {1}} {
		s.ticks = s.ticks[:0]
		for d := math.Floor(s.lo); d <= s.hi; d++ {
			for _, m := range ms {
				if v := m * math.Pow(10, d); s.holds(v) {
					s.ticks = append(s.ticks, Tick{At: v, Label: number(v)})
				}
			}
		}
		if len(s.ticks) <= most+2 {
			break
		}
	}
	return s
}

// number is v as an axis shows it: at most four significant digits, tens of thousands
// as k, without needless zeros, with the sign and the comma of the tables.
func number(v float64) string {
	if v < 0 {
		return "−" + number(-v)
	}
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return "–"
	case a < 1e-12:
		return "0"
	case a >= 999_950_000:
		return strconv.FormatFloat(v/1e9, 'g', 4, 64) + "G"
	case a >= 999_950:
		return strconv.FormatFloat(v/1e6, 'g', 4, 64) + "M"
	case a >= 10_000:
		return strconv.FormatFloat(v/1e3, 'g', 4, 64) + "k"
	case a < 1e-4:
		return strconv.FormatFloat(v, 'e', 1, 64)
	}
	text := strconv.FormatFloat(round(v, 4), 'f', -1, 64)
	if v >= 1000 {
		text = text[:1] + "," + text[1:]
	}
	return text
}

// round keeps n significant digits.
func round(v float64, n int) float64 {
	p := math.Pow(10, float64(n-1)-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*p) / p
}
