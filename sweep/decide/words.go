package decide

import (
	"math"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
)

// spell is an estimate in three digits with its interval: 140 [131, 149].
func spell(e stats.Estimate) string {
	if !e.HasInterval() {
		return digits(e.Mean)
	}
	return digits(e.Mean) + bounds(e.Low, e.High)
}

// bounds are those of an interval, behind its value; nothing where they have no
// width in the digits that are shown.
func bounds(low, high float64) string {
	a, b := digits(low), digits(high)
	if a == b {
		return ""
	}
	return " [" + a + ", " + b + "]"
}

// digits is a number as screens have it; a ratio may have no end.
func digits(v float64) string {
	if math.IsInf(v, 1) {
		return "∞"
	}
	return words.Number(v)
}
