package report

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
	"aiperf.dev/aiperf/sweep/search"
	"aiperf.dev/aiperf/sweep/sweeptest"
)

// Where most requests failed that is said first, whatever else is found, and no
// percentile of the few others stands there.
func TestMostRequestsFailed(t *testing.T) {
	t.Parallel()
	r := &Report{
		Plan: &sweep.Plan{}, Results: &decide.Results{}, Verdict: validity.Invalid, Dir: "out",
		Runs: 1, Requests: record.Counts{OK: 6, Failed: 294},
		Doubts: []Doubt{
			{Verdict: validity.Invalid, Check: "turnaround", Detail: "gaps in the client"},
			{Verdict: validity.Degraded, Check: "errors", Detail: "294 of 300 requests failed: http_500"},
		},
		Full: &metrics.Summary{Stats: []metrics.Stat{
			{Tag: "time_to_first_token", Unit: "ms", Count: 6, NEff: 6, Avg: 41.2, P50: 41.2, P90: 52, P99: 63},
			{Tag: "request_latency", Unit: "ms", Count: 6, NEff: 6, Avg: 364, P50: 364, P90: 402, P99: 431},
		}},
		Taints: validity.Taints{},
	}
	for _, m := range metrics.Catalogue() {
		r.Taints[m.Tag] = validity.Taint{Check: "errors", Level: validity.Doubtful}
	}
	var b strings.Builder
	if err := onTerminal(r).WriteConsole(&b); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	if first, _, _ := strings.Cut(got, "\n"); !strings.Contains(first, "294 of 300 requests failed") {
		t.Errorf("the first line is %q", first)
	}
	for _, number := range []string{"52.0", "63.0", "402", "431", "41.2" + validity.FailedMark} {
		if strings.Contains(got, number) {
			t.Errorf("%s stands there:\n%s", number, got)
		}
	}
	for _, said := range []string{
		"are of the 6 requests that succeeded",
		"Latencies, tok/s and req/s are of the 6 requests that succeeded, without the 294 that failed",
	} {
		if !strings.Contains(oneSpace(got), said) {
			t.Errorf("no %q in\n%s", said, got)
		}
	}
}

// The counts of the sentences on gates and limits add up to the gates and cells, for any
// outcomes, and the cells that missed a limit are named.
func TestEveryGateAndCellIsCounted(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(22, 4))
	states := []decide.State{decide.Held, decide.Missed, decide.Undecided}
	for range 2000 {
		r := &Report{
			Plan: &sweep.Plan{Gates: make([]sweep.Gate, 1)}, Results: &decide.Results{Level: .95},
			Requests: record.Counts{Failed: 1},
		}
		want := map[string]int{}
		missed := []string{}
		for i := range 1 + rng.IntN(5) {
			name := string(rune('a' + i))
			c := decide.CellResult{Trials: 3, Cell: &sweep.Cell{
				Label: name,
				Point: []sweep.Value{{Axis: "model", Label: name}}, Resolved: &schema.Resolved{},
			}}
			g := decide.GateOutcome{State: states[rng.IntN(3)]}
			g.Held = g.State == decide.Held || g.State == decide.Undecided && rng.IntN(2) == 0
			g.Undecidable = g.State == decide.Undecided && rng.IntN(2) == 0
			g.Unusable = g.Undecidable && !g.Held && rng.IntN(2) == 0
			if g.Unmeasured = g.Undecidable && !g.Unusable && rng.IntN(3) == 0; g.Unmeasured {
				g.Held = false
			}
			switch {
			case g.Unmeasured:
				want["not measured"]++
			case g.Undecidable:
				want["cannot be judged"]++
			case g.State == decide.Undecided:
				want["not decided yet"]++
			case g.State == decide.Held:
				want["passed"]++
			default:
				want["missed"]++
			}
			if c.Gates = append(c.Gates, g); g.Held {
				r.Results.GatesHeld++
			} else {
				r.Results.GatesMissed++
			}
			c.SLOs = []decide.SLOOutcome{{State: states[rng.IntN(3)]}}
			if c.SLOs[0].State == decide.Missed {
				missed = append(missed, "model "+name)
			}
			r.Results.Cells = append(r.Results.Cells, c)
		}
		said, _, _ := strings.Cut(r.GatesSentence(), ";")
		if n := len(r.Results.Cells); want["not measured"] == n {
			if said != "not measured, which counts as missed" {
				t.Fatalf("%q, and nothing was measured", said)
			}
			continue
		}
		for what, n := range want {
			if what == "missed" && want["cannot be judged"]+want["not decided yet"]+want["not measured"] == 0 {
				continue // the rest
			}
			if what != "passed" && !strings.Contains(said, ", "+digit(n)+" "+what) ||
				what == "passed" && !strings.HasPrefix(said, digit(n)+" of ") {
				t.Fatalf("%q does not say that %d %s", said, n, what)
			}
		}
		if got := r.namesOf(r.ofLimits(decide.Missed, false)); !slices.Equal(got, missed) && len(missed)+len(got) > 0 {
			t.Fatalf("missed %v, want %v", got, missed)
		}
	}
}

