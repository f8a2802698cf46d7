package report

import (
	"encoding/xml"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/sweep/decide"
)

// compared is one cell with every outcome.
func compared() Comparison {
	nan := math.NaN()
	row := func(tag, stat, header, unit string, base, cand, change, low, high float64, o decide.Verdict) decide.Row {
		return decide.Row{
			Cell: "concurrency 4", Key: decide.Key{Tag: tag, Stat: stat}, Header: header, Unit: unit, Primary: true, Base: base, Candidate: cand,
			Change: change, Low: low, High: high, P: .0004, Margin: .05, Outcome: o, N: 5, Detectable: .02 + base/1e4, Harmless: o == decide.Equivalent,
		}
	}
	rows := []decide.Row{
		row("output_token_throughput", "avg", "Output Token Throughput", "tokens/sec", 1307, 1188, -.091, -.117, -.065, decide.Worse),
		row("time_to_first_token", "p50", "Time to First Token", "ms", 5.06, 5.55, .096, -.037, .158, decide.Unclear),
		row("inter_token_latency", "p50", "Inter Token Latency", "ms", .998, .995, -.003, -.018, .013, decide.Equivalent),
		row("good_request_fraction", "avg", "GoodRequestFraction", "ratio", .98, 0, nan, nan, nan, decide.Worse),
		row("request_latency", "p99", "Request Latency", "ms", 15.1, math.Inf(1), nan, nan, nan, decide.Better),
	}
	rows[0].BeyondMargin, rows[1].Trials, rows[4].Primary = true, decide.Trials{Least: 12, Most: 35}, false
	rows[3].Note, rows[3].Detectable = "a side is 0 or endless: only the sign is judged", nan
	return Comparison{&decide.Comparison{Baseline: "before", Candidate: "after|\x1b[31m", Paired: true, Trials: 5, Compared: 4, Rows: rows, OnlyCandidate: []string{"concurrency 8"}}}
}

// Stamps of two kinds are a remark on every screen.
func TestStampsAreARemark(t *testing.T) {
	t.Parallel()
	c := compared()
	c.Stamps = [2][]string{{"kernel"}, {"application", "kernel"}}
	for writer, said := range written(t, c) {
		if strings.HasPrefix(writer, "the screen") || writer == "Markdown" {
			if !strings.Contains(said, "time stamps: of the kernel in the baseline, of the application and the kernel in the candidate") {
				t.Errorf("%s does not say it:\n%s", writer, said)
			}
		}
	}
}

func TestComparisonOnTheConsole(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := compared().WriteConsole(&b); err != nil {
		t.Fatal(err)
	}
	want := `WORSE: after| against before: goodput from 98.0 % to 0 %; out tok/s −9.1 %
[−11.7, −6.5]
5 trials a cell, paired: trial k sent both systems the same requests; 95 % over
4 primary metrics together

concurrency 4      baseline candidate  change                 outcome
  out tok/s           1,307     1,188  −9.1 % [−11.7, −6.5]   WORSE (> 5 %)
  TTFT p50 ms          5.06      5.55  +9.6 % [−3.7, +15.8]   UNDECIDED
  ITL p50 ms          0.998     0.995  −0.3 % [−1.8, +1.3]    EQUIVALENT (±5 %)
  goodput            98.0 %       0 %  WORSE: a side is 0 or endless: only the
        sign is judged
  ·latency p99 ms      15.1         ∞                         BETTER

if nothing changed, 12 to 35 trials of each system would show it
smallest change this test finds (80 % power): 2 % (ITL p50) to 15 % (out tok/s)
WORSE, BETTER: the interval shown excludes 0 and the change is beyond the
margin; (> 5 %): so is the whole interval
EQUIVALENT (±5 %): the 90 % interval, narrower than the one shown, is within it
only in the candidate: concurrency 8
·: looked at, not decisive: each by itself at 95 %, never the reason of a
failure
`
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(b.String(), "\n")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Markdown keeps its columns whatever a directory is called; JUnit fails what is
// WORSE, and what is UNDECIDED as the terms say.
// A sentence names what it rests on: the largest changes first, of several cells
// the one that changed most.
func TestComparisonInASentence(t *testing.T) {
	t.Parallel()
	c := compared()
	const want = "WORSE: after| against before: goodput from 98.0 % to 0 %; out tok/s −9.1 % [−11.7, −6.5]"
	if got := c.Headline(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	further := c.Rows[0]
	further.Cell, further.Change, further.Low, further.High = "concurrency 16", -.2, -.25, -.15
	c.Rows = append(c.Rows, further)
	if got := c.Headline(); !strings.HasSuffix(got, "out tok/s −20.0 % [−25.0, −15.0] at concurrency 16") {
		t.Error(got)
	}
	c.Rows = append(c.Rows[1:3:3], further)
	c.Rows[2].Primary = false
	if got := c.Headline(); got != "UNDECIDED: after| against before: TTFT p50 +9.6 % [−3.7, +15.8] at concurrency 4" {
		t.Error(got)
	}
	same := further
	same.Outcome, same.Harmless, same.Change, same.Low, same.High, same.Margin = decide.Equivalent, true, .01, -.01, .03, .05
	c.Rows = []decide.Row{same}
	if got := c.Headline(); got != "EQUIVALENT: after| against before: every primary metric within ±5 %" {
		t.Error(got)
	}
}

// An interval that is narrow has the digits that show it; one without a width in
// them says the change alone. One smallest difference is not a range.
func TestNarrowChanges(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		at, low, high float64
		want          string
	}{
		{.0533, .0531, .0534, "+5.33 % [+5.31, +5.34]"},
		{.3, .3, .3, "+30.0 %"},
		{.3, .2999999, .3000001, "+30.0 %"},
		{0, -.00004, .00004, "0.000 % [−0.004, +0.004]"},
	} {
		if got := change(decide.Row{Change: x.at, Low: x.low, High: x.high}); got != x.want {
			t.Errorf("%v [%v, %v]: %q, want %q", x.at, x.low, x.high, got, x.want)
		}
	}
	c := compared()
	c.Rows = c.Rows[:1]
	if got, want := c.finds(), "smallest change this test finds (80 % power): 15 %"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestComparisonForOthers(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := compared().WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"### WORSE: after| against before: goodput from 98.0 % to 0 %; out tok/s −9.1 % [−11.7, −6.5]\n",
		"| concurrency 4 | **out tok/s** | 1,307 | 1,188 | −9.1 % [−11.7, −6.5] | < 0.001 | **WORSE (> 5 %)** |",
		"| concurrency 4 | latency p99 ms | 15.1 | ∞ |  | < 0.001 | BETTER |",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no line %s in\n%s", want, &b)
		}
	}
	for policy, want := range map[string][2]int{"": {2, 1}, decide.AsMissed: {3, 0}, decide.AsPassed: {2, 0}} {
		b.Reset()
		if err := compared().WriteJUnit(&b, policy); err != nil {
			t.Fatal(err)
		}
		var doc junitSuites
		if err := xml.Unmarshal([]byte(b.String()), &doc); err != nil {
			t.Fatalf("%v in\n%s", err, &b)
		}
		s := doc.Suites[0]
		if s.Tests != 4 || s.Failures != want[0] || s.Skipped != want[1] || strings.Contains(b.String(), "\x1b") {
			t.Errorf("policy %q: %d tests, %d failed, %d skipped, want 4, %v\n%s", policy, s.Tests, s.Failures, s.Skipped, want, &b)
		}
	}
}
