package decide

import (
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
)

// A row says what remains when both clients are as wrong as their audits found them: by hand,
// of a baseline of 200 ms with a margin of 5 %, which is 10 ms.
func TestClientsOwnErrors(t *testing.T) {
	t.Parallel()
	ttft := Key{Tag: metrics.TimeToFirstToken, Stat: "p50"}
	row := func(o Verdict, candidate, low, high float64) Row {
		return Row{
			Key: ttft, Primary: true, Base: 200, Candidate: candidate, Margin: 0.05, Outcome: o,
			Harmless: o == Equivalent, Low: low, High: high, EqualLow: low, EqualHigh: high, BeyondMargin: o == Worse,
		}
	}
	notWorse := row(Unclear, 198, -0.04, 0.02) // −8 to +4 ms
	notWorse.Harmless = true
	for _, c := range []struct {
		name string
		row  Row
		ms   float64
		want Verdict
		said string
	}{
		{"worse by 16 to 24 ms", row(Worse, 220, 0.08, 0.12), 15, Worse, ""},
		{"worse by 16 to 24 ms", row(Worse, 220, 0.08, 0.12), 16, Unclear, "the difference, 20 ms, may be within that"},
		{"worse by 16 to 24 ms", row(Worse, 220, 0.08, 0.12), 30, Unclear, "off by 30 ms, and the difference is within that"},
		{"better by 16 to 24 ms", row(Better, 180, -0.12, -0.08), 15, Better, ""},
		{"better by 16 to 24 ms", row(Better, 180, -0.12, -0.08), 17, Unclear, "the difference, 20 ms, may be within that"},
		{"equal within 6 ms", row(Equivalent, 201, -0.02, 0.03), 4, Equivalent, ""},
		{"equal within 6 ms", row(Equivalent, 201, -0.02, 0.03), 5, Unclear, "a change beyond the margin is not ruled out"},
		{"not worse by more than 4 ms", notWorse, 5, NotWorse, ""},
		{"not worse by more than 4 ms", notWorse, 7, Unclear, "a change beyond the margin is not ruled out"},
	} {
		other := Row{Key: Key{Tag: metrics.RequestThroughput, Stat: "avg"}, Outcome: Worse}
		comparison := &Comparison{Rows: []Row{c.row, other}}
		comparison.Clients(ttft, c.ms)
		got := comparison.Rows[0]
		outcome := got.Outcome
		if outcome == Unclear && got.Harmless {
			outcome = NotWorse
		}
		if outcome != c.want || got.Undecidable != (c.said != "") || !strings.Contains(got.Note, c.said) {
			t.Errorf("%s, clients off by %g ms: %s %q, want %s %q", c.name, c.ms, outcome, got.Note, c.want, c.said)
		}
		if comparison.Rows[1].Outcome != Worse {
			t.Error("another figure was judged again")
		}
	}
}

// Over all cells the clients' errors count as in the one with the smallest figure.
func TestClientsOwnErrorsOverCells(t *testing.T) {
	t.Parallel()
	ttft := Key{Tag: metrics.TimeToFirstToken, Stat: "p50"}
	cell := func(base float64) Row { return Row{Key: ttft, Base: base, Outcome: Unclear} }
	c := &Comparison{
		Rows:     []Row{cell(100), cell(1000)},
		Together: []Row{{Key: ttft, Outcome: Worse, Low: 0.08, High: 0.12, Level: 0.95}},
	}
	if c.Clients(ttft, 7); c.Together[0].Outcome != Worse {
		t.Errorf("7 of 100 ms hide 8 %%: %+v", c.Together[0])
	}
	if c.Clients(ttft, 9); c.Together[0].Outcome != Unclear {
		t.Errorf("9 of 100 ms hide no 8 %%: %+v", c.Together[0])
	}
}