func digit(n int) string { return string(rune('0' + n)) }

// A percentile is certain, and asks for as many requests, in one way: a screen never calls
// certain what a plan or a comparison calls uncertain.
func TestOneNumberOfRequests(t *testing.T) {
	t.Parallel()
	for _, stat := range shownPercentiles {
		q := percentileOf[stat]
		need := decide.RequestsFor(q, 0, 0)
		if !decide.Certain(q, int64(need), need) || decide.Certain(q, int64(need)*3/4, need) && stat != "p50" {
			t.Errorf("%s asks for %.0f requests", stat, need)
		}
		for _, worth := range []float64{0.1, 0.5, 0.9} {
			n := decide.RequestsFor(q, 100*worth, 100)
			if !decide.Certain(q, int64(n), n*worth) {
				t.Errorf("%s of %.0f requests, each worth %g, is uncertain", stat, n, worth)
			}
		}
	}
}

// What a number is called in a sentence is what it is in the table, with an interval and
// without.
func TestNumbersRoundAlike(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(22, 2))
	for range 5000 {
		mean := rng.Float64() * []float64{1, 10, 100, 1e3, 1e4, 1e6}[rng.IntN(6)]
		e := estimated(mean, mean*0.2*rng.Float64())
		if got, want := estimate(e, false), words.Number(mean); !strings.HasPrefix(got, want) {
			t.Fatalf("%q in the table, %q in a sentence", got, want)
		}
	}
}

// A change that rounds to nothing has no sign.
func TestNoChangeHasNoSign(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{-1e-9: "0.0", 1e-9: "0.0", 0: "0.0", -0.2: "−20", 0.013: "+1.3"} {
		if got := rounded(v); got != want {
			t.Errorf("%g is %q, want %q", v, got, want)
		}
	}
}

func estimated(mean, half float64) stats.Estimate {
	return stats.Estimate{Mean: mean, Low: mean - half, High: mean + half, N: 5}
}

// A search that was stopped before its first run ended has no table.
func TestSearchWithoutALoad(t *testing.T) {
	t.Parallel()
	var s sheet
	(&Report{Search: &search.Answer{}}).probes(&s)
	if s.String() != "" {
		t.Errorf("it prints %q", s.String())
	}
}

// However much is in doubt, missed or not decided, the screen of a comparison over four
// workloads has twenty lines, and names the first finding and what to type.
func TestABusyMachinesScreenIsFolded(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(22, 5))
	checks := []string{"coalesced", "turnaround", "scheduling_delay", "late"}
	for range 30 {
		r := crowded(t, rng, checks,
			"sweep={parameters: {dataset.isl: [64, 256], phases.profiling.concurrency: [1, 4], endpoint: [{label: baseline, url: http://a}, {label: candidate, url: http://b}]}}",
			"compare={axis: endpoint, metrics: [time_to_first_token.p50, inter_token_latency.p50]}", `gates=["time_to_first_token.p99 < 250", "error_rate == 0"]`)
		r.Width = widths(rng)
		var b strings.Builder
		if err := onTerminal(r).WriteConsole(&b); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		hasLevels(t, got)
		if n := strings.Count(got, "\n"); n > linesAtLeast {
			t.Fatalf("%d lines:\n%s", n, got)
		}
		if !strings.Contains(got, r.Doubts[0].Check) || !strings.Contains(got, "aiperf checks "+r.Dir) {
			t.Fatalf("no finding, or not what to type:\n%s", got)
		}
	}
}

