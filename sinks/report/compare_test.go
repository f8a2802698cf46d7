package report

import (
	"encoding/xml"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
	"aiperf.dev/aiperf/sweep/sweeptest"
)

// compared is one cell with every outcome.
func compared() Comparison {
	nan := math.NaN()
	row := func(tag, stat, header, unit string, base, cand, change, low, high float64, o decide.Verdict) decide.Row {
		return decide.Row{
			Cell: "concurrency 4", Key: decide.Key{Tag: tag, Stat: stat}, Header: header, Unit: unit, Primary: true,
			Base: base, Candidate: cand,
			Change: change, Low: low, High: high, P: .0004, Margin: .05, Outcome: o, N: 5, Detectable: .02 + base/1e4,
			EqualLow: nan, EqualHigh: nan, Harmless: o == decide.Equivalent,
		}
	}
	rows := []decide.Row{
		row("output_token_throughput", "avg", "Output Token Throughput", "tokens/sec", 1307, 1188, -.091, -.117, -.065,
			decide.Worse),
		row("time_to_first_token", "p50", "Time to First Token", "ms", 5.06, 5.55, .096, -.037, .158, decide.Unclear),
		row("inter_token_latency", "p50", "Inter Token Latency", "ms", .998, .995, -.003, -.018, .013,
			decide.Equivalent),
		row("good_request_fraction", "avg", "GoodRequestFraction", "ratio", .98, 0, nan, nan, nan, decide.Worse),
		row("request_latency", "p99", "Request Latency", "ms", 15.1, math.Inf(1), nan, nan, nan, decide.Better),
	}
	rows[0].BeyondMargin, rows[1].Trials, rows[4].Primary = true, decide.Trials{Least: 12, Most: 35}, false
	rows[3].Note, rows[3].Detectable = "a side is 0 or has no end, so that only the direction counts", nan
	return Comparison{Comparison: &decide.Comparison{
		Baseline: "before", Candidate: "after|\x1b[31m", Paired: true, Trials: 5,
		Compared: 4, Rows: rows, OnlyCandidate: []string{"concurrency 8"},
	}}
}

// A percentile of too few requests is called uncertain wherever a sentence names it, and the
// workloads are counted by what is certain, if anything is.
func TestUncertainInASentence(t *testing.T) {
	t.Parallel()
	c := compared()
	few := func(cell string, o decide.Verdict, change float64) decide.Row {
		return decide.Row{
			Cell: cell, Key: decide.Key{Tag: "time_to_first_token", Stat: "p90"}, Header: "Time to First Token", Unit: "ms",
			Primary: true, Base: 20, Candidate: 16, Change: change, Low: change - .01, High: change + .01, Margin: .05,
			Outcome: o, Harmless: true, N: 5, Count: 200, Effective: 30,
		}
	}
	sure := func(cell string) decide.Row {
		r := few(cell, decide.Better, -.2)
		r.Key.Stat, r.Count, r.Effective = "p50", 0, 0
		return r
	}
	for _, x := range []struct {
		rows              []decide.Row
		headline, changes string
	}{
		{
			[]decide.Row{sure("isl 64"), few("isl 64", decide.Better, -.2), few("isl 256", decide.Better, -.1)},
			"after| is faster than before in 1 of 2 workloads (BETTER)",
			"TTFT p50 −20.0 % [−21.0, −19.0] · TTFT p90 (of few requests) −10 to −20 %",
		},
		{
			[]decide.Row{few("isl 64", decide.Better, -.2), few("isl 256", decide.Better, -.1)},
			"after| is faster than before in 2 of 2 workloads in TTFT p90 (of few requests) (BETTER)",
			"TTFT p90 (of few requests) −10 to −20 %",
		},
		{
			[]decide.Row{few("isl 64", decide.Worse, .2)},
			"after| is slower than before: TTFT p90 (of few requests) +20.0 % [+19.0, +21.0] (WORSE)",
			"TTFT p90 (of few requests) +20.0 % [+19.0, +21.0]",
		},
	} {
		c.Rows = x.rows
		if got := c.Headline(); got != x.headline {
			t.Errorf("got  %q\nwant %q", got, x.headline)
		}
		if got := c.Changes(); got != x.changes {
			t.Errorf("got  %q\nwant %q", got, x.changes)
		}
	}
}

