package runner

import (
	"fmt"
	"math"
)

// plain is a number in four digits, without an exponent where it is large.
func plain(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g", v)
}

// plural is a count with its noun.
func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// brief is the beginning of a server's words, for a sentence; errors in run.json
// has all of them.
func brief(s string) string {
	const most = 120
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// ms is a span, given in milliseconds, in the unit a person would use.
func ms(v float64) string {
	switch a := math.Abs(v); {
	case a > 0 && a < 0.1:
		return fmt.Sprintf("%.3g µs", 1e3*v)
	case a >= 999.5 && a < 10_000:
		return fmt.Sprintf("%.0f ms", v)
	case a >= 10_000 && a < 999_500:
		return fmt.Sprintf("%.3g s", v/1e3)
	case a >= 999_500:
		return fmt.Sprintf("%.0f s", v/1e3)
	}
	return fmt.Sprintf("%.3g ms", v)
}

func percent(v float64) string {
	switch a := math.Abs(100 * v); {
	case a >= 999.5:
		return fmt.Sprintf("%.0f %%", 100*v)
	case a > 0 && a < 0.001:
		return "less than 0.001 %"
	}
	return fmt.Sprintf("%.3g %%", 100*v)
}