// crowded is a plan with random doubts about its numbers.
func crowded(t *testing.T, rng *rand.Rand, checks []string, sets ...string) *Report {
	t.Helper()
	plan := sweeptest.PlanOf(t, append(sets, "multi_run.num_runs=5", "benchmark.endpoint.streaming=true",
		"benchmark.slos={time_to_first_token: 100, inter_token_latency: 10}")...)
	plan.Experiment.AllowInvalid = true
	if err := decide.CheckGates(plan, metrics.Tags()); err != nil {
		t.Fatal(err)
	}
	r := &Report{
		Plan: plan, Verdict: validity.Invalid, Dir: "results/quickstart-20261127T132916Z",
		Runs: len(plan.Runs), View: "report.html", Requests: record.Counts{OK: 3200},
		Touched: map[string]validity.Level{}, Elapsed: 40e9,
	}
	for i, check := range checks[:1+rng.IntN(len(checks))] {
		r.Doubts = append(r.Doubts, Doubt{
			Verdict: validity.Invalid, Check: check, Runs: 1 + i,
			Try:     "a quieter machine or fewer streams; very short answers need a lower concurrency",
			Detail:  "without gaps in this client, throughput would be up to 8.23 % higher",
			Because: "the client read bytes up to 27.4 ms late (p99), 6.9 times an ITL",
		})
	}
	for _, m := range metrics.Catalogue() {
		if rng.IntN(4) == 0 {
			r.Touched[m.Tag] = []validity.Level{validity.Doubtful, validity.Wrong}[rng.IntN(2)]
		}
	}
	slow, far := 1+rng.Float64(), 0.3*rng.Float64()
	var outcomes []decide.Outcome
	for _, run := range plan.Runs {
		o := decide.Outcome{
			Run: run, OK: 80, Sent: 80, Taints: validity.Taints{},
			Summaries: []metrics.Summary{{Window: decide.Full}},
		}
		of := func(tag, unit string, p50 float64) {
			st := metrics.Blank(tag, unit)
			st.Count, st.NEff = 80, 40
			p50 *= 1 + far*rng.Float64()
			st.Avg = p50
			for _, stat := range []string{"p50", "p90", "p99"} {
				st.Put(stat, p50*(1+far*rng.Float64()))
			}
			o.Summaries[0].Stats = append(o.Summaries[0].Stats, st)
			if rng.IntN(8) == 0 {
				o.Taints[tag] = validity.Taint{Check: checks[rng.IntN(len(checks))], Level: validity.Doubtful}
			}
		}
		first := 20.0
		if strings.Contains(run.Cell.Label, "candidate") {
			first /= slow
		}
		of(metrics.OutputTokenThroughput, "tokens/sec", 4000/first)
		of(metrics.TimeToFirstToken, "ms", first)
		of(metrics.InterTokenLatency, "ms", 4)
		of(metrics.ErrorRate, "ratio", 0)
		of(metrics.GoodRequestFraction, "ratio", 1)
		outcomes = append(outcomes, o)
	}
	r.Results = decide.Aggregate(plan, outcomes)
	return r
}

// A matrix of eighteen cells has thirty lines, and each gate that is missed is named with
// its value, however much is in doubt.
func TestABusyMachinesMatrixIsFolded(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(22, 6))
	for range 10 {
		r := crowded(t, rng, []string{"coalesced", "turnaround", "late"},
			"sweep={parameters: {dataset.isl: [64, 256, 512], phases.profiling.concurrency: [1, 2, 4, 8, 12, 16]}}", `gates=["time_to_first_token.p99 < 15", "error_rate == 0"]`)
		r.Limit = "The client sent less load than requested (6 of 18 cells); prompts take the server's time (7 of 18 cells); what limits the server is not known (5 of 18 cells)."
		r.Width = widths(rng)
		var b strings.Builder
		if err := onTerminal(r).WriteConsole(&b); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		hasLevels(t, got)
		if n := strings.Count(got, "\n"); n > len(r.Results.Cells)+linesBeyond {
			t.Fatalf("%d lines:\n%s", n, got)
		}
		if r.Results.GatesMissed > 0 && !strings.Contains(got, "✗ TTFT p99 < 15 ms    ") {
			t.Fatalf("a missed gate is not named:\n%s", got)
		}
		for _, b := range r.Results.UnderSLO { // "no cell" is said only where all are shown to miss
			for i := range r.Results.Cells {
				c := &r.Results.Cells[i]
				missed := slices.ContainsFunc(c.Gates,
					func(g decide.GateOutcome) bool { return g.State == decide.Missed }) ||
					slices.ContainsFunc(c.SLOs, func(o decide.SLOOutcome) bool { return o.State == decide.Missed })
				if work, _ := c.Cell.Apart(); work == b.Work && !missed && strings.HasPrefix(b.Brief(), "no cell") {
					t.Fatalf("%s may meet the limits:\n%s", c.Cell.Short(), got)
				}
			}
		}
	}
}

