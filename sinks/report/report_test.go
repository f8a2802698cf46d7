package report

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
	"aiperf.dev/aiperf/sweep/sweeptest"
)

// spread is a distribution of n requests with these percentiles.
func spread(tag, unit string, n int64, p50, p90, p99 float64, in ...metrics.Interval) metrics.Stat {
	return metrics.Stat{
		Tag: tag, Unit: unit, Count: n, NEff: float64(n), Avg: p50, P50: p50, P90: p90, P99: p99,
		Intervals: in,
	}
}

func single(tag string, v float64) metrics.Stat { return metrics.Stat{Tag: tag, Scalar: true, Avg: v} }

// One run, with all that a report may have to say.
func TestReportOnOneRun(t *testing.T) {
	t.Parallel()
	inf := math.NaN() // absent from the summary: the percentile falls among the failures
	r := &Report{
		Plan: &sweep.Plan{}, Results: &decide.Results{}, Verdict: validity.Degraded, Dir: "results/demo",
		Client: "11 % of 2 cores, 99 % of the sends at most 90.0 µs late",
		Doubts: []Doubt{{
			Verdict: validity.Degraded, Check: "errors",
			Detail: "10 of 1000 requests failed: http_503: busy", Try: "look", Runs: 1,
		}},
		Asked:   "asked 64",
		FullFor: 27 * time.Second, SteadyFor: 21340 * time.Millisecond,
		Missed:   map[string]int64{"time_to_first_token": 23},
		Errors:   []verdict.ErrorCount{{Kind: "http_503", Message: "busy", Count: 10}},
		Requests: record.Counts{OK: 990, Failed: 10},
		Notices:  []string{"10 of 1000 requests failed: http_503: busy", "something else"},
		Full: &metrics.Summary{Stats: []metrics.Stat{
			spread("time_to_first_token", "ms", 990, 41.2, 52, 63.4, metrics.Interval{Stat: "p50", Low: 41, High: 41.5},
				metrics.Interval{Stat: "p99", Low: 60.1, High: 71}),
			spread("adj_time_to_first_token", "ms", 1000, 41.3, 52.4, inf),
			spread("time_to_first_token_from_intended", "ms", 990, 41.3, 52.1, 64),
			spread("inter_token_latency", "ms", 500, 0.05, 0.9999, 12_345,
				metrics.Interval{Stat: "p90", Low: 0.9, High: 1.1}),
			spread("request_latency", "ms", 990, 364, 402, 431),
			spread("request_latency_from_intended", "ms", 990, 364, 802, 1431),
			spread("output_token_throughput_per_user", "tokens/sec/user", 990, 196, 179, 166),
			single("output_token_throughput", 3104), single("request_throughput", 48.5),
			single("benchmark_duration", 27), single("goodput", 46.9), single("good_request_fraction", 0.967),
			spread("output_sequence_length", "tokens", 990, 64, 64, 64),
			spread("input_sequence_length", "tokens", 990, 512, 512, 512),
		}},
		Steady: &metrics.Summary{Stats: []metrics.Stat{
			// another p99
			spread("time_to_first_token", "ms", 800, 41.2, 52, 60.1, metrics.Interval{Stat: "p99", Low: 58, High: 66}),
			// the same, but for a hair
			spread("request_latency", "ms", 800, 364.1, 402, 430),
			// another rate
			single("request_throughput", 47.1),
		}},
		Taints: validity.Taints{
			"request_latency":             {Check: "errors", Level: validity.Doubtful},
			"e2e_output_token_throughput": {Check: "errors", Level: validity.Doubtful},
		}, // the other one is not shown
	}
	var b strings.Builder
	if err := onTerminal(r).WriteConsole(&b); err != nil {
		t.Fatal(err)
	}
	want := `DEGRADED  10 of 1000 requests failed: http_503: busy (check errors)
  try look
967 of 1,000 requests (96.7 %) met the limits
                        mean     p50     p90     p99
TTFT                    41.2    41.2    52.0    60.1 ms
  failures as ∞         41.3    41.3    52.4       ∞ ms
ITL                   0.0500  0.0500    1.00  12,300 ms
Request latency †        364     364     402     430 ms
Latency from schedule    364     364     802   1,430 ms
Throughput       3,100 tok/s · 47.1 req/s · 196 tok/s per user
Whole run        3,100 tok/s · 48.5 req/s in 27.0 s; above: its steady 21.3 s
Goodput          46.9 req/s; 23 missed TTFT; 10 failed
† latencies, tok/s and req/s are of the 990 requests that succeeded
Errors           10 of 1,000
note: something else
open             results/demo/
`
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(b.String(), "\n")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for line := range strings.SplitSeq(b.String(), "\n") {
		if len([]rune(line)) > 80 {
			t.Errorf("%d columns: %s", len([]rune(line)), line)
		}
	}
}

