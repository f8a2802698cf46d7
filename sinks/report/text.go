package report

import (
	"fmt"
	"math"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
)

// widest is how many times its lower end the upper end of an interval may be: one that
// is wider says only that trials are too few.
const widest = 10

// wideMark stands in place of such an interval; the legend says what it means.
const wideMark = "?"

// estimate is mean ± half-width, each to its own place, see placeOf.
func estimate(e stats.Estimate, percent bool) string {
	return estimateAt(e, percent, placeOf(e, percent))
}

// placeOf is the decimal place that an estimate is rounded to: that of the half-width's
// first digit (second below 2), as far as two to three digits of the mean go; the third
// digit of the mean where there is no ±.
func placeOf(e stats.Estimate, percent bool) int {
	mean, half := inUnits(e, percent)
	first := 0
	if a := math.Abs(mean); a > 0 && !math.IsInf(a, 0) {
		third := int(math.Floor(math.Log10(a))) - 2
		first = int(math.Floor(math.Log10(a + math.Pow10(third)/2))) // 0.9999 has the digits of 1.00
	}
	if !symmetric(e, percent) {
		return first - 2
	}
	place := int(math.Floor(math.Log10(half)))
	if half/math.Pow10(place) < 2 {
		place--
	}
	if mean == 0 {
		return place
	}
	return min(max(place, first-2), first-1) // never finer than three digits of the mean, never coarser than two
}

func inUnits(e stats.Estimate, percent bool) (mean, half float64) {
	if percent {
		return 100 * e.Mean, 100 * e.Half()
	}
	return e.Mean, e.Half()
}

// symmetric tells whether an estimate has an interval that ± can say. It never says
// ± 0, which would claim that nothing is left to know.
func symmetric(e stats.Estimate, percent bool) bool {
	low, high := e.Mean-e.Low, e.High-e.Mean
	return e.HasInterval() && !exact(e) && !tooWide(e) && max(low, high) <= 1.25*min(low, high) && !beyond(e, percent)
}

// exact tells whether the interval has no width.
func exact(e stats.Estimate) bool {
	half := e.Half()
	return math.IsNaN(half) || half == 0 || half < 1e-9*math.Abs(e.Mean)
}

func tooWide(e stats.Estimate) bool {
	return e.Low > 0 && e.High > widest*e.Low
}

// estimateAt is an estimate rounded to a decimal place. A half-width that would round to
// nothing is one of that place.
func estimateAt(e stats.Estimate, percent bool, place int) string {
	mean, half := inUnits(e, percent)
	switch {
	case math.IsNaN(mean) || math.IsInf(mean, 0):
		return words.Number(mean)
	case !e.HasInterval() || exact(e):
		return words.At(mean, place)
	case tooWide(e):
		return words.At(mean, place) + " " + wideMark
	case !symmetric(e, percent):
		return lopsided(e, percent, place)
	}
	return words.At(mean, place) + " ± " + words.At(max(half, math.Pow10(place)), place)
}

// column are the estimates of one column with the same decimals: as many as the one that
// needs most has, as far as the largest keeps to three digits. Where they differ by a
// factor of ten and more, and where a place is before the point, each has its own.
func column(es []stats.Estimate, percent bool) []string {
	least, most, finest := math.Inf(1), 0.0, math.MaxInt
	for _, e := range es {
		mean, _ := inUnits(e, percent)
		if a := math.Abs(mean); a > 0 && !math.IsInf(a, 0) {
			least, most, finest = min(least, a), max(most, a), min(finest, placeOf(e, percent))
		}
	}
	common := 0
	if most > 0 {
		common = min(max(finest, int(math.Floor(math.Log10(most)))-2), 0)
	}
	var out []string
	for _, e := range es {
		place := placeOf(e, percent)
		if most < 10*least && place <= 0 {
			place = common
		}
		out = append(out, estimateAt(e, percent, place))
	}
	return out
}

// beyond tells whether mean ± half-width would leave what can be, though the
// interval does not: below 0, or above 100 %.
func beyond(e stats.Estimate, percent bool) bool {
	return e.Low >= 0 && e.Mean-e.Half() < 0 || percent && e.High <= 1 && e.Mean+e.Half() > 1
}

// lopsided is an estimate whose interval reaches farther to one side: its ends
// are written, for ± would go beyond what can be.
func lopsided(e stats.Estimate, percent bool, place int) string {
	by := 1.0
	if percent {
		by = 100
	}
	end := func(v float64) string {
		if v *= by; percent || math.Abs(v) < math.Pow10(place+1) { // one near 0, or near 100 %, keeps its own digits
			return words.Number(v)
		}
		return words.At(v, place)
	}
	return fmt.Sprintf("%s [%s, %s]", words.At(by*e.Mean, place), end(e.Low), end(e.High))
}