// hasLevels fails where a screen has an interval and does not say at which level.
func hasLevels(t *testing.T, screen string) {
	t.Helper()
	if intervals.MatchString(screen) && !strings.Contains(oneSpace(screen), " % interval") {
		t.Fatalf("the level of the intervals is not said:\n%s", screen)
	}
}

var intervals = regexp.MustCompile(`± [0-9]|\[[+−]?[0-9][0-9.,]*, [+−]?[0-9]`)

// widths are those of terminals that a screen is drawn for.
func widths(rng *rand.Rand) int { return 60 + rng.IntN(141) }

// The screen of one run has sixteen lines on a terminal, whatever was found, missed, failed or cut off,
// at any width: the verdict with its first finding first, the table, the errors, and where to look
// further last. A pipe takes all.
func TestAScreenOfOneRunIsShort(t *testing.T) {
	t.Parallel()
	plan := sweeptest.PlanOf(t, "benchmark.endpoint.streaming=true",
		"benchmark.slos={time_to_first_token: 100, inter_token_latency: 10}",
		`gates=["time_to_first_token.p99 < 15", "error_rate == 0", "request_throughput > 3"]`)
	if err := decide.CheckGates(plan, metrics.Tags()); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(22, 10))
	checks := []string{"coalesced", "turnaround", "scheduling_delay", "late", "errors"}
	for range 400 {
		r := drawnRun(plan, rng, checks)
		r.Width = widths(rng)
		var b strings.Builder
		if r = onTerminal(r); rng.IntN(2) == 0 {
			r.Terminal = false // a pipe takes all
		}
		if err := r.WriteConsole(&b); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
		hasLevels(t, got)
		if r.Terminal && len(lines) > linesOfOne {
			t.Fatalf("%d lines at %d columns:\n%s", len(lines), r.Width, got)
		}
		first := lines[0]
		if r.Stopped != "" {
			if !strings.HasPrefix(first, "PARTIAL: ") {
				t.Fatalf("the first line does not say that it was stopped:\n%s", got)
			}
			for _, first = range lines[1:] { // its other lines are indented, or begin in lower case
				if unicode.IsUpper([]rune(first)[0]) {
					break
				}
			}
		}
		// what was asked stands first
		head := strings.TrimPrefix(oneSpace(strings.Join(lines, " ")), oneSpace(r.metLimits()))
		if r.Stopped != "" {
			head = first
		}
		if !strings.HasPrefix(strings.TrimSpace(head), r.Verdict.String()) {
			t.Fatalf("the first line is not the verdict:\n%s", got)
		}
		if len(r.Doubts) > 0 && !strings.Contains(oneSpace(got), oneSpace(r.ordered()[0].Detail)[:40]) {
			t.Fatalf("the first finding is not there:\n%s", got)
		}
		for _, what := range []string{"\nTTFT ", "\nRequest latency", "\nErrors           " + words.Whole(r.Requests.Failed) + " of", "\ngates            "} {
			if !strings.Contains(got, what) {
				t.Fatalf("no %q:\n%s", what, got)
			}
		}
		if last := lines[len(lines)-1]; last != "open             out/report.html" {
			t.Fatalf("the last line is %q", last)
		}
	}
}