// Between AIPerf's tables and the screen a line says what each is of; the reason for many
// requests names the metric in which consecutive ones are similar.
func TestWhatTheFiguresAreOf(t *testing.T) {
	t.Parallel()
	r := &Report{
		Plan: &sweep.Plan{}, Results: &decide.Results{}, Verdict: validity.Valid, Requests: record.Counts{OK: 200},
		FullFor: 27 * time.Second, SteadyFor: 21 * time.Second,
		Full: &metrics.Summary{Stats: []metrics.Stat{
			spread("time_to_first_token", "ms", 200, 41, 52, 63), spread("request_latency", "ms", 200, 364, 402, 431),
		}},
	}
	r.Full.Stats[0].NEff, r.Full.Stats[1].NEff = 37, 112
	if got := r.BesideTables(); got != "AIPerf's tables above are of the whole run; so are the figures below" {
		t.Error(got)
	}
	var b strings.Builder
	if err := r.WriteConsole(&b); err != nil || !strings.Contains(oneSpace(b.String()), "(so many because 200 consecutive requests with similar TTFT say as much as 37 independent ones)") {
		t.Errorf("%v:\n%s", err, &b)
	}
	r.Steady = r.Full
	if got := r.BesideTables(); got != "AIPerf's tables above are of the whole run; below is its steady 21.0 s of 27.0 s" {
		t.Error(got)
	}
	r.SteadyFor = r.FullFor - time.Millisecond
	if got := r.BesideTables(); strings.Contains(got, "27.0 s") || !strings.HasSuffix(got, "; below is nearly all of it") {
		t.Error(got)
	}
	r.Full = nil
	if got := r.BesideTables(); !strings.HasPrefix(got, "Above is AIPerf's table of each run") {
		t.Error(got)
	}
}

// The rate of good requests says which span it is of where the counts beside it are of
// another.
func TestGoodputSaysItsSpan(t *testing.T) {
	t.Parallel()
	for steady, want := range map[float64]string{52.5: "Goodput 52.5 req/s in the steady window", 53.3: "Goodput 53.3 req/s Errors"} {
		full := metrics.Summary{Stats: []metrics.Stat{
			spread("request_latency", "ms", 200, 364, 402, 431), single("good_request_fraction", 1), single("goodput", 53.3),
		}}
		r := &Report{
			Plan: &sweep.Plan{}, Results: &decide.Results{}, Verdict: validity.Valid, Requests: record.Counts{OK: 200},
			Full: &full, Steady: &metrics.Summary{Stats: []metrics.Stat{full.Stats[0], single("goodput", steady)}},
		}
		var b strings.Builder
		if err := r.WriteConsole(&b); err != nil || !strings.Contains(oneSpace(b.String()), want) {
			t.Errorf("%v, no %q in\n%s", err, want, &b)
		}
	}
}

// A mark in the legend stands at a number, and INVALID with exit code 0 says why.
func TestLegendAndAllowInvalid(t *testing.T) {
	t.Parallel()
	r := &Report{
		Plan: &sweep.Plan{Experiment: schema.Experiment{AllowInvalid: true}}, Results: &decide.Results{},
		Verdict: validity.Invalid,
		Full: &metrics.Summary{Stats: []metrics.Stat{
			spread("request_latency", "ms", 990, 364, 402, 431),
			spread("request_latency_from_intended", "ms", 990, 364, 402, 431),
		}},
		Taints: validity.Taints{"request_latency_from_intended": {
			Check: "dispatch_lateness",
			Level: validity.Doubtful,
		}}, // its row says nothing else and is left out
	}
	var b strings.Builder
	if err := r.WriteConsole(&b); err != nil || strings.Contains(b.String(), validity.DoubtMark) {
		t.Errorf("a legend without its mark (%v):\n%s", err, &b)
	}
	if !strings.Contains(b.String(), "exit code 0 because allow_invalid is set\n") {
		t.Errorf("no word of allow_invalid:\n%s", &b)
	}
	r.Taints["request_latency"], r.Verdict = validity.Taint{Check: "errors", Level: validity.Doubtful},
		validity.Degraded
	b.Reset()
	if err := r.WriteConsole(&b); err != nil || !strings.Contains(b.String(), "Request latency †") ||
		!strings.Contains(b.String(), "† in doubt (check errors): aiperf checks") ||
		strings.Contains(b.String(), "allow_invalid") {
		t.Errorf("%v:\n%s", err, &b)
	}
}

