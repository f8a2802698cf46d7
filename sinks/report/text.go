package report

import (
	"fmt"
	"math"
	"strings"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
)

// widest is how many times its lower end the upper end of an interval may be: one that
// is wider says only that trials are too few.
const widest = 10

// wideMark stands in place of such an interval; the legend says what it means.
const wideMark = "± wide"

// estimate is mean ± half-width, to the mean's third digit, see placeOf.
func estimate(e stats.Estimate, percent bool) string {
	place := placeOf(e, percent)
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
	width := max(half, math.Pow10(place)) // one that would round to nothing is one of that place
	return words.At(mean, place) + " ± " + words.At(width, max(place, int(math.Floor(math.Log10(half)))-1))
}

// placeOf is the decimal place that an estimate is rounded to: that of the third digit of
// its mean, so that a number is the same in a sentence, in a table and on the page.
func placeOf(e stats.Estimate, percent bool) int {
	mean, half := inUnits(e, percent)
	a := math.Abs(mean)
	switch {
	case math.IsInf(a, 0) || math.IsNaN(a):
		return 0
	case a == 0 && symmetric(e, percent):
		return int(math.Floor(math.Log10(half)))
	case a == 0:
		return 0
	}
	third := int(math.Floor(math.Log10(a))) - 2
	return int(math.Floor(math.Log10(a+math.Pow10(third)/2))) - 2 // 0.9999 has the digits of 1.00
}

func inUnits(e stats.Estimate, percent bool) (mean, half float64) {
	if percent {
		return 100 * e.Mean, 100 * e.Half()
	}
	return e.Mean, e.Half()
}

// symmetric reports whether an estimate has an interval that ± can say. It never says
// ± 0, which would claim that nothing is left to know.
func symmetric(e stats.Estimate, percent bool) bool {
	low, high := e.Mean-e.Low, e.High-e.Mean
	return e.HasInterval() && !exact(e) && !tooWide(e) && max(low, high) <= 1.25*min(low, high) && !beyond(e, percent)
}

// exact reports whether the interval has no width.
func exact(e stats.Estimate) bool {
	half := e.Half()
	return math.IsNaN(half) || half == 0 || half < 1e-9*math.Abs(e.Mean)
}

func tooWide(e stats.Estimate) bool {
	return e.Low > 0 && e.High > widest*e.Low
}

// beyond reports whether mean ± half-width would leave what can be, though the
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

// wholeWords is at most n columns of a sentence, cut between words: of a number that is cut nobody knows
// what it was.
func wholeWords(s string, n int) string {
	if words.Width(s) <= n {
		return s
	}
	line := ""
	for _, piece := range words.Pieces(s) {
		next := strings.TrimSpace(line + " " + piece)
		if words.Width(next) > n-2 {
			break
		}
		line = next
	}
	return line + " …"
}

// asSentence begins with a capital letter.
func asSentence(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
