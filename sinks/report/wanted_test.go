package report

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
	"aiperf.dev/aiperf/sweep/sweeptest"
)

// What a screen advises decides each thing that it names: a limit of which 99 % of the
// requests must be good takes 368 of them, however clear the rest is.
func TestWhatIsAdvisedDecides(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		trials, requests int
		want             string
	}{
		{3, 60, "to decide the limits: --num-profile-runs 8 (368 requests per cell show 99 %)"},
		{5, 60, "to decide the limits: --num-profile-runs 8 (368 requests per cell show 99 %)"},
		{7, 60, ""},
		{3, 8, "to decide the limits: --request-count 150 (about 1m07s in all)"},
		{1, 8, "fewer than 6 trials seldom show which cell is best: --num-profile-runs 6"}, // the limits of one run are judged by value
	} {
		r := limited(t, c.trials, c.requests)
		if got := r.WantedSentence(); got != c.want {
			t.Errorf("%d trials of %d requests: %q, want %q", c.trials, c.requests, got, c.want)
		}
		var b strings.Builder
		r.folded = mostFolds
		if s := oneSpace(r.screen()); c.want != "" && !strings.Contains(s, c.want) {
			t.Errorf("folded as far as it goes, no %q in\n%s", c.want, s)
		}
		if err := r.WriteConsole(&b); err != nil || c.want != "" && !strings.Contains(oneSpace(b.String()), c.want) {
			t.Errorf("%v, no %q in\n%s", err, c.want, &b)
		}
	}
	r := limited(t, 3, 60)
	r.Command = "aiperf run 'sweep.cue' --num-profile-runs 3"
	if got, want := r.WantedSentence(), "to decide the limits: aiperf run sweep.cue --num-profile-runs 8 (368 requests per cell show 99 %)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r.Elapsed, r.Runs = 30e9, 3*len(r.Plan.Cells) // ten seconds for each trial of all cells
	if got, want := r.WantedSentence(), "(368 requests per cell show 99 %, about 1m20s in all)"; !strings.HasSuffix(got, want) {
		t.Errorf("%q does not end with %q", got, want)
	}
	// more trials do not cure values in doubt
	r = limited(t, 1, 8)
	for i := range r.Results.Best {
		r.Results.Best[i].Doubtful = true
	}
	for i := range r.Results.UnderSLO {
		r.Results.UnderSLO[i].Doubtful = true
	}
	if got := r.WantedSentence(); got != "" {
		t.Errorf("%q", got)
	}
	// followed, it leaves nothing of what it named open
	if r := limited(t, 7, 60); r.Results.Cells[0].SLOs[0].State != decide.Held {
		t.Errorf("420 of 420 requests: %s", r.Results.Cells[0].SLOs[0].State)
	}
}

// What is decided is not measured again: the next command has the loads that are open, and no others,
// and takes as long as they do.
func TestOnlyOpenLoadsAreRepeated(t *testing.T) {
	t.Parallel()
	const loads = "parameters: {phases.profiling.concurrency: [2, 4, 8]}"
	bad := func(c *sweep.Cell) bool { return c.Resolved.Benchmark.Phases[0].Concurrency == 8 }
	for _, x := range []struct{ sweep, command, want string }{
		{loads, "", "--concurrency 2,4 --num-profile-runs 8 (368 requests per cell show 99 %, about 1m20s in all)"},
		{
			loads, "aiperf run a.yaml --concurrency 2,4,8 --artifact-dir s1",
			"aiperf run a.yaml --artifact-dir s1-2 --concurrency 2,4 --num-profile-runs 8",
		},
		{
			loads, "aiperf profile -m demo --concurrency 2,4,8 --num-profile-runs 3",
			"aiperf profile -m demo --concurrency 2,4 --artifact-dir out-2 --num-profile-runs 8",
		},
		{ // another axis than the load stays whole
			"parameters: {phases.profiling.concurrency: [2, 4, 8], dataset.isl: [64, 128]}", "aiperf run a.yaml",
			"aiperf run a.yaml --concurrency 2,4 --num-profile-runs 8 (368 requests per cell show 99 %, about 2m40s in all)",
		},
		{ // axes that move together
			"type: zip, parameters: {phases.profiling.concurrency: [2, 8], dataset.isl: [64, 128]}", "aiperf run a.yaml",
			"aiperf run a.yaml --num-profile-runs 8",
		},
	} {
		r := limitedTo(t, 3, 60, x.sweep, bad)
		r.Command, r.Elapsed, r.Runs = x.command, time.Duration(5*3*len(r.Plan.Cells))*time.Second, 3*len(r.Plan.Cells)
		if got := r.WantedSentence(); !strings.Contains(got, x.want) {
			t.Errorf("%s of %q: %q has no %q", x.sweep, x.command, got, x.want)
		}
	}
}

