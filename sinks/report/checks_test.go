package report

import (
	"strings"
	"testing"

	"aiperf.dev/aiperf/runner/verdict"
)

// A line for each cell, not for each run, by the name that the table uses.
func TestChecksByCell(t *testing.T) {
	t.Parallel()
	limit := 1.0
	lag := func(v verdict.Verdict, value float64, said string) verdict.Finding {
		return verdict.Finding{Check: "lag", Verdict: v, Value: value, Fail: &limit, Detail: said, Try: "a lower load"}
	}
	c := Checks{
		Plan: []verdict.Finding{{Check: "runs", Verdict: verdict.Degraded, Detail: "too few"}},
		Runs: []RunFindings{
			{"isl 8, concurrency 1", 0, []verdict.Finding{lag(verdict.Degraded, 2, "2 ms")}},
			{"isl 8, concurrency 4", 0, []verdict.Finding{lag(verdict.Valid, 0, "none")}},
			{"isl 8, concurrency 1", 1, []verdict.Finding{lag(verdict.Degraded, 3, "3 ms")}},
			{"isl 8, concurrency 4", 1, []verdict.Finding{lag(verdict.Invalid, 9, "9\x1b[31m ms")}},
		},
	}
	for _, x := range []struct {
		every, all bool
		want       string
	}{
		{false, false, `INVALID lag: 3 of 4 runs
  try: a lower load
  isl 8, concurrency 4: 9 ms
  DEGRADED isl 8, concurrency 1 (worst of 2 trials): 3 ms
DEGRADED runs
  too few
`},
		{true, false, `INVALID lag: 3 of 4 runs
  try: a lower load
  isl 8, concurrency 4, trial 2: 9 ms
  DEGRADED isl 8, concurrency 1, trial 1: 2 ms
  DEGRADED isl 8, concurrency 1, trial 2: 3 ms
DEGRADED runs
  too few
`},
		{false, true, `INVALID lag: 4 of 4 runs
  try: a lower load
  isl 8, concurrency 4 (worst of 2 trials): 9 ms
  DEGRADED isl 8, concurrency 1 (worst of 2 trials): 3 ms
DEGRADED runs
  too few
`},
	} {
		c.Every, c.All = x.every, x.all
		var b strings.Builder
		if n, err := c.Write(&b); err != nil || n != 2 || b.String() != x.want {
			t.Errorf("every %v, all %v: %d checks, %v\n%s\nwant\n%s", x.every, x.all, n, err, b.String(), x.want)
		}
	}
}
