package decide

import (
	"fmt"
	"math"
	"strings"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/sweep"
)

// spell is an estimate in three digits with its interval: 140 [131, 149].
func spell(e stats.Estimate) string {
	if !e.HasInterval() {
		return digits(e.Mean)
	}
	return fmt.Sprintf("%s [%s, %s]", digits(e.Mean), digits(e.Low), digits(e.High))
}

// digits writes a number with three significant digits, and whole ones with commas.
func digits(v float64) string {
	if math.IsInf(v, 1) {
		return "∞"
	}
	s := fmt.Sprintf("%.3g", v)
	if strings.Contains(s, "e+") {
		s = fmt.Sprintf("%.0f", v)
	}
	if !strings.ContainsAny(s, ".e") {
		minus := strings.HasPrefix(s, "-")
		s = sweep.Grouped(strings.TrimPrefix(s, "-"))
		if minus {
			s = "-" + s
		}
	}
	return s
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