// A load whose share is in doubt may be the best one: where the limits are decided, it is measured again, too.
func TestLoadsInDoubtAreRepeated(t *testing.T) {
	t.Parallel()
	r := limitedTo(t, 3, 60, "parameters: {phases.profiling.concurrency: [2, 4, 8]}",
		func(c *sweep.Cell) bool { return c.Resolved.Benchmark.Phases[0].Concurrency == 8 })
	r.Results.Cells[1].SLOs[0].Undecidable, r.Results.Cells[1].SLOs[0].Trials = true, 0
	if got := r.WantedSentence(); !strings.Contains(got, "--concurrency 2,4 ") {
		t.Errorf("%q", got)
	}
}

// limited is a plan of two loads, each request of which is good.
func limited(t *testing.T, trials, requests int) *Report {
	t.Helper()
	none := func(*sweep.Cell) bool { return false }
	return limitedTo(t, trials, requests, "parameters: {phases.profiling.concurrency: [2, 4]}", none)
}

// limitedTo is a plan of a sweep; half of the requests of bad cells miss the limit.
func limitedTo(t *testing.T, trials, requests int, sweepBlock string, bad func(*sweep.Cell) bool) *Report {
	t.Helper()
	plan := sweeptest.PlanOf(t, "multi_run.num_runs="+strconv.Itoa(trials), "benchmark.endpoint.streaming=true",
		"benchmark.slos={time_to_first_token: 100}", "sweep={"+sweepBlock+"}")
	var outcomes []decide.Outcome
	for _, run := range plan.Runs {
		o := decide.Outcome{
			Run: run, OK: int64(requests), Sent: int64(requests),
			Summaries: []metrics.Summary{{Window: decide.Full}},
		}
		load := 1 + float64(run.Cell.Index)
		for _, x := range []struct {
			tag, unit string
			v         float64
		}{
			{metrics.OutputTokenThroughput, "tokens/sec", 100 * load},
			{metrics.RequestThroughput, "requests/sec", 10 * load},
			{metrics.TimeToFirstToken, "ms", 10 * load},
			{metrics.GoodRequestFraction, "ratio", 1},
		} {
			st := metrics.Blank(x.tag, x.unit)
			st.Count, st.Scalar = int64(requests), x.unit != "ms"
			x.v *= 1 + 1e-4*float64(run.Trial)
			if x.unit == "ratio" {
				x.v = 1
				if bad(run.Cell) {
					x.v = 0.5
				}
			}
			st.Avg = x.v
			for _, stat := range shownPercentiles {
				st.Put(stat, x.v)
			}
			o.Summaries[0].Stats = append(o.Summaries[0].Stats, st)
		}
		outcomes = append(outcomes, o)
	}
	return &Report{
		Plan: plan, Dir: "out", Runs: len(plan.Runs), Results: decide.Aggregate(plan, outcomes),
		Requests: record.Counts{OK: int64(len(plan.Runs) * requests)},
	}
}

// What makes percentiles certain is a flag that a person can type, with the time that the
// plan takes then: by requests, or by the time that ends its runs.
func TestWhatIsAdvisedSaysHowLong(t *testing.T) {
	t.Parallel()
	r := limited(t, 3, 60)
	longer := func() string {
		flag, value, takes := r.longer(1000)
		return strings.Join([]string{flag, value, takes}, "|")
	}
	if got, want := longer(), "request-count|1000|about 7m30s in all"; got != want { // at 10 and 20 a second
		t.Errorf("%q, want %q", got, want)
	}
	for i := range r.Results.Cells {
		phases := r.Results.Cells[i].Cell.Resolved.Benchmark.Phases
		for k := range phases {
			phases[k].Requests, phases[k].Duration = 0, new(schema.Duration(6))
		}
	}
	if got, want := longer(), "benchmark-duration|120|about 12m00s in all"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r.Results.Cells = nil
	if got, want := longer(), "request-count|1000|"; got != want { // no rate is known
		t.Errorf("%q, want %q", got, want)
	}
}
