package page

import (
	"math"
	"strings"
	"testing"

	"aiperf.dev/aiperf/sinks/report"
	"aiperf.dev/aiperf/sinks/report/chart"
	"aiperf.dev/aiperf/sweep/decide"
)

// The forest of a comparison shows errors as the sentences do: in points, and more of them
// to the right.
func TestErrorsOfTheForestAreInPoints(t *testing.T) {
	t.Parallel()
	row := decide.Row{Primary: true, Base: .02, Change: -.05, Low: -.06, High: -.04} // of the 98 % that succeed
	row.Key = decide.Key{Tag: "error_rate", Stat: "avg"}
	other := decide.Row{Primary: true, Base: 100, Change: .5, Low: .4, High: .6}
	other.Key = decide.Key{Tag: "request_latency", Stat: "p50"}
	d := &chart.Data{}
	drawn(d, report.Comparison{Comparison: &decide.Comparison{Rows: []decide.Row{row, other}}})
	for i, want := range []struct {
		points bool
		value  float64
	}{{true, .049}, {false, .5}} {
		if c := d.Decided[i]; c.Points != want.points || c.Value != want.value {
			t.Errorf("row %d: points %v, %v; want %v, %v", i, c.Points, c.Value, want.points, want.value)
		}
	}
}

// The caption of the forest has the levels of the intervals that are drawn.
func TestTheForestSaysItsLevels(t *testing.T) {
	t.Parallel()
	row := decide.Row{
		Primary: true, Base: 100, Change: .5, Low: .4, High: .6, Level: .9875, Outcome: decide.Worse,
		Key: decide.Key{Tag: "request_latency", Stat: "p50"},
	}
	equal := row
	equal.Outcome, equal.EqualLow, equal.EqualHigh = decide.Equivalent, -.01, .01
	d := &chart.Data{}
	drawn(d, report.Comparison{Comparison: &decide.Comparison{Rows: []decide.Row{row, equal}, Compared: 2}})
	if want := "98.75 % intervals, 90 % where equal or not worse"; d.Levels != want {
		t.Errorf("%q, want %q", d.Levels, want)
	}
}

// A page on which intervals of two levels stand says which is which beside the sentences.
func TestLevelsBesideTheAnswer(t *testing.T) {
	t.Parallel()
	row := decide.Row{
		Primary: true, Base: 100, Candidate: 150, Change: .5, Low: .4, High: .6, Level: .975, Outcome: decide.Worse,
		Key: decide.Key{Tag: "request_latency", Stat: "p50"}, Header: "latency",
	}
	equal := row
	equal.Header = "TTFT"
	equal.Outcome, equal.Change, equal.EqualLow, equal.EqualHigh = decide.Equivalent, 0, -.01, .01
	d := &chart.Data{Cells: []*chart.Cell{{Trials: 3}}}
	for _, c := range []struct {
		rows []decide.Row
		said string
		want string
	}{
		{nil, "1,260 tok/s", ""},
		{nil, "50.0 % [40.0, 60.0] of the answers are right (95 % interval)", ""},
		{nil, "1,260 [1,250, 1,270] tok/s", "[ ]: 95 % intervals over 3 trials"},
		{
			[]decide.Row{row, equal},
			"b is slower: latency p50 +50 % [+40, +60] (WORSE)",
			"[ ] of changes: 97.5 % intervals, and 90 % where equal or not worse, so that latency p50 and TTFT p50 " +
				"together hold at 95 % · [ ] of the table: 95 %",
		},
		{[]decide.Row{row, equal}, "b is slower than a in 2 of 2 workloads", ""},
	} {
		if c.rows != nil {
			drawn(d, report.Comparison{Comparison: &decide.Comparison{Rows: c.rows, Compared: len(c.rows)}})
		}
		if got := levelsOf(d, []string{joinedUnit(c.said)}); got != c.want {
			t.Errorf("%q: %q, want %q", c.said, got, c.want)
		}
	}
}

// What cannot be decided has its line, without a value, and a tile counts it among the
// workloads; that something differs is what the interval of the decision says, not the
// narrower one that shows equality.
func TestWhatCannotBeDecidedIsCounted(t *testing.T) {
	t.Parallel()
	of := func(cell string, outcome decide.Verdict, change, low, high float64) decide.Row {
		return decide.Row{
			Cell: cell, Primary: true, Base: 100, Candidate: 100 * (1 + change), Margin: .05, Outcome: outcome,
			Key: decide.Key{Tag: "request_latency", Stat: "p50"}, Change: change, Low: low, High: high,
		}
	}
	nan := math.NaN()
	open := of("isl 64", decide.Unclear, nan, nan, nan)
	open.Undecidable = true
	equal := of("isl 256", decide.Equivalent, .004, -.001, .009)
	equal.EqualLow, equal.EqualHigh = .001, .007
	d := &chart.Data{Requests: &chart.Requests{}}
	drawn(d, report.Comparison{Comparison: &decide.Comparison{Rows: []decide.Row{open, equal}, Compared: 2}})
	row, err := chart.Find("change")
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	for _, r := range row.Build(d, nil).Panels[0].Rows {
		said += r.Name + ": " + r.Said + "\n"
	}
	if !strings.Contains(said, "isl 64: cannot be decided\nisl 256: +0.4 % [+0.1, +0.7]\n") {
		t.Error(said)
	}
	wider := of("isl 1024", decide.Equivalent, .02, -.01, .05)
	wider.EqualLow, wider.EqualHigh = -.002, .042
	harmless := func(cell string, low float64) decide.Row {
		r := of(cell, decide.Unclear, -.01, low, .02)
		r.Harmless, r.EqualLow, r.EqualHigh = true, low/2, .06
		return r
	}
	undecided := open
	undecided.Candidate = 150
	for _, c := range []struct {
		rows []decide.Row
		want string
	}{
		{[]decide.Row{undecided}, "cannot be decided · 100 → 150"},
		{[]decide.Row{of("isl 64", decide.Better, -.2, -.22, -.18)}, "better · 100 → 80.0"},
		{[]decide.Row{open, equal}, "equal within 0.7 % in 1 of 2 workloads"},
		{[]decide.Row{equal, open, of("isl 512", decide.Better, -.2, -.22, -.18)}, "better in 1 of 3 workloads"},
		{[]decide.Row{open}, "cannot be decided"},
		{[]decide.Row{equal, wider}, "equal within 4.2 %"},
		{[]decide.Row{harmless("isl 64", -.03)}, "at most 6 % worse · 100 → 99.0"},
		{[]decide.Row{harmless("isl 64", -.03), harmless("isl 256", -.04)}, "at most 6 % worse"},
		{[]decide.Row{of("isl 64", decide.Equivalent, .02, .01, .03)}, "changed, within 5 % · 100 → 102"},
	} {
		d := &chart.Data{}
		drawn(d, report.Comparison{Comparison: &decide.Comparison{Rows: c.rows, Compared: len(c.rows)}})
		if got := ofMetric(d.Decided); strings.ReplaceAll(got.Note, "\u00a0", " ") != c.want {
			t.Errorf("%q, want %q", got.Note, c.want)
		}
	}
}
