package main

import (
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/sinks/report"
)

// aiperf help explains every mark, verdict and word of its own that a screen prints.
func TestHelpKnowsTheScreens(t *testing.T) {
	t.Parallel()
	said := append(report.Marks(),
		validity.Valid.String(), validity.Degraded.String(), validity.Invalid.String(), validity.Failed.String(),
		"WORSE", "BETTER", "EQUIVALENT", "NOT WORSE", "UNDECIDED", "PARTIAL",
		"not decided yet", "cannot be decided", "cannot be judged", "too few trials", "equal within", "error-adjusted",
		"failures as ∞", "from schedule", "in flight", "per user", "points", "uncertain", "independent", "neighbours",
		"paired", "not paired", "80 % power", "primary metric", "without limits", "limits", "gates", "knee", "best", "tie",
		"cut off", "goodput %", "steady", "sentinel", "doubt", "in doubt", "scheduling delay", "all else holds",
	)
	for _, word := range said {
		var b strings.Builder
		if err := (helpText{&b, helpWidth}).word(command{settings: true}, word); err != nil || len(b.String()) < 40 {
			t.Errorf("aiperf help %q: %v\n%s", word, err, &b)
		}
	}
}