// Two results of one trial each are decided by more of them, whoever measured them.
func TestWhatOneTrialLacks(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"":                    "to decide it: measure each 6 times", // another client's
		"aiperf run 'ab.cue'": "to decide it:\n  aiperf run ab.cue --num-profile-runs 6\n",
	} {
		c := compared()
		c.Commands, c.Trials, c.Each = [2]string{command, command}, 1, [2]int{1, 1}
		for i := range c.Rows {
			c.Rows[i].Outcome = decide.Unclear
		}
		var b strings.Builder
		if err := c.WriteConsole(&b, Screen{All: true}); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%v, no %q in\n%s", err, want, &b)
		}
	}
}

// What decides a ? are whole commands, each on a line that can be copied: one, where both
// systems were measured together. None is offered for figures in doubt; there the line says
// what to do about the doubt.
func TestWhatDecidesIsACommand(t *testing.T) {
	t.Parallel()
	c := compared()
	for _, x := range []struct {
		commands [2]string
		want     string
	}{
		{
			[2]string{"aiperf run 'ab.cue' --artifact-dir 'before'", "aiperf run 'ab.cue' --artifact-dir 'after' --url 'http://b:8000'"},
			"\n  aiperf run ab.cue --artifact-dir before-2 --set multi_run.num_runs=35\n  aiperf run ab.cue --artifact-dir after-2 --url http://b:8000 --set multi_run.num_runs=35\n",
		},
		{
			[2]string{"aiperf run 'ab.cue'", "aiperf run 'ab.cue'"},
			"changed:\n  aiperf run ab.cue --set multi_run.num_runs=35\nonly in the",
		},
	} {
		c.Commands = x.commands
		var b strings.Builder
		if err := c.WriteConsole(&b, Screen{All: true}); err != nil || !strings.Contains(b.String(), x.want) {
			t.Errorf("%v, no %q in\n%s", err, x.want, &b)
		}
	}
	for check, want := range map[string]string{
		"coalesced": "TTFT p50 cannot be decided: in doubt (check coalesced); try a quieter machine",
		"errors":    "TTFT p50 cannot be decided: in doubt (check errors); try the server's log",
	} {
		r := &c.Rows[1]
		r.Undecidable, r.Check, r.Note = true, check, validity.Taint{Check: check, Level: validity.Doubtful}.Sentence()
		var b strings.Builder
		err := c.WriteConsole(&b, Screen{All: true})
		got := oneSpace(b.String())
		if err != nil || !strings.Contains(got, want+" goodput") || strings.Contains(got, "num_runs") {
			t.Errorf("%v, no %q, or a command, in\n%s", err, want, &b)
		}
	}
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
	if err := compared().WriteConsole(&b, Screen{All: true}); err != nil {
		t.Fatal(err)
	}
	want := `after| is worse than before: goodput from 98.0 % to 0 %, and 1 more metric
(WORSE)                                                 5 paired trials · exit 3
                  before    after|                change
 ✗ out tok/s       1,310     1,190  −9.1 % [−11.7, −6.5]  worse by over 5 %
 ? TTFT p50      5.06 ms   5.55 ms  +9.6 % [−3.7, +15.8]  not decided yet
 = ITL p50      0.998 ms  0.995 ms   −0.3 % [−1.8, +1.3]  equal within 5 %
 ✗ goodput        98.0 %       0 %                        worse
 ✓ latency p99   15.1 ms         ∞                        better
smallest change this test finds (80 % power): 2 % (ITL p50) to 15 % (out tok/s)
goodput worse: a side is 0 or has no end, so that only the direction counts
to decide TTFT p50 takes 12 to 35 trials, if nothing changed: measure each 35
  times
only in the candidate: concurrency 8
`
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(b.String(), "\n")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The headline is a function of the outcomes; the line of changes says each metric once.
func TestComparisonInASentence(t *testing.T) {
	t.Parallel()
	c := compared()
	says := func(headline, changes string) {
		t.Helper()
		if got := c.Headline(); got != headline {
			t.Errorf("got  %q\nwant %q", got, headline)
		}
		if got := c.Changes(); got != changes {
			t.Errorf("got  %q\nwant %q", got, changes)
		}
	}
	says("after| is worse than before: goodput from 98.0 % to 0 %, and 1 more metric (WORSE)",
		"out tok/s −9.1 % [−11.7, −6.5] · goodput from 98.0 % to 0 % · ITL p50 equal within 5 % · TTFT p50 not decided yet (+10 %)")
	further := c.Rows[0]
	further.Cell, further.Change = "concurrency 16", -.2
	c.Rows = []decide.Row{c.Rows[0], further}
	says("after| is slower than before in 2 of 2 workloads (WORSE)", "out tok/s −9 to −20 %")
	c.Rows[1].Outcome, c.Rows[1].Change = decide.Better, .2
	says("after| is worse than before in out tok/s in 1 of 2 workloads, better in out tok/s in 1 of 2 workloads (WORSE)",
		"out tok/s −9.1 % [−11.7, −6.5] in 1 of 2 · out tok/s +20.0 % [−11.7, −6.5] in 1 of 2")
	c.Rows[0].Outcome, c.Rows[0].Harmless = decide.Unclear, true
	c.Rows[1].Harmless = true
	says("after| is faster than before in 1 of 2 workloads (BETTER)",
		"out tok/s +20.0 % [−11.7, −6.5] in 1 of 2 · out tok/s at most 5 % worse in 1 of 2")
	c.Rows[0].Harmless = false
	says("No decision as a whole (UNDECIDED), but after| is faster than before in 1 of 2 workloads; 5 trials leave out tok/s open",
		"out tok/s +20.0 % [−11.7, −6.5] in 1 of 2 · out tok/s worse, perhaps by under 5 % (−9 %) in 1 of 2")
	c.Rows = c.Rows[:1]
	c.Rows[0].Outcome, c.Rows[0].Harmless = decide.Equivalent, true
	says("after| and before are equal within the margin of 5 %, though out tok/s changed by less (EQUIVALENT)",
		"out tok/s changed, within 5 %")
	low, high := c.Rows[0].Low, c.Rows[0].High
	c.Rows[0].Low, c.Rows[0].High = -.02, .03
	says("after| and before are equal within the margin of 5 % (EQUIVALENT)", "out tok/s equal within 5 %")
	c.Rows[0].Outcome, c.Rows[0].Low, c.Rows[0].High = decide.Unclear, low, high
	says("after| is not worse than before by more than 5 % (NOT WORSE)", "out tok/s at most 5 % worse")
	c.Rows[0].Low, c.Rows[0].High = .01, .09
	says("after| is not worse than before by more than 5 % (NOT WORSE)", "out tok/s better, perhaps by under 5 %")
	c.Rows[0].Harmless, c.Rows[0].Undecidable, c.Rows[0].Note = false, true, "0 on both sides in every trial"
	says("No decision between before and after| (UNDECIDED): out tok/s cannot be compared: 0 on both sides in every trial", "out tok/s cannot be decided")
	further.Key, further.Outcome = c.Rows[0].Key, decide.Unclear
	c.Rows = append(c.Rows, further)
	says("No decision yet between before and after| (UNDECIDED): 5 trials leave out tok/s open, and out tok/s cannot be compared: 0 on both sides in every trial",
		"out tok/s not decided yet")
}

// The two sides can be told apart at every width, and the change is there at every width.
func TestSidesAndChangesAtEveryWidth(t *testing.T) {
	t.Parallel()
	c := compared()
	c.Baseline, c.Candidate = "results/deployment-llama3-70b-h100-tp8-before-20261124T115934Z",
		"results/deployment-llama3-70b-h100-tp8-after-20261124T115934Z"
	for width := 46; width <= 200; width++ {
		var b strings.Builder
		if err := c.WriteConsole(&b, Screen{Width: width, All: true}); err != nil {
			t.Fatal(err)
		}
		head, table, found := strings.Cut(b.String(), "change\n")
		head = head[strings.LastIndex(head, "\n")+1:]
		if sides := strings.Fields(head); !found || len(sides) == 2 && sides[0] == sides[1] || len(sides) != 2 &&
			width >= 80 {
			t.Fatalf("%d columns: the heads are %q\n%s", width, head, &b)
		}
		for _, want := range []string{"−9.1 % [−11.7, −6.5]", "+9.6 % [−3.7, +15.8]", "−0.3 % [−1.8, +1.3]"} {
			if !strings.Contains(table, want) {
				t.Errorf("%d columns: no %s in\n%s", width, want, &b)
			}
		}
		for line := range strings.Lines(table) {
			if words.Width(strings.TrimSuffix(line, "\n")) > width {
				t.Errorf("%d columns: %s", width, line)
			}
		}
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
		"### after| is worse than before: goodput from 98.0 % to 0 %, and 1 more metric (WORSE)\n",
		"| concurrency 4 | **out tok/s** | 1,310 | 1,190 | −9.1 % [−11.7, −6.5] | < 0.001 | **WORSE by over 5 %** |",
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
			t.Errorf("policy %q: %d tests, %d failed, %d skipped, want 4, %v\n%s", policy, s.Tests, s.Failures,
				s.Skipped, want, &b)
		}
	}
}

