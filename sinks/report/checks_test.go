package report

import (
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/validity"
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
			{"isl 8, concurrency 1", 0, validity.NotJudged, []verdict.Finding{lag(verdict.Degraded, 2, "2 ms")}},
			{"isl 8, concurrency 4", 0, validity.NotJudged, []verdict.Finding{lag(verdict.Valid, 0, "none")}},
			{"isl 8, concurrency 1", 1, validity.NotJudged, []verdict.Finding{lag(verdict.Degraded, 3, "3 ms")}},
			{"isl 8, concurrency 4", 1, validity.NotJudged, []verdict.Finding{lag(verdict.Invalid, 9, "9\x1b[31m ms")}},
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
  DEGRADED isl 8, concurrency 1, trial 2: 3 ms
  DEGRADED isl 8, concurrency 1, trial 1: 2 ms
DEGRADED runs
  too few
`},
		{false, true, `INVALID lag: 3 of 4 runs
  try: a lower load
  isl 8, concurrency 4 (worst of 2 trials): 9 ms
  DEGRADED isl 8, concurrency 1 (worst of 2 trials): 3 ms
DEGRADED runs
  too few
`},
	} {
		c.Every, c.All = x.every, x.all
		var b strings.Builder
		if n, _, err := c.Write(&b); err != nil || n != 2 || b.String() != x.want {
			t.Errorf("every %v, all %v: %d checks, %v\n%s\nwant\n%s", x.every, x.all, n, err, b.String(), x.want)
		}
	}
}

// How many requests failed is said of all trials, and of the worst beside it.
func TestChecksCountFailuresOfAllTrials(t *testing.T) {
	t.Parallel()
	failed := func(said string, value float64) []verdict.Finding {
		return []verdict.Finding{{Check: "errors", Verdict: verdict.Degraded, Value: value, Detail: said}}
	}
	c := Checks{
		Runs: []RunFindings{
			{"before", 0, validity.Valid, []verdict.Finding{{Check: "errors"}}},
			{"after", 0, validity.Degraded, failed("3 of 160 requests failed: http_500: x", 3./160)},
			{"after", 1, validity.Degraded, failed("8 of 160 requests failed: http_500: x", 8./160)},
		},
		Requests: map[string]record.Counts{"before": {OK: 160}, "after": {OK: 309, Failed: 11}},
	}
	for every, want := range map[bool]string{
		false: "after: 11 of 320 requests failed (8 of 160 in the worst trial): http_500: x",
		true:  "after, trial 1: 3 of 160 requests failed: http_500: x",
	} {
		c.Every = every
		var b strings.Builder
		if _, _, err := c.Write(&b); err != nil || strings.Count(oneSpace(b.String()), want) != 1 {
			t.Errorf("every run %v: %v, not once %q in\n%s", every, err, want, &b)
		}
	}
}

// A finding that leaves the verdict alone and puts numbers in doubt is printed, since a mark
// beside these leads to it: which numbers, by how much, in any of the trials.
func TestChecksShowWhatMarksLeadTo(t *testing.T) {
	t.Parallel()
	limit := 0.05
	note := func(value float64, detail string, also ...string) verdict.Finding {
		return verdict.Finding{
			Check: "coalesced", Verdict: verdict.Valid, Noted: true, Value: value, Warn: &limit, Detail: detail,
			Also: also, Try: "a quieter machine",
			Taints: verdict.Touched{"time_to_first_token.p99": validity.Doubtful, "inter_chunk_latency": validity.Doubtful},
		}
	}
	c := Checks{Runs: []RunFindings{
		{"", 0, validity.NotJudged, []verdict.Finding{note(0.2, "the p99 TTFT is only known to be 26 to 39.9 ms")}},
		{"", 1, validity.NotJudged, []verdict.Finding{note(0.1, "tokens arrived together: the mean ITL is only known to be 2 to 3 ms",
			"the p99 TTFT is only known to be 20 to 22 ms")}},
		{"", 2, validity.NotJudged, []verdict.Finding{{Check: "coalesced", Verdict: verdict.Valid}}},
	}}
	want := `note coalesced: 2 of 3 runs (it puts single numbers in doubt, and does not move the verdict)
  in doubt: TTFT p99 and ICL
  try: a quieter machine
  the cell (worst of 2 trials): the p99 TTFT is only known to be 26 to 39.9 ms
    tokens arrived together: the mean ITL is only known to be 2 to 3 ms
`
	var b strings.Builder
	if n, notes, err := c.Write(&b); err != nil || n != 1 || len(notes) > 0 || oneSpace(b.String()) != oneSpace(want) {
		t.Errorf("%d checks, notes %v, %v\n%s\nwant\n%s", n, notes, err, b.String(), want)
	}
}

// The order is that of the report's head, a harm stands with its causes, and a
// clean check gives no advice.
func TestChecksSayWhatTheReportSaid(t *testing.T) {
	t.Parallel()
	limit := 0.1
	f := func(check string, v verdict.Verdict, value float64, because ...string) verdict.Finding {
		return verdict.Finding{
			Check: check, Verdict: v, Value: value, Warn: &limit, Detail: "found", Because: because,
			Try: "more",
		}
	}
	noted := f("interval", verdict.Valid, 0.3)
	noted.Noted = true
	c := Checks{All: true, Plan: []verdict.Finding{f("runs", verdict.Valid, 0), noted}, Runs: []RunFindings{
		{"a", 0, validity.NotJudged, []verdict.Finding{f("clean", verdict.Valid, 0), f("coalesced", verdict.Degraded, 0.2), f("errors", verdict.Degraded, 0.33, "the server said so", "the client was busy")}},
	}}
	want := `DEGRADED errors
  try: more
  found; because the server said so, and the client was busy
DEGRADED coalesced
  try: more
  found
note interval (past its limit, which does not move the verdict)
  try: more
  found
VALID runs
  found
VALID clean
  found
`
	var b strings.Builder
	if printed, notes, err := c.Write(&b); err != nil || printed != 5 || len(notes) > 0 || b.String() != want {
		t.Errorf("%d printed, notes %v, %v\n%s\nwant\n%s", printed, notes, err, &b, want)
	}
	c.All = false
	b.Reset()
	if printed, notes, err := c.Write(&b); err != nil || printed != 2 || len(notes) != 1 || notes[0] != "interval" ||
		strings.Contains(b.String(), "VALID") {
		t.Errorf("without --all: %d printed, notes %v, %v\n%s", printed, notes, err, &b)
	}
}

// Single numbers that are not usable do not make a run INVALID: the checks say the word that
// the run's screen has, and name the numbers.
func TestChecksSayTheVerdictOfTheRun(t *testing.T) {
	t.Parallel()
	found := verdict.Finding{
		Check: "coalesced", Kind: verdict.Harm, Verdict: verdict.Invalid, Value: 0.9, Detail: "tokens arrived together",
		Taints: verdict.Touched{"inter_token_latency.p90": validity.Wrong},
	}
	for word, want := range map[validity.Verdict]string{
		validity.Degraded: "DEGRADED coalesced\n  not usable: ITL p90\n", validity.Invalid: "INVALID coalesced\n  not usable: ITL p90\n",
		validity.NotJudged: "INVALID coalesced\n",
	} {
		var b strings.Builder
		c := Checks{Runs: []RunFindings{{"", 0, word, []verdict.Finding{found}}}}
		if _, _, err := c.Write(&b); err != nil || !strings.HasPrefix(b.String(), want) {
			t.Errorf("%s: %v, %q, want %q first", word, err, b.String(), want)
		}
	}
}
