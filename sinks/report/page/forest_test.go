package page

import (
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