// drawnRun is a report on one run with whatever may be said of one.
func drawnRun(plan *sweep.Plan, rng *rand.Rand, checks []string) *Report {
	maybe := func() bool { return rng.IntN(2) == 0 }
	n := record.Counts{OK: 10 + rng.Int64N(2000)}
	for _, x := range []*int64{&n.Failed, &n.Cut, &n.Unsent, &n.Cancelled} {
		if maybe() {
			*x = 1 + rng.Int64N(3*n.OK)
		}
	}
	r := &Report{
		Plan: plan, Dir: "out", View: "report.html", Runs: 1, Requests: n, Verdict: validity.Valid,
		Touched: map[string]validity.Level{}, Taints: validity.Taints{}, Elapsed: 40e9, FullFor: 40e9, SteadyFor: 31e9,
		Client: "97 % of 2 cores, 99 % of the sends at most 90.0 µs late",
	}
	full, steady := metrics.Summary{Window: decide.Full}, metrics.Summary{Window: decide.Steady}
	o := decide.Outcome{Run: plan.Runs[0], OK: n.OK, Failed: n.Failed, Sent: n.OK + n.Failed, Taints: r.Taints}
	for _, m := range metrics.Catalogue() {
		if rng.IntN(5) == 0 {
			r.Touched[m.Tag] = []validity.Level{validity.Doubtful, validity.Wrong}[rng.IntN(2)]
			r.Taints[m.Tag] = validity.Taint{Check: checks[rng.IntN(len(checks))], Level: validity.Doubtful}
		}
		st := metrics.Blank(m.Tag, m.Unit)
		st.Count, st.NEff = n.OK, float64(n.OK)*rng.Float64()
		st.Avg = 100 * rng.Float64()
		if m.Over == metrics.Share {
			st.Avg = rng.Float64()
		}
		for _, stat := range shownPercentiles {
			st.Put(stat, 100*rng.Float64())
		}
		full.Stats = append(full.Stats, st)
		if maybe() {
			st.Avg *= 1.1
			steady.Stats = append(steady.Stats, st)
		}
	}
	o.Summaries = []metrics.Summary{full, steady}
	r.Results, r.Full, r.Steady = decide.Aggregate(plan, []decide.Outcome{o}), &full, &steady
	if maybe() {
		r.Limit = "Prompts take the server's time: 512 tokens are read at 4,000 a second, while 12 requests wait."
	}
	if maybe() {
		r.Stopped = "interrupted by Ctrl-C"
	}
	for i := range rng.IntN(4) {
		r.Notices = append(r.Notices, strings.Repeat("something that a reader should know, ", 1+i))
		r.Spoiled = append(r.Spoiled, "time_to_first_token.p99, asked for by the gate, is invalid (check late)")
		r.Missed = map[string]int64{metrics.TimeToFirstToken: 12, metrics.InterTokenLatency: 3}
	}
	for i, check := range checks[:rng.IntN(len(checks)+1)] {
		r.Verdict = max(r.Verdict, []validity.Verdict{validity.Degraded, validity.Invalid}[rng.IntN(2)])
		r.Doubts = append(r.Doubts, Doubt{
			Verdict: r.Verdict, Check: check, Runs: 1,
			Try:     "a quieter machine or fewer streams; very short answers need a lower concurrency",
			Detail:  strings.Repeat("gaps in this client make throughput read lower than it would be, ", 1+i),
			Because: "the client read bytes up to 27.4 ms late (p99), 6.9 times an ITL",
		})
	}
	for i := range rng.IntN(7) {
		r.Errors = append(r.Errors, verdict.ErrorCount{
			Kind: "http_50" + digit(i), Count: 3,
			Message: strings.Repeat("the server is busy and says so at length ", 1+i),
		})
	}
	return r
}

// A comparison of one workload has fourteen lines, as aiperf compare prints it and as the screen
// of a plan, whatever came out, at any width.
func TestAComparisonOfOneWorkloadIsShort(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(22, 11))
	checks := []string{"coalesced", "turnaround", "scheduling_delay", "late"}
	for range 60 {
		r := crowded(t, rng, checks, "compare={axis: endpoint}",
			"sweep={parameters: {endpoint: [{label: before, url: http://a}, {label: after, url: http://b}]}}",
			`gates=["time_to_first_token.p99 < 250", "error_rate == 0"]`)
		c := Comparison{Comparison: r.Results.Comparisons[0]}
		c.Load = []decide.Fact{{Name: "concurrency", Value: "4"}, {Name: "isl", Value: "64"}, {Name: "requests", Value: "160"}}
		for range 4 {
			width := widths(rng)
			r.Width = width
			var plan, alone strings.Builder
			if err := onTerminal(r).WriteConsole(&plan); err != nil {
				t.Fatal(err)
			}
			if err := c.WriteConsole(&alone, Screen{Width: width, Terminal: true}); err != nil {
				t.Fatal(err)
			}
			for _, got := range []string{plan.String(), alone.String()} {
				hasLevels(t, got)
				if n := strings.Count(got, "\n"); n > linesOfPair {
					t.Fatalf("%d lines at %d columns:\n%s", n, width, got)
				}
				first, _, _ := strings.Cut(oneSpace(c.Headline()), " (")
				if !strings.HasPrefix(oneSpace(got), first[:min(40, len(first))]) {
					t.Fatalf("the answer is not first:\n%s", got)
				}
				for _, row := range c.Primary() {
					if !strings.Contains(got, shortName(row)+" ") {
						t.Fatalf("no row of %s:\n%s", shortName(row), got)
					}
				}
			}
			if got := plan.String(); !strings.Contains(got, r.Doubts[0].Check) ||
				!strings.HasSuffix(got, "open     "+r.Dir+"/report.html\n") {
				t.Fatalf("no finding, or not where to look further:\n%s", got)
			}
		}
	}
}

