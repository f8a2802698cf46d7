package decide

import (
	"fmt"
	"math"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
)

// spell is an estimate in three digits with its interval: 140 [131, 149].
func spell(e stats.Estimate) string {
	if !e.HasInterval() {
		return digits(e.Mean)
	}
	return fmt.Sprintf("%s [%s, %s]", digits(e.Mean), digits(e.Low), digits(e.High))
}

// digits is a number as screens have it; a ratio may have no end.
func digits(v float64) string {
	if math.IsInf(v, 1) {
		return "∞"
	}
	return words.Number(v)
}

func sign(v float64) int {
	switch {
	case v < 0:
		return -1
	case v > 0:
		return 1
	}
	return 0
}
