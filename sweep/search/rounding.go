package search

import (
	"fmt"
	"math"
)

// near reports whether a gap is as narrow as was asked, or as whole numbers allow.
func (s *state) near(low, high float64) bool {
	return high/low <= 1+s.Resolution || s.Whole && math.Abs(s.face(high)-s.face(low)) <= 1
}

// middle is the geometric middle of a gap; false where the gap is narrow enough.
func (s *state) middle(low, high float64) (float64, bool) {
	if s.near(low, high) {
		return 0, false
	}
	mid := s.face(s.round(math.Sqrt(low * high)))
	if s.Whole {
		least, most := min(s.face(low), s.face(high)), max(s.face(low), s.face(high))
		mid = min(max(mid, least+1), most-1)
	}
	mid = s.mirror(mid)
	return mid, mid > low && mid < high
}

// round makes a load one that can be probed: whole, or of four digits.
func (s *state) round(load float64) float64 { return s.mirror(s.canonical(s.mirror(load))) }

// canonical is a load that can be probed, as a person sees it.
func (s *state) canonical(load float64) float64 {
	for _, end := range []float64{s.Low, s.High} {
		if math.Abs(load/end-1) < 1e-9 {
			return end
		}
	}
	if s.Whole {
		return math.Round(load)
	}
	unit := math.Pow(10, math.Floor(math.Log10(load))-3)
	if unit < 1 { // a power of ten below 1 is not exact, its inverse is
		return math.Round(load/unit) / math.Round(1/unit)
	}
	return math.Round(load/unit) * unit
}

func number(load float64) string { return fmt.Sprintf("%.4g", load) }
