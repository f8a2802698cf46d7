package decide_test

import (
	"testing"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/sweep/decide"
)

func TestReproduction(t *testing.T) {
	t.Parallel()
	row := func(o decide.Verdict, primary, beyond bool) decide.Row {
		return decide.Row{Outcome: o, Primary: primary, BeyondMargin: beyond}
	}
	equal, open := row(decide.Equivalent, true, false), row(decide.Unclear, true, false)
	for _, c := range []struct {
		name string
		c    decide.Comparison
		word string
		code diag.Code
	}{
		{"all equal", decide.Comparison{Rows: []decide.Row{equal, equal}}, decide.Reproduced, diag.OK},
		{
			"equal, beside what does not decide",
			decide.Comparison{Rows: []decide.Row{
				equal, row(decide.Worse, false, false), row(decide.Worse, false, true),
			}},
			decide.Reproduced, diag.OK,
		},
		{"one open", decide.Comparison{Rows: []decide.Row{equal, open}}, "UNDECIDED", diag.Invalid},
		{
			"faster by less than its margin for certain",
			decide.Comparison{Rows: []decide.Row{equal, row(decide.Better, true, false)}},
			"UNDECIDED", diag.Invalid,
		},
		{
			"faster beyond its margin",
			decide.Comparison{Rows: []decide.Row{equal, open, row(decide.Better, true, true)}},
			decide.NotReproduced, diag.Missed,
		},
		{
			"slower beyond its margin",
			decide.Comparison{Rows: []decide.Row{equal, row(decide.Worse, true, true)}},
			decide.NotReproduced, diag.Missed,
		},
		{
			"a cell is missing",
			decide.Comparison{Rows: []decide.Row{equal}, OnlyBaseline: []string{"concurrency 4"}},
			decide.NotReproduced, diag.Missed,
		},
		{"nothing compared", decide.Comparison{}, "UNDECIDED", diag.Invalid},
	} {
		if word, code := decide.Reproduction(&c.c); word != c.word || code != c.code {
			t.Errorf("%s: %s, %d, want %s, %d", c.name, word, code, c.word, c.code)
		}
	}
}
