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

// estimate is mean ± half-width, both to the place of the half-width's first
// digit (second below 2), as far as two to three digits of the mean go. A
// half-width that would round to nothing is one of the last place: only an
// interval without width reads ± 0.
func estimate(e stats.Estimate, percent bool) string {
	mean, half := e.Mean, e.Half()
	if percent {
		mean, half = 100*mean, 100*half
	}
	if !e.HasInterval() || math.IsNaN(half) {
		return words.Number(mean)
	}
	if half < 1e-9*math.Abs(mean) || half == 0 {
		return words.Number(mean) // never ± 0: that would claim that nothing is left to know
	}
	if !percent && e.Low > 0 && e.High > widest*e.Low {
		return words.Number(mean) + " " + wideMark
	}
	if low, high := e.Mean-e.Low, e.High-e.Mean; max(low, high) > 1.25*min(low, high) || beyond(e, percent) {
		return lopsided(e, percent)
	}
	place := int(math.Floor(math.Log10(half)))
	if half/math.Pow10(place) < 2 {
		place--
	}
	if a := math.Abs(mean); a > 0 { // never finer than three digits of the mean, never coarser than two
		first := int(math.Floor(math.Log10(a)))
		place = min(max(place, first-2), first-1)
	}
	half = max(half, math.Pow10(place))
	if place > 0 { // whole numbers: round both to the same power of ten
		p := math.Pow10(place)
		return words.Grouped(math.Round(mean/p)*p) + " ± " + words.Grouped(math.Round(half/p)*p)
	}
	return words.Decimals(mean, min(-place, 6)) + " ± " + words.Decimals(half, min(-place, 6))
}

// beyond tells whether mean ± half-width would leave what can be, though the
// interval does not: below 0, or above 100 %.
func beyond(e stats.Estimate, percent bool) bool {
	return e.Low >= 0 && e.Mean-e.Half() < 0 || percent && e.High <= 1 && e.Mean+e.Half() > 1
}

// lopsided is an estimate whose interval reaches farther to one side: its ends
// are written, for ± would go beyond what can be.
func lopsided(e stats.Estimate, percent bool) string {
	by := 1.0
	if percent {
		by = 100
	}
	return fmt.Sprintf("%s [%s, %s]", words.Short(by*e.Mean), words.Short(by*e.Low), words.Short(by*e.High))
}
