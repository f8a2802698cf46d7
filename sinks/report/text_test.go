package report

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
		{43, 900, false, "43.0 ± 900"},
		{0.967, 0.012, true, "96.7 ± 1.2"},
		{1, 0, true, "100"},
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

// An interval that reaches farther to one side is written with its ends.
func TestLopsidedEstimates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		want   string
	}{
		{[]float64{410, 21, 30}, "63.7 ± wide"},
		{[]float64{100, 101, 102}, "101 ± 2"},
		{[]float64{100, 100}, "100"},
	} {
		if got := estimate(stats.Level(c.values, .95, 0), false); got != c.want {
			t.Errorf("%v: %q, want %q", c.values, got, c.want)
		}
	}
	if got, want := estimate(stats.Estimate{Mean: .47, Low: .005, High: .96}, true), "47.0 ± wide"; got != want {
		t.Errorf("a wide share: %q, want %q", got, want)
	}
	if got, want := estimate(stats.Share([]stats.Tally{{Hits: 80, Of: 80}}, .95), true),
		"100 [95.5, 100]"; got != want {
		t.Errorf("80 of 80: %q, want %q", got, want)
	}
}

func TestWrappedStaysWithin80Columns(t *testing.T) {
	t.Parallel()
	b := newSheet(0)
	b.wrapped("  INVALID hiccup: ", strings.Repeat("word ", 60))
	for line := range strings.SplitSeq(strings.TrimRight(b.String(), "\n"), "\n") {
		if len([]rune(line)) > 80 {
			t.Errorf("%d columns: %s", len([]rune(line)), line)
		}
	}
}

// A name that would make the table wider than a terminal loses its end and stands whole below it, unless two names
// would then look the same.
func TestLongNamesInATable(t *testing.T) {
	t.Parallel()
	const long = "a-very-long-name-of-a-candidate-for-the-next-release-"
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"old", long + "1"}, " a-very-long-name-of-a-candida… 16"},
		{[]string{long + "1-a" + strings.Repeat("b", 60), long + "2-a" + strings.Repeat("b", 60)}, " " + long + "1-abb"},
	} {
		g := grid{head: []string{"endpoint", "conc", "out tok/s", "TTFT p50 ms", "TTFT p99 ms", ""}, left: 2}
		for _, n := range c.names {
			g.rows = append(g.rows, []string{n, "16", "1,890 ± 70", "19.6 ± 0.3", "40.2 ± 1.5", "knee"})
		}
		b := newSheet(0)
		g.write(b)
		if !strings.Contains(b.String(), c.want) || !strings.Contains(b.String(), c.names[1]) {
			t.Errorf("no %q, or no whole name, in\n%s", c.want, b.String())
		}
	}
}

// A table is never split: columns that a terminal has no room for are left out, and a
// wide terminal has them all.
func TestWideTable(t *testing.T) {
	t.Parallel()
	g := grid{
		head: []string{"isl", "conc", "out tok/s", "TTFT p50 ms", "TTFT p99 ms", "ITL p99 ms", "goodput %", ""},
		left: 2,
	}
	g.rows = [][]string{{
		"1024", "12", "400 ± 5", "33.4 [17.2, 65.0]", "11.4 [5.33, 24.3]",
		"10.3 [5.83, 18.1]", "3.45 [0.947, 8.59]", "* knee",
	}}
	for width, all := range map[int]int{0: 0, 120: 1} {
		b := newSheet(width)
		g.write(b)
		for line := range strings.SplitSeq(b.String(), "\n") {
			if len([]rune(line)) > b.width {
				t.Errorf("%d columns: %s", len([]rune(line)), line)
			}
		}
		for name, want := range map[string]int{"* knee": 1, " 1024 12 ": 1, "goodput %": all, "ITL p99 ms": all} {
			if got := strings.Count(b.String(), name); got != want {
				t.Errorf("%q stands %d times at %d columns, want %d:\n%s", name, got, b.width, want, b)
			}
		}
		if got := strings.Count(b.String(), "\n"); got != 2 {
			t.Errorf("%d lines at %d columns, want 2:\n%s", got, b.width, b)
		}
	}
}

// A finding that is cut loses whole words, and no part of a number.
func TestFindingsAreCutBetweenWords(t *testing.T) {
	t.Parallel()
	const said = "so p50 TTFT is only known to be 45.6 to 52.3 ms"
	for n := range len(said) {
		got := wholeWords(said, n)
		if kept, cut := strings.CutSuffix(got, " …"); !cut || !strings.HasPrefix(said, kept) ||
			!strings.HasPrefix(strings.TrimPrefix(said, kept), " ") && kept != "" || len([]rune(got)) > max(n, 2) {
			t.Errorf("%d columns: %q", n, got)
		}
	}
	if got := wholeWords(said, len(said)); got != said {
		t.Errorf("%q is cut and fits", got)
	}
}

// Facts stand at the end of a sentence only where they are not read as its end.
func TestFactsAreNotGluedToASentence(t *testing.T) {
	t.Parallel()
	const facts = "3 paired trials · 17.6 s · VALID"
	answer := strings.Repeat("answer ", 10) + "ends here"
	for n := range 60 {
		s := newSheet(80)
		s.spread([]string{answer, strings.Repeat("x", n+1)}, facts)
		last := strings.Split(strings.TrimSpace(s.String()), "\n")[1:]
		before, has := strings.CutSuffix(last[0], facts)
		if has && before != "" && !strings.HasSuffix(before, "      ") {
			t.Errorf("%q", last[0])
		}
	}
}