// A row without a star is worse in both objectives, or nobody knows: the legend tells which.
func TestWithoutAStar(t *testing.T) {
	t.Parallel()
	const front, worse, open = decide.OnFront, decide.Dominated, decide.Open
	for _, c := range []struct {
		marks []decide.Mark
		want  string
	}{
		{[]decide.Mark{front, worse, worse}, "* no row is better in both throughput and latency"},
		{[]decide.Mark{front, open, open}, "* no row is better in both throughput and latency; the same may be true of the others"},
		{[]decide.Mark{front, worse, open}, "* no row is better in both throughput and latency; the same may be true of 1 other"},
		{[]decide.Mark{front, worse, open, open}, "* no row is better in both throughput and latency; the same may be true of 2 others"},
	} {
		r := &Report{Plan: &sweep.Plan{}, Results: &decide.Results{}}
		for _, m := range c.marks {
			r.Results.Cells = append(r.Results.Cells, decide.CellResult{Front: m})
		}
		s := newSheet(120)
		r.legend(s, &grid{}, &marks{front: true})
		if got := strings.TrimSpace(s.String()); got != c.want {
			t.Errorf("%v: %q, want %q", c.marks, got, c.want)
		}
	}
}

// A gate that passed by a percentile of too few requests says so, folded or not.
func TestGatesByUncertainPercentiles(t *testing.T) {
	t.Parallel()
	held := func(few string) decide.GateOutcome {
		return decide.GateOutcome{State: decide.Held, Held: true, Few: few}
	}
	for _, c := range []struct {
		gates []decide.GateOutcome
		want  string
	}{
		{[]decide.GateOutcome{held(""), held("")}, "2 of 2 passed"},
		{[]decide.GateOutcome{held("p99"), held("p99")}, "2 of 2 passed, by an uncertain p99"},
		{[]decide.GateOutcome{held("p99"), held("")}, "2 of 2 passed (1 by an uncertain p99)"},
		{
			[]decide.GateOutcome{held("p99"), held("p90"), {State: decide.Missed, Few: "p99"}},
			"2 of 3 passed, by an uncertain p90 and p99",
		},
	} {
		r := &Report{
			Plan:     &sweep.Plan{Gates: make([]sweep.Gate, len(c.gates))},
			Results:  &decide.Results{Cells: []decide.CellResult{{Gates: c.gates}}},
			Requests: record.Counts{Failed: 1},
		}
		for _, g := range c.gates {
			if g.Held {
				r.Results.GatesHeld++
			} else {
				r.Results.GatesMissed++
			}
		}
		for _, short := range []bool{false, true} {
			if got := r.gatesSentence(short); got != c.want {
				t.Errorf("%+v: %q, want %q", c.gates, got, c.want)
			}
		}
	}
}

// A table of several runs says which figures failed requests have no part in, in the same
// words as one run, and in short where the screen is.
func TestTablesSayWhatFiguresAreOf(t *testing.T) {
	t.Parallel()
	errs := validity.Taint{Check: "errors", Level: validity.Doubtful}
	gaps := validity.Taint{Check: "turnaround", Level: validity.Doubtful}
	const whole = "† latencies, tok/s and req/s are of the 540 requests that succeeded, without the 60 that failed: " +
		"a server that answers all of them may be slower"
	for _, c := range []struct {
		folded int
		taints []validity.Taint
		want   string
	}{
		{0, []validity.Taint{errs}, whole},
		{1, []validity.Taint{errs}, "† without the 60 requests that failed"},
		{0, []validity.Taint{errs, gaps}, "~ in doubt (check turnaround): aiperf checks out " + whole},
		{1, []validity.Taint{gaps}, "~ in doubt: aiperf checks out"},
	} {
		r := &Report{
			Plan: &sweep.Plan{}, Results: &decide.Results{}, Dir: "out", folded: c.folded,
			Requests: record.Counts{OK: 540, Failed: 60},
		}
		m := &marks{}
		for _, taint := range c.taints {
			m.doubted.mark(taint)
		}
		s := newSheet(200)
		r.legend(s, &grid{}, m)
		if got := oneSpace(s.String()); got != c.want {
			t.Errorf("%v, folded %d:\ngot  %q\nwant %q", c.taints, c.folded, got, c.want)
		}
	}
}

// onTerminal is r as a screen shows it, which has an end.
func onTerminal(r *Report) *Report {
	r.Terminal = true
	return r
}