// A change of errors is in points of all requests, and more errors are above 0.
func TestChangesOfSharesAreInPoints(t *testing.T) {
	t.Parallel()
	r := compared().Rows[3]
	r.Key.Tag, r.Base, r.Candidate, r.Note = "error_rate", .02, .069, ""
	r.Change, r.Low, r.High = -.05, -.06, -.04 // of the 98 % that succeed
	if got, want := change(r), "+4.9 points [+3.9, +5.9]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r.Key.Tag, r.Base, r.Candidate = "good_request_fraction", .8, .84
	r.Change, r.Low, r.High = .05, .04, .06
	if got, want := change(r), "+4.0 points [+3.2, +4.8]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r.Undecidable, r.Change, r.Low, r.High = true, math.NaN(), math.NaN(), math.NaN()
	r.Key = decide.Key{Tag: "time_to_first_token", Stat: "p50"}
	if got, want := change(r), "+5.0 %"; got != want { // in doubt: a size, and no interval
		t.Errorf("got %q, want %q", got, want)
	}
}

// The level of the intervals names the metrics that share it, where it is theirs alone.
func TestLevelNamesItsMetrics(t *testing.T) {
	t.Parallel()
	row := func(tag, header, stat string) decide.Row {
		key := decide.Key{Tag: tag, Stat: stat}
		return decide.Row{Key: key, Header: header, Primary: true, Low: .1, High: .2, Level: .975}
	}
	rows := []decide.Row{
		row("time_to_first_token", "Time to First Token", "p50"),
		row("inter_token_latency", "Inter Token Latency", "p50"),
	}
	for compared, want := range map[int]string{
		2: "[ ] 97.5 % interval (95 % over TTFT p50 and ITL p50 together)",
		4: "[ ] 97.5 % interval (95 % over all 4 comparisons)",
	} {
		c := Comparison{Comparison: &decide.Comparison{Rows: rows, Compared: compared}}
		if got := c.levels(c.Rows, false); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	further := rows[0] // of another workload
	further.Cell = "concurrency 16"
	c := Comparison{Comparison: &decide.Comparison{Rows: []decide.Row{rows[0], further}, Compared: 2}}
	if got, want := c.levels(c.Rows, false), "[ ] 97.5 % interval (95 % over all 2 comparisons)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A row that says equal, or not worse, by a margin shows the interval that lies within it, and
// the legend has the level of every interval that is shown.
func TestTheIntervalThatDecidedIsShown(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(22, 7))
	plan := sweeptest.PlanOf(t, "multi_run.num_runs=5",
		"compare={axis: endpoint, metrics: [time_to_first_token.p50, inter_token_latency.p50]}",
		"sweep={parameters: {endpoint: [{label: before, url: http://a}, {label: after, url: http://b}]}}")
	narrower := 0
	for range 300 {
		spread, by := 0.15*rng.Float64(), 1+0.08*(rng.Float64()-.5)
		var outcomes []decide.Outcome
		for _, run := range plan.Runs {
			o := decide.Outcome{Run: run, OK: 80, Sent: 80, Summaries: []metrics.Summary{{Window: decide.Full}}}
			for _, tag := range []string{metrics.TimeToFirstToken, metrics.InterTokenLatency} {
				v := 20 * (1 + spread*(rng.Float64()-.5))
				if run.Cell.Index == 1 {
					v *= by
				}
				st := metrics.Blank(tag, "ms")
				st.Count, st.NEff, st.Avg = 80, 80, v
				st.Put("p50", v)
				o.Summaries[0].Stats = append(o.Summaries[0].Stats, st)
			}
			outcomes = append(outcomes, o)
		}
		c := Comparison{Comparison: decide.Aggregate(plan, outcomes).Comparisons[0]}
		legend := c.levels(c.Rows, false)
		for _, r := range c.Rows {
			low, high, _ := r.Shown()
			bracket := strings.Contains(change(r), "[")
			if want := fmt.Sprintf("[ ] %.4g %% interval", 100*r.Level); bracket && !strings.Contains(legend, want) {
				t.Fatalf("%q does not say %s", legend, want)
			}
			if bracket && r.Bounded() {
				t.Fatalf("%s %s: an interval that did not decide it", mark(r), change(r))
			}
			if found := mark(r) == "✗" || mark(r) == "✓"; found && !(r.Low > 0 || r.High < 0) || found != decided(r) {
				t.Fatalf("%s %s", mark(r), change(r))
			}
			harmless := r.Outcome == decide.Unclear && r.Harmless
			if r.Outcome == decide.Equivalent && low < -r.Margin || (r.Outcome == decide.Equivalent || harmless) &&
				high > r.Margin { // of latencies more is harm
				t.Fatalf("%s is shown with [%g, %g]", remark(r), low, high)
			}
			if r.Outcome == decide.Equivalent && r.High > r.Margin {
				narrower++
			}
		}
	}
	if narrower == 0 {
		t.Error("the wider interval never lay beyond the margin")
	}
}

// The first sentence on one workload has the change that is furthest beyond its margin, of
// those that are certain.
func TestHeadlineHasTheSize(t *testing.T) {
	t.Parallel()
	row := func(tag, header, stat, unit string, change, margin float64) decide.Row {
		r := decide.Row{
			Key: decide.Key{Tag: tag, Stat: stat}, Header: header, Unit: unit, Primary: true, N: 5, Margin: margin,
			Base: 20, Candidate: 20 * (1 + change), Change: change, Low: change - .01, High: change + .01,
			Outcome: decide.Worse, BeyondMargin: true,
		}
		return r
	}
	tail := row("time_to_first_token", "Time to First Token", "p90", "ms", .4, .15)
	tail.Count, tail.Effective = 100, 30
	rows := []decide.Row{
		row("output_token_throughput", "Output Token Throughput", "avg", "tokens/sec", -.09, .05),
		row("time_to_first_token", "Time to First Token", "p50", "ms", .15, .05),
		tail,
	}
	c := compared()
	for _, x := range []struct {
		rows []decide.Row
		want string
	}{
		{rows[:1], "after| is slower than before: out tok/s −9.0 % [−10.0, −8.0] (WORSE)"},
		{rows, "after| is slower than before: TTFT p50 +15.0 % [+14.0, +16.0], and 2 more metrics (WORSE)"},
		{rows[2:], "after| is slower than before: TTFT p90 (of few requests) +40.0 % [+39.0, +41.0] (WORSE)"},
	} {
		c.Rows = x.rows
		if got := c.Headline(); got != x.want {
			t.Errorf("got  %q\nwant %q", got, x.want)
		}
	}
	open := row("inter_token_latency", "Inter Token Latency", "p50", "ms", .01, .05)
	open.Outcome = decide.Unclear
	better := row("time_to_first_token", "Time to First Token", "p50", "ms", -.15, .05)
	better.Outcome, better.Harmless = decide.Better, true
	c.Rows = []decide.Row{better, open}
	want := "No decision as a whole (UNDECIDED), but after| is faster than before: TTFT p50 −15.0 % [−16.0, −14.0]; 5 trials leave ITL p50 open"
	if got := c.Headline(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A share says its margin in points, and what both sides have none of has no margin at all.
func TestMarginsOfSharesAreInPoints(t *testing.T) {
	t.Parallel()
	row := func(base, candidate float64, o decide.Verdict, beyond bool) decide.Row {
		return decide.Row{
			Cell: "base", Key: decide.Key{Tag: "error_rate", Stat: "avg"}, Header: "Error Rate", Unit: "ratio",
			Primary: true, Base: base, Candidate: candidate, Change: base - candidate, Low: base - candidate - .01,
			High: base - candidate + .01, EqualLow: math.NaN(), Margin: .01, Outcome: o, BeyondMargin: beyond,
			Detectable: .012,
		}
	}
	c := Comparison{Comparison: &decide.Comparison{
		Baseline: "a", Candidate: "b", Trials: 5, Compared: 1,
		Rows: []decide.Row{row(0, .0323, decide.Worse, true)},
	}}
	for _, x := range []struct {
		row  decide.Row
		want string
	}{
		{row(0, .0323, decide.Worse, true), "worse by over 1 point"},
		{row(.02, .022, decide.Equivalent, false), "equal within 1 point"},
		{row(0, 0, decide.Equivalent, false), "equal: none on either side"},
	} {
		c.Rows = []decide.Row{x.row}
		var b strings.Builder
		if err := c.WriteConsole(&b, Screen{Width: 120}); err != nil || !strings.Contains(b.String(), x.want) {
			t.Errorf("%v: no %q in\n%s", err, x.want, &b)
		}
		if !strings.Contains(b.String(), "smallest change this test finds (80 % power): 1.2 points") {
			t.Errorf("what it finds is not in points:\n%s", &b)
		}
	}
}

// workloads is a comparison of n workloads: of each three metrics that decide.
func workloads(n int, outcome func(cell, metric int) decide.Verdict) Comparison {
	one := compared()
	c := Comparison{Comparison: &decide.Comparison{
		Baseline: "before", Candidate: "after", Paired: true, Trials: 5, Compared: 3 * n,
	}}
	for cell := range n {
		for k, r := range one.Rows[:3] {
			r.Cell, r.Outcome = fmt.Sprintf("isl %d, concurrency 4", 64<<cell), outcome(cell, k)
			c.Rows = append(c.Rows, r)
		}
		r := one.Rows[4]
		r.Cell = c.Rows[len(c.Rows)-1].Cell
		c.Rows = append(c.Rows, r)
	}
	return c
}

// On a terminal a comparison of several workloads has a row for each; a pipe, a narrow
// terminal and --all take everything.
func TestSeveralWorkloadsAreFolded(t *testing.T) {
	t.Parallel()
	c := workloads(6, func(cell, k int) decide.Verdict {
		return []decide.Verdict{decide.Better, decide.Unclear, decide.Equivalent}[(cell+k)%3]
	})
	for _, x := range []struct {
		how    Screen
		folded bool
	}{
		{Screen{Width: 80, Terminal: true}, true},
		{Screen{Width: 200, Terminal: true}, true},
		{Screen{Width: 50, Terminal: true}, false},
		{Screen{Width: 80}, false},
		{Screen{Width: 80, Terminal: true, All: true}, false},
	} {
		var b strings.Builder
		if err := c.WriteConsole(&b, x.how); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(b.String(), "\n"); x.folded != (n <= linesAtLeast) {
			t.Errorf("%+v: %d lines:\n%s", x.how, n, &b)
		}
		for cell := range 6 {
			want := fmt.Sprintf("isl %d, concurrency 4", 64<<cell)
			if strings.Count(b.String(), want) != 1 {
				t.Errorf("%+v: not one %s in\n%s", x.how, want, &b)
			}
		}
		for line := range strings.SplitSeq(b.String(), "\n") {
			if words.Width(line) > x.how.Width {
				t.Errorf("%+v: %d columns: %s", x.how, words.Width(line), line)
			}
		}
	}
	if said := written(t, c)["Markdown"]; strings.Count(said, "| isl 64, concurrency 4 |") != 4 {
		t.Errorf("Markdown does not have every row:\n%s", said)
	}
}

// The headline says of how many workloads nothing can be said, and why; and where nothing was
// decided, what.
func TestTheHeadlineNamesWhatIsOpen(t *testing.T) {
	t.Parallel()
	doubt := func(c Comparison, from int) Comparison {
		for i := range c.Rows {
			if r := &c.Rows[i]; i/4 >= from && r.Primary {
				r.Outcome, r.Undecidable, r.Check = decide.Unclear, true, []string{"coalesced", "turnaround"}[i%2]
				r.Note = "in doubt (check " + r.Check + ")"
			}
		}
		return c
	}
	for _, x := range []struct {
		c    Comparison
		want string
	}{
		{
			doubt(workloads(4, func(_, _ int) decide.Verdict { return decide.Better }), 2),
			"No decision as a whole (UNDECIDED), but after is faster than before in 2 of 4 workloads; the other 2 cannot be judged: the figures are in doubt (checks coalesced and turnaround)",
		},
		{
			doubt(workloads(2, func(_, _ int) decide.Verdict { return decide.Better }), 0),
			"No decision between before and after (UNDECIDED): out tok/s and TTFT p50 cannot be compared: the figures are in doubt (checks coalesced and turnaround)",
		},
		{
			workloads(2, func(_, _ int) decide.Verdict { return decide.Unclear }),
			"No decision yet between before and after (UNDECIDED): 5 trials leave out tok/s and TTFT p50 open",
		},
	} {
		if got := x.c.Headline(); got != x.want {
			t.Errorf("got  %q\nwant %q", got, x.want)
		}
	}
}

// Failures are told for each side, that of which more failed first, with what they failed with.
func TestFailuresAreOfASide(t *testing.T) {
	t.Parallel()
	c := compared()
	for _, x := range []struct {
		failed    [2]decide.Failures
		want, try string
	}{
		{[2]decide.Failures{{Of: 480}, {Of: 480}}, "", ""},
		{
			[2]decide.Failures{{Of: 480}, {Requests: 20, Of: 1480, With: "http_500: overloaded"}},
			"20 of 1,480 requests of after| failed (http_500: overloaded), none of before",
			"--set verdict.errors.warn=0.05",
		},
		{
			[2]decide.Failures{{Requests: 3, Of: 100}, {Requests: 4, Of: 400, With: "timeout"}},
			"3 of 100 requests of before failed, 4 of 400 of after| (timeout)",
			"--set verdict.errors.warn=0.1",
		},
	} {
		c.Failed = x.failed
		if got := words.Clean(c.Failures()); got != x.want {
			t.Errorf("%q, want %q", got, x.want)
		}
		for i := range c.Rows {
			c.Rows[i].Check, c.Rows[i].Undecidable, c.Rows[i].Note = validity.Errors, true, "in doubt (check errors)"
			c.Rows[i].Outcome = decide.Unclear
		}
		for _, how := range []Screen{{Width: 80}, {Width: 80, Terminal: true}} {
			var b strings.Builder
			if err := c.WriteConsole(&b, how); err != nil || !strings.Contains(oneSpace(b.String()), x.want) {
				t.Errorf("%v, no %q in\n%s", err, x.want, &b)
			}
			if x.want == "" {
				continue
			}
			for _, said := range []string{"cannot be compared, because requests failed", x.try} {
				if strings.Count(oneSpace(b.String()), said) != 1 {
					t.Errorf("not once %q in\n%s", said, &b)
				}
			}
		}
	}
}

// What is decided although requests failed is marked, and the mark explained with how many did.
func TestDecidedWhateverFailed(t *testing.T) {
	t.Parallel()
	c := compared()
	c.Failed = [2]decide.Failures{{Of: 480}, {Requests: 20, Of: 480, With: "http_500"}}
	c.Rows = c.Rows[:1]
	r := &c.Rows[0]
	r.Check, r.Whatever, r.Note = validity.Errors, true, "of the requests that succeeded"
	for _, how := range []Screen{{Width: 100}, {Width: 100, Terminal: true}} {
		var b strings.Builder
		if err := c.WriteConsole(&b, how); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"out tok/s −9.1 % [−11.7, −6.5] † (WORSE)", "worse by over 5 % †",
			"† of the requests that succeeded; 20 of 480 requests of after| failed (http_500), none of before",
		} {
			if got := oneSpace(b.String()); strings.Count(got, want) != 1 {
				t.Errorf("not once %q in\n%s", want, &b)
			}
		}
		if strings.Contains(b.String(), "verdict.errors.warn") {
			t.Errorf("what is decided needs no other limit:\n%s", &b)
		}
	}
}

// The answer of an experiment with gates names those that were missed, each once.
func TestAnswerNamesMissedGates(t *testing.T) {
	t.Parallel()
	gate := func(expr string, s decide.State) decide.GateOutcome {
		return decide.GateOutcome{Gate: &decide.Gate{Gate: sweep.Gate{Expr: expr}}, State: s}
	}
	missed := []decide.GateOutcome{
		gate("time_to_first_token.p99 < 120", decide.Missed), gate("error_rate == 0", decide.Held),
	}
	c := compared()
	r := &Report{Plan: &sweep.Plan{}, Results: &decide.Results{
		Cells: []decide.CellResult{{Gates: missed}, {Gates: missed}}, Comparisons: []*decide.Comparison{c.Comparison},
	}}
	if got := r.answer()[0]; got != c.Headline()+"; missed: TTFT p99 < 120 ms" {
		t.Errorf("%q", got)
	}
	r.Results.Cells = nil
	if got := r.answer()[0]; got != c.Headline() {
		t.Errorf("none missed: %q", got)
	}
}

// What the finding above the table has said of failures is not said again below it.
func TestFailuresAreSaidOnce(t *testing.T) {
	t.Parallel()
	c := compared()
	c.Failed = [2]decide.Failures{{Of: 480}, {Requests: 20, Of: 480, With: "http_500"}}
	r := &c.Rows[0]
	r.Undecidable, r.Check, r.Note = true, validity.Errors, "in doubt (check errors)"
	for told, want := range map[bool]string{false: "20 of 480 requests of after| failed", true: "requests failed; to compare"} {
		c.told = told
		said := ""
		for _, line := range c.remarks(c.Rows, nil, "", false) {
			said += line.text + "\n"
		}
		if !strings.Contains(said, want) || strings.Contains(said, "of after| failed") == told {
			t.Errorf("told above %v: no %q in\n%s", told, want, said)
		}
	}
}
