package sinks

import (
	"math"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/stats"
)

func TestEstimateText(t *testing.T) {
	t.Parallel()
	cases := []struct {
		mean, half float64
		percent    bool
		want       string
	}{
		{38.12, 0.31, false, "38.1 ± 0.3"},
		{182.4, 1.3, false, "182 ± 1"},
		{2612, 41, false, "2,610 ± 40"},
		{1170, 174, false, "1,170 ± 170"},
		{2.0218, 0.0009, false, "2.02 ± 0.01"},
		{1266.09, 2.69, false, "1,270 ± 10"},
		{43, 900, false, "43 ± 900"},
		{0.967, 0.012, true, "96.7 ± 1.2"},
		{1, 0, true, "100 ± 0"},
		{316.2, math.NaN(), false, "316"},
		{0.0456, math.NaN(), false, "0.0456"},
	}
	for _, c := range cases {
		e := stats.Estimate{Mean: c.mean, Low: c.mean - c.half, High: c.mean + c.half}
		if got := estimate(e, c.percent); got != c.want {
			t.Errorf("estimate(%v ± %v) = %q, want %q", c.mean, c.half, got, c.want)
		}
	}
}

func TestWrappedStaysWithin80Columns(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	wrapped(&b, "  INVALID hiccup: ", strings.Repeat("word ", 60))
	for line := range strings.SplitSeq(strings.TrimRight(b.String(), "\n"), "\n") {
		if len([]rune(line)) > 80 {
			t.Errorf("%d columns: %s", len([]rune(line)), line)
		}
	}
}

func TestClipKeepsOneLine(t *testing.T) {
	t.Parallel()
	if got, want := clip("a\n\x1b[31mb\tc", 100), "a [31mb c"; got != want {
		t.Errorf("clip = %q, want %q: what a server says must not move the cursor", got, want)
	}
	if got := clip(strings.Repeat("x", 300), 10); got != "xxxxxxxxx…" {
		t.Errorf("clip = %q", got)
	}
}