// A finding marks the percentiles that it touches and leaves the others of the row;
// the report says what is touched, and that all else holds.
func TestMarksOfSinglePercentiles(t *testing.T) {
	t.Parallel()
	level := func(l validity.Level) validity.Taint { return validity.Taint{Check: "coalesced", Level: l} }
	r := &Report{
		Plan: &sweep.Plan{}, Results: &decide.Results{}, Verdict: validity.Degraded,
		Full: &metrics.Summary{Stats: []metrics.Stat{
			spread("inter_token_latency", "ms", 990, 11, 12, 13), spread("request_latency", "ms", 990, 364, 402, 431),
			single("request_throughput", 48.5),
		}},
		Taints: validity.Taints{
			"inter_token_latency.p90": level(validity.Wrong),
			"inter_token_latency.p95": level(validity.Wrong), "request_latency": level(validity.Doubtful), "request_latency.p99": level(validity.Wrong),
		},
		Touched: map[string]validity.Level{
			"inter_token_latency.p95": validity.Wrong,
			"inter_token_latency.p90": validity.Wrong, "request_latency": validity.Doubtful,
		},
		Spoiled: []string{"inter_token_latency.p90, asked for by the gate inter_token_latency.p90 < 5, is invalid (check coalesced)"},
	}
	for _, tag := range metrics.Resting(metrics.PerSecond) {
		r.Touched[tag] = validity.Doubtful
	}
	var b strings.Builder
	if err := r.WriteConsole(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"ITL                 11.0    11.0    12.0!   13.0  ms\n",
		"Request latency ~    364     364     402     431! ms\n",
		"  not usable: ITL p90; in doubt: rates and latency; all else holds\n",
		"  inter_token_latency.p90, asked for by the gate inter_token_latency.p90 < 5, is\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	b.Reset()
	if r.Everything = true; r.WriteConsole(&b) != nil || strings.Contains(b.String(), "all else") {
		t.Errorf("everything is touched, and something holds:\n%s", &b)
	}
}

// What has no line of its own is counted, with what is said of it.
func TestGatesBeyondTheLines(t *testing.T) {
	t.Parallel()
	gate := &decide.Gate{Gate: sweep.Gate{Expr: "error_rate == 0"}}
	bound := decide.GateOutcome{Gate: gate, Held: true, State: decide.Held, Note: "as observed; true rate at most 4 %"}
	plain := decide.GateOutcome{Gate: gate, Held: true, State: decide.Held}
	missed, open := decide.GateOutcome{Gate: gate, State: decide.Missed, Text: "1 %"}, decide.GateOutcome{
		Gate:  gate,
		State: decide.Undecided, Text: "2 % [0, 4]", Note: "9 trials decide it: --num-profile-runs 9",
	}
	cell := decide.CellResult{Cell: &sweep.Cell{}, Gates: []decide.GateOutcome{
		bound, bound, bound,
		plain, bound, bound, bound, plain, open, missed,
	}}
	r := &Report{
		Plan: &sweep.Plan{
			Gates:      []sweep.Gate{gate.Gate},
			Experiment: schema.Experiment{GatesUndecided: decide.AsMissed},
		},
		Results: &decide.Results{
			Level: 0.95, GatesHeld: 8, GatesMissed: 2,
			GatesUndecided: 1, Cells: []decide.CellResult{cell},
		},
	}
	b := newSheet(0)
	r.gates(b)
	want := `gates    8 of 10 passed, 1 missed, 1 not decided yet (limit inside the 95 %
         interval); counted as missed
  ✗ error_rate == 0    1 %
  ? error_rate == 0    2 % [0, 4] (9 trials decide it: --num-profile-runs 9)
`
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b, want)
	}
}

// The line of a gate that is not decided says once that it is not, and what it counts as.
func TestAGateThatIsNotDecided(t *testing.T) {
	t.Parallel()
	gate := &decide.Gate{Gate: sweep.Gate{Expr: "good_request_fraction >= 0.99"}}
	r := &Report{
		Plan:     &sweep.Plan{Gates: []sweep.Gate{gate.Gate}},
		Requests: record.Counts{OK: 100},
		Results: &decide.Results{Level: 0.95, GatesMissed: 1, Cells: []decide.CellResult{{Gates: []decide.GateOutcome{
			{Gate: gate, State: decide.Undecided, Undecidable: true},
		}}}},
	}
	if got, want := r.gatesSentence(true), "not decided; counted as missed; no errors in 100 requests"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r.Plan.Experiment.GatesUndecided = decide.AsPassed
	if got := r.gatesSentence(true); !strings.HasPrefix(got, "not decided; counted as passed") {
		t.Error(got)
	}
}

// A matrix says what is shown and what is not, and what would show more.
func TestReportOnAMatrix(t *testing.T) {
	t.Parallel()
	trials := func(mean, half float64, n int) stats.Estimate {
		return stats.Estimate{Mean: mean, Low: mean - half, High: mean + half, N: n}
	}
	cell := func(conc string, tput, ttft stats.Estimate) decide.CellResult {
		at := sweep.Value{Axis: "concurrency", Label: conc}
		return decide.CellResult{
			Cell:   &sweep.Cell{Point: []sweep.Value{at}},
			Status: decide.Complete, Trials: 2, Verdict: validity.Valid,
			Info: map[string]metrics.Stat{"time_to_first_token": {NEff: 700, Count: 700}},
			Full: decide.Known(map[decide.Key]stats.Estimate{
				{Tag: "output_token_throughput", Stat: "avg"}: tput,
				{Tag: "time_to_first_token", Stat: "p99"}:     ttft,
			}),
		}
	}
	gate := &decide.Gate{Gate: sweep.Gate{Expr: "time_to_first_token.p99 < 50"}}
	r := &Report{
		Plan: &sweep.Plan{
			Axes: []schema.Axis{{Name: "concurrency"}}, Trials: 2, Cells: make([]*sweep.Cell, 2),
			Gates: []sweep.Gate{gate.Gate},
		},
		Verdict: validity.Valid, Dir: "results/m", View: "report.html", Elapsed: 842 * time.Second,
		Results: &decide.Results{Level: 0.95, GatesHeld: 2, Cells: []decide.CellResult{
			cell("4", trials(702, 6, 2), trials(46, 2, 2)), cell("16", trials(741, 5, 2), trials(40, 12, 2)),
		}},
	}
	r.Results.Cells[0].Gates = []decide.GateOutcome{{Gate: gate, Held: true, State: decide.Held}}
	r.Results.Cells[1].Gates = []decide.GateOutcome{{
		Gate: gate, Held: true, State: decide.Undecided,
		Text: "40 [28, 52]", Trials: decide.Trials{Least: 9, Most: 9}, Note: "9 trials decide it: --num-profile-runs 9",
	}}
	r.Results.Cells[1].Front, r.Results.Cells[0].Front, r.Results.Cells[0].Knee,
		r.Results.GatesUndecided = decide.OnFront, decide.Dominated, true, 1
	r.Results.Best = []decide.Best{
		{Objective: decide.Objective{Name: "throughput"}, Said: "concurrency 16 (741 tok/s)", Shown: true, RunnerUp: &r.Results.Cells[0]},
		{Objective: decide.Objective{Name: "latency", Key: decide.Key{Tag: "time_to_first_token", Stat: "p99"}}, Said: "not decided yet; concurrency 16 and concurrency 4 may be best (2 trials)", RunnerUp: &r.Results.Cells[0]},
	}
	var b strings.Builder
	if err := r.WriteConsole(&b); err != nil {
		t.Fatal(err)
	}
	want := `Best throughput: concurrency 16 (741 tok/s)  2 cells × 2 trials · 14m02s · VALID
Best latency (TTFT p99): not decided yet; concurrency 16 and concurrency 4 may
be best (2 trials)
 conc  out tok/s  TTFT p99 ms
 4       702 ± 6   46.0 ± 2.0  knee
 16      741 ± 5    40.0 ± 12  *
± 95 % interval · * no row is better in both throughput and latency
knee: more load adds latency
to decide the gates: --num-profile-runs 9
gates    1 of 2 passed, 1 not decided yet (limit inside the 95 % interval);
         counted as passed, by its value
  ? TTFT p99 < 50 ms    40 ms [28, 52] at concurrency 16 (9 trials decide it:
                 --num-profile-runs 9)
open     results/m/report.html
`
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(b.String(), "\n")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The lines of errors add up to the number above them, what was cancelled on
// purpose is no error, and a server's words act on no terminal.
func TestErrorsAddUp(t *testing.T) {
	t.Parallel()
	r := &Report{
		Plan:    &sweep.Plan{Trials: 1, Cells: make([]*sweep.Cell, 2), Runs: make([]sweep.Run, 20)},
		Results: &decide.Results{}, Verdict: validity.Invalid, Dir: "out\x1b]0;x\a",
		Errors: []verdict.ErrorCount{
			{Kind: "http_503", Message: "\x1b[2Jbusy", Count: 40},
			{Kind: "timeout", Count: 12, Message: "12 s", Alike: true},
			{Kind: "connection refused", Message: "no", Count: 6},
			{Kind: "truncated", Count: 2},
			{Kind: "parse_error", Count: 1},
		},
		FailedRuns: []FailedRun{{
			Cell: "concurrency 4", Trial: 3, Place: 2, Of: 4,
			Why: "cannot reach http://h: \x1b[2Jrefused",
		}},
		Requests: record.Counts{OK: 511, Failed: 61, Cut: 4},
		Runs:     20,
	}
	var b strings.Builder
	if err := r.WriteConsole(&b); err != nil {
		t.Fatal(err)
	}
	want := `Errors           61 of 572 answered
  40× http_503: busy
  12× timeout, such as: 12 s
  6× connection refused: no
  and 3 more, of 2 other kinds
Cut off          4 of 576 sent, by the end of the phase
Failed runs      1 of 20; in no average
  concurrency 4, trial 3 (run 2 of 4 in it): cannot reach http://h: refused
`
	if got := b.String(); !strings.Contains(got, want) || strings.ContainsAny(got, "\x1b\a") {
		t.Errorf("want in it\n%s\ngot\n%q", want, got)
	}
}

// A number that a finding makes invalid is not one that the requests were enough for, and
// one of which only two ends are known says that it is the upper one.
func TestInvalidPercentilesAreNotCalledCertain(t *testing.T) {
	t.Parallel()
	run := decide.Outcome{
		Verdict: validity.Degraded, OK: 200, Sent: 200,
		Ends: []decide.Ends{{Key: decide.Key{Tag: "time_to_first_token", Stat: "p90"}, Low: 12, High: 26.1}},
	}
	full := metrics.Summary{Window: "full", Stats: []metrics.Stat{
		spread("time_to_first_token", "ms", 200, 20, 26.1, 31), spread("request_latency", "ms", 200, 364, 402, 431),
	}}
	run.Summaries = []metrics.Summary{full}
	plan := sweeptest.PlanOf(t, "benchmark.endpoint.streaming=true")
	run.Run = plan.Runs[0]
	r := &Report{
		Plan: plan, Results: decide.Aggregate(plan, []decide.Outcome{run}), Verdict: validity.Degraded,
		Requests: record.Counts{OK: 200}, Full: &full,
		Doubts: []Doubt{{Verdict: validity.Degraded, Check: "coalesced", Detail: "answers began together"}},
	}
	screen := func() string {
		var b strings.Builder
		if err := r.WriteConsole(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if s := screen(); !strings.Contains(s, "enough for p50") || !strings.Contains(s, " ≤26.1") {
		t.Errorf("without a mark:\n%s", s)
	}
	r.Taints = validity.Taints{"time_to_first_token.p90": {Check: "coalesced", Level: validity.Wrong}}
	if s := screen(); strings.Contains(s, "enough for") || !strings.Contains(s, " ≤26.1!") {
		t.Errorf("with one:\n%s", s)
	}
}

// The counts of missed limits overlap, and say by how much.
func TestMissesOverlap(t *testing.T) {
	t.Parallel()
	r := &Report{Missed: map[string]int64{"time_to_first_token": 98, "inter_token_latency": 16}, MissedSeveral: 4}
	if got, want := r.missedLimits(), "; 16 missed ITL; 98 missed TTFT (4 missed both)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r.Missed["request_latency"] = 7
	if got := r.missedLimits(); !strings.HasSuffix(got, "TTFT (4 missed more than one)") {
		t.Error(got)
	}
	if r.MissedSeveral = 0; strings.Contains(r.missedLimits(), "(") {
		t.Error(r.missedLimits())
	}
}
