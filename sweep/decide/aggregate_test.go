package decide_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// run makes a summary with a throughput, TTFT percentiles and an error rate.
func run(throughput, ttft float64) []metrics.Summary {
	nan := math.NaN()
	d := metrics.Stat{
		Tag: "time_to_first_token", Header: "TTFT", Unit: "ms", Count: 1000, Avg: ttft, Min: ttft, Max: ttft, Sum: nan,
		Std: 0,
		P1:  ttft, P5: ttft, P10: ttft, P25: ttft, P50: ttft, P75: ttft, P90: ttft, P95: ttft, P99: ttft, P999: nan,
		NEff: 1000,
	}
	scalar := func(tag, unit string, v float64) metrics.Stat {
		return metrics.Stat{
			Tag: tag, Unit: unit, Scalar: true, Avg: v, Min: nan, Max: nan, Sum: nan, Std: nan,
			NEff: nan,
		}
	}
	full := metrics.Summary{Window: "full", Stats: []metrics.Stat{
		d, scalar("output_token_throughput", "tokens/sec", throughput),
		scalar("request_throughput", "requests/sec", throughput/10), scalar("error_rate", "ratio", 0),
		scalar("completed_request_count", "requests", 100),
	}}
	return []metrics.Summary{full}
}

// measure gives each run of the plan the throughput and TTFT of its cell, and
// a trial-to-trial scatter of the given relative size.
func measure(p *sweep.Plan, scatter float64, throughput, ttft []float64) []decide.Outcome {
	var out []decide.Outcome
	for _, r := range p.Runs {
		f := 1 + scatter*(float64(r.Trial)-float64(p.Trials-1)/2)
		i := r.Cell.Index
		out = append(out, decide.Outcome{
			Run: r, Summaries: run(throughput[i]*f, ttft[i]*f),
			Verdict: validity.Valid, OK: 100, Sent: 100,
		})
	}
	return out
}

func loads(trials int) *document { return grid(trials, axis(concurrency, "concurrency", 1, 2, 4, 8)) }

var (
	tokens = []float64{100, 195, 370, 400}
	ttft   = []float64{40, 41, 45, 90}
)

func TestEstimatesOverTrials(t *testing.T) {
	t.Parallel()
	p := expand(t, loads(3))
	outcomes := measure(p, .1, tokens, ttft) // 90, 100, 110 %
	outcomes[4].Err, outcomes[4].Summaries = "connection refused", nil
	outcomes[1].Verdict, outcomes[5].Verdict = validity.Degraded, validity.Invalid
	r := decide.Aggregate(p, outcomes[:11])
	c := r.Cells[1]
	e, ok := c.Get("output_token_throughput", "avg")
	// trials 175.5 and 214.5: geometric mean, t(0.975, 1)·s/√2 on the logarithms
	m, half := math.Sqrt(175.5*214.5), 12.706204736174695*math.Log(214.5/175.5)/2
	if !ok || e.N != 2 || math.Abs(e.Mean-m) > 1e-9 ||
		math.Abs(e.Low-m*math.Exp(-half)) > 1e-9 || math.Abs(e.High-m*math.Exp(half)) > 1e-6 {
		t.Errorf("throughput of cell 1 = %+v, want %v", e, m)
	}
	if c.Status != decide.Partial || c.Verdict != validity.Invalid || c.OK != 300 || c.Trials != 2 || c.Left != 1 {
		t.Errorf("cell 1 = %v, %v, OK %d, %d trials", c.Status, c.Verdict, c.OK, c.Trials)
	}
	failed := r.Cells[0]
	if failed.Status != decide.Partial || failed.Trials != 2 || len(failed.Errors) != 1 ||
		failed.Errors[0] != (decide.RunError{Label: "run_0002", Error: "connection refused", Trial: 1}) {
		t.Errorf("cell 0 = %v with %v", failed.Status, failed.Errors)
	}
	if r.Cells[3].Status != decide.Partial {
		t.Errorf("cell 3 with a run missing is %v", r.Cells[3].Status)
	}
	if _, ok := c.Get("time_to_first_token", "p999"); ok {
		t.Error("a percentile that no run has was estimated")
	}
	if _, ok := c.Get("error_rate", "p99"); ok {
		t.Error("a scalar has a percentile")
	}
	if got := (decide.Key{Tag: "time_to_first_token", Stat: "p99"}).String(); got != "time_to_first_token_p99" {
		t.Errorf("key = %q", got)
	}
}

// What a run counted nothing of is 0 there: errors of 0, 0, 0, 0 and 5 are 1 a run.
func TestTrialsThatCountedNothing(t *testing.T) {
	t.Parallel()
	p := expand(t, loads(5))
	outcomes := measure(p, .1, tokens, ttft)
	nan := math.NaN()
	for i := range outcomes {
		if outcomes[i].Run.Cell.Index == 1 && outcomes[i].Run.Trial == 4 {
			full := &outcomes[i].Summaries[0]
			full.Stats = append(full.Stats, metrics.Stat{
				Tag: "error_request_count", Unit: "requests", Scalar: true,
				Avg: 5, Min: nan, Max: nan, Sum: nan, Std: nan, NEff: nan,
			})
		}
	}
	r := decide.Aggregate(p, outcomes)
	if e, ok := r.Cells[1].Get("error_request_count", "avg"); !ok || e.N != 5 || e.Mean != 1 || e.Low < 0 ||
		e.Low >= 1 || e.High <= 1 {
		t.Errorf("errors a run = %+v, %v; want 1 over 5 trials, in an interval from 0 at least", e, ok)
	}
}

// An INVALID run is in no estimate, and its cell in no ranking, unless the
// experiment allows it.
func TestInvalidRunsAreNotUsed(t *testing.T) {
	t.Parallel()
	d := loads(3)
	p := expand(t, d)
	outcomes := measure(p, .001, tokens, ttft)
	for i := range outcomes {
		if outcomes[i].Run.Cell.Index == 3 {
			outcomes[i].Verdict = validity.Invalid
		}
	}
	r := decide.Aggregate(p, outcomes)
	last := r.Cells[3]
	if last.Status != decide.Unusable || last.Trials != 0 || last.Left != 3 {
		t.Errorf("a cell of INVALID runs is %v with %d trials, %d left out", last.Status, last.Trials, last.Left)
	}
	if _, ok := last.Get("output_token_throughput", "avg"); ok {
		t.Error("INVALID runs were estimated")
	}
	if got := r.Best[0].Cell.Cell.Short(); got != "concurrency 4" {
		t.Errorf("best is %s, want the best of the cells that are not INVALID", got)
	}
	d.Head.AllowInvalid = true
	r = decide.Aggregate(expand(t, d), outcomes)
	if e, ok := r.Cells[3].Get("output_token_throughput", "avg"); !ok || e.N != 3 ||
		r.Best[0].Cell.Cell.Short() != "concurrency 4" {
		t.Errorf("allowed: %+v, best %s", e, sentence(r.Best[0]))
	}
}

// A number in doubt is in the table and in no ranking.
func TestTaintedMetricsAreNotRanked(t *testing.T) {
	t.Parallel()
	p := expand(t, loads(3))
	outcomes := measure(p, .001, tokens, ttft)
	for i := range outcomes {
		if outcomes[i].Run.Cell.Index == 3 {
			outcomes[i].Taints = validity.Taints{"output_token_throughput": {Check: "tokens", Level: validity.Doubtful}}
		}
	}
	r := decide.Aggregate(p, outcomes)
	b := r.Best[0]
	if got := b.Cell.Cell.Short(); got != "concurrency 4" || b.Shown || !strings.HasSuffix(sentence(b),
		"a value at least as good is in doubt: concurrency 8 (in doubt, check tokens)") || len(b.Cell.BestFor) > 0 {
		t.Errorf("Best throughput: %s (%v): %s", got, b.Cell.BestFor, sentence(b))
	}
	if _, ok := r.Cells[3].Get("output_token_throughput", "avg"); !ok {
		t.Error("a tainted metric is not estimated")
	}
	if r.Cells[3].Front != decide.NotMarked || r.Cells[0].Front == decide.NotMarked {
		t.Error("a tainted cell is marked, or the others are not")
	}
}

// The last cell that can be ranked is not best for being the last.
func TestDoubtDecidesNothing(t *testing.T) {
	t.Parallel()
	p := expand(t, loads(3))
	for clean, want := range map[int]string{
		1: "Best throughput: cannot be decided; concurrency 1 has 100 tok/s, and nothing else can be ranked: concurrency 2 and 4 (in doubt, check tokens), concurrency 8 (INVALID)",
		0: "Best throughput: cannot be decided; every cell that may be best is in doubt: concurrency 1, 2 and 4 (in doubt, check tokens), concurrency 8 (INVALID)",
	} {
		outcomes := measure(p, 0, tokens, ttft)
		for i := range outcomes {
			if o := &outcomes[i]; o.Run.Cell.Index == 3 {
				o.Verdict = validity.Invalid
			} else if o.Run.Cell.Index >= clean && o.Run.Trial == 1 {
				o.Taints = validity.Taints{"output_token_throughput": {Check: "tokens", Level: validity.Doubtful}}
			}
		}
		if b := decide.Aggregate(p, outcomes).Best[0]; b.Shown || sentence(b) != want {
			t.Errorf("%d clean: %v %s\nwant %s", clean, b.Shown, sentence(b), want)
		}
	}
}

// A cell in doubt whose number is no worse than the best ranked one's leaves it
// open which is best; one whose number is worse is named and not ranked.
func TestDoubtAboutABetterNumber(t *testing.T) {
	t.Parallel()
	p := expand(t, loads(3))
	for _, c := range []struct {
		doubted    int
		want, ends string
		shown      bool
	}{
		{3, "Best throughput: cannot be decided; concurrency 4 has ", "", false},
		{0, "Best throughput: concurrency 8 (400 tok/s), 8.11 % more than concurrency 4 at 2.0 times the TTFT p90; not ranked: ", "", true},
	} {
		outcomes := measure(p, 0, tokens, ttft)
		for i := range outcomes {
			if o := &outcomes[i]; o.Run.Cell.Index == c.doubted && o.Run.Trial == 1 {
				o.Taints = validity.Taints{"output_token_throughput": {Check: "turnaround", Level: validity.Doubtful}}
			}
		}
		b := decide.Aggregate(p, outcomes).Best[0] // throughput
		named := "concurrency " + []string{"1", "2", "4", "8"}[c.doubted] + " (in doubt, check turnaround)" + c.ends
		if !strings.HasPrefix(sentence(b), c.want) || !strings.Contains(sentence(b), named) || b.Shown != c.shown {
			t.Errorf("cell %d in doubt: %v %s", c.doubted, b.Shown, sentence(b))
		}
	}
}

func marks(r *decide.Results) string {
	var out []string
	for i := range r.Cells {
		c := &r.Cells[i]
		s := map[decide.Mark]string{
			decide.OnFront: "*", decide.Dominated: "-",
			decide.Open: "?", decide.NotMarked: "",
		}[c.Front]
		if c.Knee {
			s += "k"
		}
		out = append(out, s+strings.Join(c.BestFor, "+"))
	}
	return strings.Join(out, " | ")
}

func TestMarks(t *testing.T) {
	t.Parallel()
	worse := []float64{100, 195, 370, 300} // overload: less for longer
	for what, c := range map[string]struct {
		trials       int
		scatter      float64
		tokens, ttft []float64
		want         string
	}{
		"quiet":              {5, .001, tokens, ttft, "*latency | * | *k | *throughput"},
		"overloaded":         {5, .001, worse, ttft, "*latency | * | *kthroughput | -"},
		"noisy":              {5, .2, worse, ttft, "? | ? | ? | ?"},
		"two noisy trials":   {2, .1, worse, ttft, "? | ? | ? | ?"},
		"one trial":          {1, 0, worse, ttft, "? | ? | ?k | ?"},
		"load costs nothing": {5, .001, []float64{100, 200, 400, 800}, []float64{40, 40, 40, 40}, "? | ? | ? | *throughput"},
	} {
		p := expand(t, loads(c.trials))
		got := marks(decide.Aggregate(p, jittered(measure(p, 0, c.tokens, c.ttft), c.scatter)))
		if got != c.want {
			t.Errorf("%s: %s, want %s", what, got, c.want)
		}
	}
}

// jittered gives every run a factor of its own: what is common to a trial would
// cancel in the ratios.
func jittered(outcomes []decide.Outcome, scatter float64) []decide.Outcome {
	for i := range outcomes {
		o := &outcomes[i]
		f := 1 + scatter*(float64((o.Run.Trial*7+o.Run.Cell.Index*3)%5)-2)
		first := o.Summaries[0].Stats[0].P99
		o.Summaries = run(o.Summaries[0].Stats[1].Avg*f, first*f)
	}
	return outcomes
}

// A knee is looked for on every line of cells that differ only in load.
func TestKneePerLine(t *testing.T) {
	t.Parallel()
	d := grid(3, axis(concurrency, "concurrency", 4, 1, 2), axis("benchmark.endpoint", "endpoint",
		map[string]any{"label": "a", "url": "a"}, map[string]any{"label": "b", "url": "b"}))
	p := expand(t, d) // a: 4, 1, 2; b: 4, 1, 2
	r := decide.Aggregate(p, measure(p, .001, []float64{210, 100, 200, 400, 100, 200},
		[]float64{80, 40, 41, 41, 40, 41}))
	if got, want := marksOf(r, func(c *decide.CellResult) bool { return c.Knee }), "a, concurrency 2"; got != want {
		t.Errorf("knees: %q, want %q", got, want)
	}
	if got, want := r.Cells[2].Reason,
		"knee: 100 % more load gave 5 % more throughput, and TTFT p90 was 2.0 times that of a, concurrency 1"; got != want {
		t.Errorf("reason: %q, want %q", got, want)
	}
	flat := decide.Aggregate(p, measure(p, .001, []float64{200, 100, 200, 400, 100, 200},
		[]float64{80, 40, 41, 41, 40, 41}))
	if got, want := flat.Cells[2].Reason, "knee: 100 % more load gave no more throughput, and "; !strings.HasPrefix(got,
		want) {
		t.Errorf("reason: %q, want %q", got, want)
	}
}

func marksOf(r *decide.Results, has func(*decide.CellResult) bool) string {
	var out []string
	for i := range r.Cells {
		if has(&r.Cells[i]) {
			out = append(out, r.Cells[i].Cell.Short())
		}
	}
	return strings.Join(out, "; ")
}

func TestBestIsSaidOnlyWhenShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what    string
		trials  int
		scatter float64
		tokens  []float64
		want    string
	}{
		{"apart", 5, .001, tokens, "Best throughput: concurrency 8 (400 tok/s), 8.11 % [7.74, 8.48] more than concurrency 4 at 2.0 times the TTFT p90"},
		{"growing", 5, .001, []float64{100, 195, 250, 400}, "Best throughput: concurrency 8 (400 tok/s), 60.0 % [59.5, 60.5] more than concurrency 4; no higher concurrency was tested: try --concurrency 16"},
		{"a little more", 5, .001, []float64{100, 195, 370, 380}, "Best throughput: concurrency 4 is enough (370 tok/s); concurrency 8 gives 2.70 % [2.35, 3.05] more at 2.0 times the TTFT p90"},
		{"a little more, noisy", 5, .01, []float64{100, 195, 370, 380}, "Best throughput: concurrency 4 is enough (370 tok/s); concurrency 8 gives 2.70 % [−0.731, 6.26] more at 2.0 times the TTFT p90"},
		{"a little more, very noisy", 5, .05, []float64{100, 195, 370, 380}, "Best throughput: not decided yet; concurrency 8 leads (379 tok/s), concurrency 4 may be best, too (5 trials); if they differ as it seems, 134 to 952 trials show it"},
		{"two noisy trials", 2, .1, tokens, "Best throughput: concurrency 8 has the best value (416 tok/s); 2 trials are too few to be certain"},
		{"noisy", 5, .1, tokens, "Best throughput: not decided yet; concurrency 8 leads (396 tok/s), concurrency 4 may be best, too (5 trials); if they differ as it seems, 66 to 456 trials show it"},
		{"one trial", 1, 0, tokens, "Best throughput: concurrency 8 has the best value (400 tok/s); 1 trial is too few to be certain"},
		{"equal", 5, .001, []float64{100, 200, 400, 400.1}, "Best throughput: concurrency 4 is enough (400 tok/s); concurrency 8 gives less than 1 % more at 2.0 times the TTFT p90"},
		{"equal, of one trial", 1, 0, []float64{100, 400, 400, 401}, "Best throughput: concurrency 2 is enough so far (400 tok/s); concurrency 8 gives less than 1 % more at 2.2 times the TTFT p90; 1 trial is too few to be certain"},
		{"three loads equal", 3, .001, []float64{100, 400, 400.1, 400.2}, "Best throughput: concurrency 2 is enough (400 tok/s); concurrency 8 gives less than 1 % more at 2.2 times the TTFT p90"},
		{"close and noisy", 5, .05, []float64{100, 200, 400, 401}, "Best throughput: not decided yet; concurrency 8 leads (400 tok/s), concurrency 4 may be best, too (5 trials); the first two differ by less than 1 %"},
		{"stopped", 5, .01, []float64{0, 0, 0, 400}, "Best throughput: concurrency 8 (400 tok/s), always more than concurrency 1; no higher concurrency was tested: try --concurrency 16"},
	} {
		p := expand(t, loads(c.trials))
		got := sentence(decide.Aggregate(p, jittered(measure(p, 0, c.tokens, ttft), c.scatter)).Best[0])
		if got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.what, got, c.want)
		}
	}
}

func TestBestUnderConditions(t *testing.T) {
	t.Parallel()
	d := loads(5)
	d.SLOs = map[string]float64{"time_to_first_token": 60}
	d.Head.Gates = []string{"error_rate == 0"}
	p := expand(t, d)
	if err := decide.CheckGates(p, metrics.Tags()); err != nil {
		t.Fatal(err)
	}
	good := func(of ...float64) []decide.Outcome {
		outcomes := measure(p, .001, tokens, ttft)
		for i := range outcomes {
			full := &outcomes[i].Summaries[0]
			full.Stats = append(full.Stats, metrics.Stat{
				Tag: "good_request_fraction", Unit: "ratio",
				Scalar: true, Avg: of[outcomes[i].Run.Cell.Index],
			})
		}
		return outcomes
	}
	r := decide.Aggregate(p, good(1, 1, 1, .8))
	if got, want := sentence(r.UnderSLO[0]),
		"Best throughput within the limits and gates: concurrency 4 (370 tok/s), 89.7 % more than concurrency 2"+
			"; the limit lies between concurrency 4 and 8: try --concurrency 6"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := marks(r); !strings.Contains(got, "throughput |") ||
		!strings.HasSuffix(got, "throughput"+decide.WithoutLimits) || strings.Count(got, "throughput") != 2 {
		t.Errorf("marks: %s", got)
	}
	r = decide.Aggregate(p, good(.5, .5, .5, .5))
	if got := marks(r); strings.Contains(strings.ReplaceAll(got, "throughput"+decide.WithoutLimits, ""), "throughput") {
		t.Errorf("no cell keeps the limits, and one is best: %s", got)
	}
	if got := sentence(r.UnderSLO[0]); !strings.HasSuffix(got, ": no cell meets them") {
		t.Errorf("nothing holds: %s", got)
	}
	if bare := decide.Aggregate(expand(t, loads(1)), nil); len(bare.UnderSLO) > 0 ||
		bare.Cells[0].Status != decide.NotRun {
		t.Errorf("without runs: %+v", bare)
	}
}

// A best cell with the highest load says that no higher one was tested; one below it, and
// one above which a load was measured that cannot be used, does not.
func TestNoHigherLoadWasTested(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tokens  []float64
		slo     float64
		invalid bool
		want    string
	}{
		"highest":         {[]float64{100, 195, 370, 600}, 0, false, "no higher concurrency was tested: try --concurrency 16"},
		"middle":          {[]float64{100, 195, 400, 370}, 0, false, "loads between those tested may give more: try --concurrency 3,6"},
		"invalid above":   {tokens, 0, true, ""},
		"levels off":      {tokens, 0, false, ""},
		"limits, highest": {[]float64{100, 195, 370, 600}, 100, false, "no higher concurrency was tested, so more may be possible: try --concurrency 16"},
		"limits, middle":  {tokens, 60, false, "the limit lies between concurrency 4 and 8: try --concurrency 6"},
	} {
		d := loads(5)
		if c.slo > 0 {
			d.SLOs = map[string]float64{"time_to_first_token": c.slo}
		}
		p := expand(t, d)
		outcomes := measure(p, .001, c.tokens, ttft)
		for i := range outcomes {
			o := &outcomes[i]
			top := o.Run.Cell.Index == 3
			share := 1.0
			if top && c.slo == 60 {
				share = .5
			}
			o.Summaries[0].Stats = append(o.Summaries[0].Stats,
				metrics.Stat{Tag: "good_request_fraction", Unit: "ratio", Scalar: true, Avg: share})
			if top && c.invalid {
				o.Verdict = validity.Invalid
			}
		}
		r := decide.Aggregate(p, outcomes)
		b := r.Best[0]
		if c.slo > 0 {
			b = r.UnderSLO[0]
		}
		if got := b.Next.String(); got != c.want {
			t.Errorf("%s: %q, want %q: %s", name, got, c.want, sentence(b))
		}
	}
}

// Beyond the best load that may keep the limits the next one that misses them is named, though a higher
// one that misses them is nearer in throughput.
func TestTheNextLoadBeyondIsNamed(t *testing.T) {
	t.Parallel()
	d := loads(5)
	d.SLOs = map[string]float64{"time_to_first_token": 60}
	p := expand(t, d)
	outcomes := measure(p, .001, []float64{100, 195, 400, 370}, ttft)
	for i := range outcomes {
		full := &outcomes[i].Summaries[0]
		full.Stats = append(full.Stats, metrics.Stat{
			Tag: "good_request_fraction", Unit: "ratio",
			Scalar: true, Avg: []float64{.992, .992, .9, .5}[outcomes[i].Run.Cell.Index],
		})
	}
	const want = "concurrency 2 so far (195 tok/s), while concurrency 4 misses them"
	if got := sentence(decide.Aggregate(p, outcomes).UnderSLO[0]); !strings.HasSuffix(got, want) {
		t.Errorf("%q does not end with %q", got, want)
	}
}

// Best within limits is the fastest cell that is shown to keep them, and only where
// every faster one is shown to miss them, or not to be faster.
func TestBestNeedsTheLimitsShown(t *testing.T) {
	t.Parallel()
	d := loads(5)
	d.SLOs = map[string]float64{"time_to_first_token": 60}
	p := expand(t, d)
	// Of 500 requests 500 are shown to be 99 % and more, 496 and 494 may be, 450 are not.
	const held, open, near, missed = 1, .992, .988, .9
	const next = "; the limit lies between concurrency 4 and 8: try --concurrency 6"
	for _, c := range []struct {
		good    []float64
		shown   bool
		ends    string
		doubted int // the cell whose share is in doubt, −1 for none
	}{
		{[]float64{held, held, held, missed}, true, ": concurrency 4 (370 tok/s), 89.7 % more than concurrency 2" + next, -1},
		{[]float64{held, held, held, open}, false, ": concurrency 4 meets them (370 tok/s); concurrency 8 may, too", -1},
		{[]float64{held, open, held, missed}, true, ": concurrency 4 (370 tok/s), 270 % more than concurrency 1" + next, -1},
		{[]float64{open, open, missed, missed}, false, ": concurrency 2 so far (195 tok/s), while concurrency 4 misses them", -1},
		{[]float64{near, near, missed, missed}, false, ": not decided yet; concurrency 2 and 1 may meet them", -1},
		{[]float64{open, near, missed, missed}, false, ": concurrency 1 so far (100 tok/s), while concurrency 2 misses them so far", -1},
		{[]float64{missed, missed, missed, missed}, false, ": no cell meets them", -1},
		{[]float64{held, held, held, missed}, false, ": concurrency 2 meets them (195 tok/s); concurrency 4 may, too", 2},
		{[]float64{held, held, held, missed}, true, ": concurrency 4 (370 tok/s), 89.7 % more than concurrency 2" + next, 3},
		{[]float64{open, missed, held, missed}, false, ": not decided yet; concurrency 4 is ahead, with figures in doubt", 2},
	} {
		outcomes := measure(p, .001, tokens, ttft)
		for i := range outcomes {
			o := &outcomes[i]
			full := &o.Summaries[0]
			full.Stats = append(full.Stats, metrics.Stat{
				Tag: "good_request_fraction", Unit: "ratio",
				Scalar: true, Avg: c.good[o.Run.Cell.Index],
			})
			if o.Run.Cell.Index == c.doubted {
				o.Taints = validity.Taints{"good_request_fraction": {Check: "backlog", Level: validity.Doubtful}}
			}
		}
		b := decide.Aggregate(p, outcomes).UnderSLO[0]
		if b.Shown != c.shown || !strings.HasSuffix(sentence(b), c.ends) {
			t.Errorf("%v: %v, %s\nwant …%s", c.good, b.Shown, sentence(b), c.ends)
		}
	}
}

// Where no cell can show its limits with the requests it has, the sentence counts the
// cells, and each says how many trials and requests decide it; a name with commas stands in
// quotation marks among others.
func TestTooFewRequestsForTheLimits(t *testing.T) {
	t.Parallel()
	b, cells := judgedShare(t, 3, func(int) float64 { return 1 })
	if said := ": concurrency 3, isl 64 so far (400 tok/s)"; b.Shown || !strings.HasSuffix(sentence(b), said) {
		t.Errorf("%v, %s\nwant %s", b.Shown, sentence(b), said)
	}
	for _, c := range cells {
		if o := c.SLOs[0]; o.Trials != 4 || o.Requests != 368 { // 300 of 300 are at least 98.8 %
			t.Errorf("%s: %d trials, %d requests, want 4 and 368", c.Cell.Label, o.Trials, o.Requests)
		}
	}
}

// judgedShare is the best cell within limits, and the cells, of so many trials with a
// hundred requests each, of which a share is good.
func judgedShare(t *testing.T, trials int, good func(trial int) float64) (decide.Best, []decide.CellResult) {
	t.Helper()
	d := loads(trials)
	d.SLOs = map[string]float64{"time_to_first_token": 60}
	p := expand(t, d)
	for i, c := range p.Cells {
		c.Point[0].Label = fmt.Sprintf("%d, isl 64", i)
	}
	outcomes := measure(p, .001, tokens, ttft)
	for i := range outcomes {
		full := &outcomes[i].Summaries[0]
		full.Stats = append(full.Stats, goodOf(good(outcomes[i].Run.Trial), 100, 0))
	}
	r := decide.Aggregate(p, outcomes)
	return r.UnderSLO[0], r.Cells
}

// A question about a percentile of which some cell has too few requests says that it is
// uncertain.
func TestUncertainPercentilesAreAskedAbout(t *testing.T) {
	t.Parallel()
	for worth, question := range map[float64]string{
		150: "Best latency (TTFT p90)", 30: "Best latency (TTFT p90, uncertain)",
	} {
		d := loads(3)
		d.Head.Gates = []string{"time_to_first_token.p90 < 1000"}
		d.Phases = []schema.Phase{{Type: "concurrency", Requests: 200}}
		p := expand(t, d)
		outcomes := measure(p, .001, tokens, ttft)
		for i := range outcomes {
			for k := range outcomes[i].Summaries[0].Stats {
				st := &outcomes[i].Summaries[0].Stats[k]
				if st.Count, st.NEff = 200, 200; outcomes[i].Run.Cell.Index == 1 {
					st.NEff = worth
				}
				st.P90 = st.P50
			}
		}
		r := decide.Aggregate(p, outcomes)
		best := r.Best
		if got := best[len(best)-1].Question(); got != question {
			t.Errorf("200 requests worth %g: %q, want %q", worth, got, question)
		}
		for i, c := range r.Cells {
			want := ""
			if i == 1 && worth < 64 {
				want = "p90"
			}
			if got := c.Gates[0].Few; got != want {
				t.Errorf("200 requests worth %g: the gate of cell %d rests on an uncertain %q, want %q", worth, i, got, want)
			}
		}
	}
}

// So many trials as a share of good requests is said to take decide it, if those to come
// are like those that were, and two less do not; the number is even, for the next plan warns of
// an odd one.
func TestTrialsForAShareDecideIt(t *testing.T) {
	t.Parallel()
	for _, trials := range [][]float64{{1, 1, 1}, {1, 1, .99}, {.98, .98, .98}, {.97, 1, .98}} {
		like := func(k int) float64 { return trials[k%len(trials)] }
		state := func(n int) decide.SLOOutcome {
			_, cells := judgedShare(t, n, like)
			return cells[0].SLOs[0]
		}
		now := state(len(trials))
		if now.State != decide.Undecided || now.Trials <= len(trials) {
			t.Errorf("%v: %s, %d trials decide it", trials, now.State, now.Trials)
			continue
		}
		if then := state(now.Trials); then.State == decide.Undecided || then.Trials != 0 {
			t.Errorf("%v: %d trials were said to decide it: %s", trials, now.Trials, then.Text)
		}
		if before := state(now.Trials - 2); before.State != decide.Undecided || now.Trials%2 != 0 {
			t.Errorf("%v: %d trials were said to decide it, and two less do: %s", trials, now.Trials, before.Text)
		}
	}
	_, cells := judgedShare(t, 3, func(k int) float64 { return []float64{.99, .98, 1}[k%3] })
	if o := cells[0].SLOs[0]; o.State != decide.Undecided || o.Trials != 0 { // 99 % on average, the limit itself
		t.Errorf("a share at the limit: %s, %d trials decide it", o.State, o.Trials)
	}
}

// Requests that were cut off make the good share a range: held at its lower
// end, missed at its upper one.
func TestSLOsCountWhatWasCutOff(t *testing.T) {
	t.Parallel()
	d := loads(5)
	d.SLOs = map[string]float64{"request_latency": 60}
	p := expand(t, d)
	for _, c := range []struct {
		good  float64
		cut   int64
		doubt string // the check that touches the share
		want  decide.State
		held  bool
	}{
		{1, 0, "", decide.Held, true},
		{.9, 0, "", decide.Missed, false},
		{1, 100, "", decide.Undecided, false}, // 500 of 1,000 are known to be good
		{.99, 0, "", decide.Undecided, true},
		{.2, 100, "", decide.Missed, false},
		{.9, 0, "admission_wait", decide.Missed, false}, // which the users feel
		{.9, 0, validity.Lateness, decide.Undecided, false},
	} {
		outcomes := measure(p, .001, tokens, ttft)
		for i := range outcomes {
			full := &outcomes[i].Summaries[0]
			full.Stats = append(full.Stats, goodOf(c.good, 100, float64(c.cut)))
			outcomes[i].Cut = c.cut
			if outcomes[i].Taints = (validity.Taints{}); c.doubt != "" {
				outcomes[i].Taints.Add(metrics.GoodRequestFraction, c.doubt, validity.Doubtful)
			}
		}
		o := decide.Aggregate(p, outcomes).Cells[0].SLOs[0]
		if o.State != c.want || o.Held != c.held {
			t.Errorf("%g good, %d cut off: %s, held %v (%s), want %s", c.good, c.cut, o.State, o.Held, o.Text, c.want)
		}
		if c.cut > 0 && o.State == decide.Undecided && !strings.Contains(o.Text, "use a grace of at least the SLO") {
			t.Errorf("undecided because of the cut, without advice: %s", o.Text)
		}
	}
}

// goodOf is the share of good requests among what was judged and what was cut
// off before it was known: of all that were attempted.
func goodOf(good, judged, cut float64) metrics.Stat {
	s := metrics.Stat{
		Tag: "good_request_fraction", Unit: "ratio", Scalar: true, Avg: good * judged / (judged + cut),
		Open: cut / (judged + cut),
	}
	if cut > 0 {
		plain := metrics.Stat{Tag: s.Tag, Avg: good}
		s.Plain = &plain
	}
	return s
}

// A gate on the good share knows that it is a range: a run whose 20 requests of
// 100 were cut off may have had 80 good ones or all of them.
func TestGatesKnowWhatWasCutOff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		trials int
		gate   string
		want   decide.State
	}{
		{1, "good_request_fraction >= 0.9", decide.Undecided},
		{1, "good_request_fraction >= 0.8", decide.Held},
		{1, "good_request_fraction < 0.5", decide.Missed},
		{1, "goodput > 90", decide.Undecided},
		{1, "goodput > 70", decide.Held},
		{5, "good_request_fraction >= 0.9", decide.Undecided},
		{5, "good_request_fraction >= 0.7", decide.Held},
		{5, "good_request_fraction < 0.5", decide.Missed},
		{5, "goodput > 90", decide.Undecided},
		{5, "goodput > 70", decide.Held},
	} {
		d := loads(c.trials)
		d.SLOs = map[string]float64{"request_latency": 60}
		d.Head.Gates = []string{c.gate}
		p := expand(t, d)
		outcomes := measure(p, .001, tokens, ttft)
		for i := range outcomes {
			full := &outcomes[i].Summaries[0]
			rate := 80 + float64(outcomes[i].Run.Trial)/10 // trials that are all alike have no interval
			full.Stats = append(full.Stats, goodOf(1, 80, 20),
				metrics.Stat{Tag: "goodput", Scalar: true, Avg: rate, Open: 20})
			outcomes[i].OK, outcomes[i].Failed, outcomes[i].Cut = 80, 0, 20
		}
		if g := decide.Aggregate(p, outcomes).Cells[0].Gates[0]; g.State != c.want {
			t.Errorf("%d trials, %s: %s (%s; %s), want %s", c.trials, c.gate, g.State, g.Text, g.Note, c.want)
		}
	}
}

func TestGates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		gate string
		want string // per cell
		text string // of the third cell
		note string
	}{
		{"time_to_first_token.p99 < 60", "held held held missed", "45.0 [44.9, 45.1]", ""},
		{"time_to_first_token.p99 < 45", "held held held? missed", "45.0 [44.9, 45.1]", "too close to the limit to say how many trials decide it"},
		{"time_to_first_token.p99 < 45.01", "held held held? missed", "45.0 [44.9, 45.1]", "102 to 730 trials decide it: --set multi_run.num_runs=730"},
		{"error_rate == 0", "held held held held", "0 [0, 0.00735]", "as observed; true rate at most 0.735 %"},
		{"error_rate < 0.1", "held held held held", "0 [0, 0.00735]", ""},
		{"error_rate < 0.001", "held? held? held? held?", "0 [0, 0.00735]", "at least 38 trials decide it: --set multi_run.num_runs=38"},
		{"error_request_count == 0", "held held held held", "0 [0, 0.738]", "as observed, by value"},
		{"concurrency < 4 || output_token_throughput > 390", "held held missed held", "370 [369, 371]", ""},
		{"time_to_first_token.p99 < 40 + 2*concurrency && output_token_throughput/concurrency > 60", "held held held missed", "45.0 [44.9, 45.1], 370 [369, 371]", ""},
		{"inter_token_latency.p50 < 10", "missed! missed! missed! missed!", "inter_token_latency.p50: no run measured it", ""},
		{"concurrency in [1, 2]", "held held missed missed", "", ""},
	} {
		for _, policy := range []string{decide.ByEstimate, decide.AsPassed, decide.AsMissed} {
			d := loads(5)
			d.Head.Gates, d.Head.GatesUndecided = []string{c.gate}, policy
			p := expand(t, d)
			if err := decide.CheckGates(p, metrics.Tags()); err != nil {
				t.Errorf("%s: %v", c.gate, err)
				continue
			}
			r := decide.Aggregate(p, measure(p, .001, tokens, ttft))
			var got []string
			for i := range r.Cells {
				o := r.Cells[i].Gates[0]
				word := map[bool]string{true: "held", false: "missed"}[o.Held]
				switch {
				case o.Unmeasured:
					word += "!" // missed by any policy
				case o.State == decide.Undecided:
					word += "?"
				}
				got = append(got, word)
			}
			want := c.want
			switch policy {
			case decide.AsPassed:
				want = strings.ReplaceAll(want, "missed?", "held?")
			case decide.AsMissed:
				want = strings.ReplaceAll(want, "held?", "missed?")
			}
			if s := strings.Join(got, " "); s != want {
				t.Errorf("%s: %s, want %s", c.gate, s, want)
			}
			if o := r.Cells[2].Gates[0]; o.Text != c.text || o.Note != c.note {
				t.Errorf("%s: text %q, note %q, want %q, %q", c.gate, o.Text, o.Note, c.text, c.note)
			}
			if held := strings.Count(want, "held"); r.GatesHeld != held || r.GatesMissed != 4-held ||
				r.GatesUndecided != strings.Count(want, "?")+strings.Count(want, "!") {
				t.Errorf("%s: %d held, %d missed, %d undecided", c.gate, r.GatesHeld, r.GatesMissed, r.GatesUndecided)
			}
		}
	}
}

// A single run is decided by its value, and a number in doubt by nothing.
func TestGatesOfOneRunAndOfDoubtfulNumbers(t *testing.T) {
	t.Parallel()
	d := loads(1)
	d.Head.Gates = []string{"error_rate == 0", "time_to_first_token.p99 < 42"}
	p := expand(t, d)
	outcomes := measure(p, 0, tokens, ttft)
	outcomes[0].Taints = validity.Taints{"time_to_first_token": {Check: "receive_lag", Level: validity.Doubtful}}
	c := decide.Aggregate(p, outcomes).Cells
	if o := c[1].Gates[0]; o.State != decide.Held || o.Note != "as observed; true rate at most 3.62 %" {
		t.Errorf("one run without errors: %+v", o)
	}
	if o := c[2].Gates[1]; o.State != decide.Missed || o.Held {
		t.Errorf("one slow run: %+v", o)
	}
	if o := c[0].Gates[1]; o.State != decide.Undecided || !o.Held || !strings.Contains(o.Note, "receive_lag") {
		t.Errorf("a tainted one: %+v", o)
	}
}

// A gate on a number in doubt is decided where all that the number may be lies on one side of
// the limit, be it marked or left out; not where it may lie on both, and not where it is not
// known in every run how far it may be off.
func TestGatesOnARange(t *testing.T) {
	t.Parallel()
	const number = "time_to_first_token.p99"
	rng := rand.New(rand.NewPCG(22, 9))
	counts := map[decide.State]int{}
	for _, trials := range []int{1, 5} {
		d := loads(trials)
		d.Head.Gates = []string{number + " < 42"}
		p := expand(t, d)
		for range 200 {
			outcomes := measure(p, 0, tokens, ttft) // 40 ms and more
			level := []validity.Level{validity.Doubtful, validity.Wrong}[rng.IntN(2)]
			unknown := rng.IntN(4) == 0
			least, most := math.Inf(1), 0.0
			for i := range outcomes {
				if outcomes[i].Run.Cell.Index != 0 {
					continue
				}
				v, ok := outcomes[i].Figure(decide.Key{Tag: "time_to_first_token", Stat: "p99"})
				if !ok {
					t.Fatal("no value")
				}
				r := validity.Range{Less: 0.2 * rng.Float64(), More: 0.2 * rng.Float64()}
				outcomes[i].Taints = validity.Taints{number: {Check: "coalesced", Level: level}}
				if outcomes[i].Ranges = (validity.Ranges{number: r}); unknown && outcomes[i].Run.Trial == trials-1 {
					outcomes[i].Ranges = nil
				}
				least, most = min(least, v*(1-r.Less)), max(most, v*(1+r.More))
			}
			o := decide.Aggregate(p, outcomes).Cells[0].Gates[0]
			counts[o.State]++
			switch {
			case unknown && o.State != decide.Undecided:
				t.Fatalf("not known how far it is off, and %s: %+v", o.State, o)
			case o.State == decide.Held && (most >= 42 || !o.Held), o.State == decide.Missed && (least < 42 || o.Held):
				t.Fatalf("%g to %g: %+v", least, most, o)
			case trials == 1 && !unknown && o.State == decide.Undecided && (most < 42 || least >= 42):
				t.Fatalf("%g to %g is on one side: %+v", least, most, o)
			case o.State != decide.Undecided && !strings.Contains(o.Note, "in doubt") && !strings.Contains(o.Note, "invalid"):
				t.Fatalf("the doubt is not said: %+v", o)
			}
		}
	}
	if counts[decide.Held] < 20 || counts[decide.Undecided] < 20 {
		t.Errorf("%v", counts)
	}
}

func TestGatesAreCheckedBeforehand(t *testing.T) {
	t.Parallel()
	d := loads(1)
	d.Head.Gates = []string{
		"time_to_frist_token.p99 < 250", "time_to_first_token.p98 < 250", "concurency < 2", "time_to_first_token < 5",
		"error_rate.p99 == 0", "error_rate + 1", "error_rate <", "concurrency.p99 < 1", "error_rate == 0", "now() > 1",
		"ttft_p99 < 20", "mean_itl < 3", "errors == 0", "ttft.p90 < 3", "latency < 4",
	}
	err := decide.CheckGates(expand(t, d), metrics.Tags())
	bad, ok := err.(schema.Errors)
	if !ok {
		t.Fatalf("CheckGates: %v", err)
	}
	var got []string
	for _, e := range bad {
		got = append(got, e.Error()+" | "+e.Hint)
	}
	for i, want := range []string{
		`gates.0: "time_to_frist_token.p99 < 250": unknown metric time_to_frist_token | did you mean time_to_first_token?`,
		`gates.1: "time_to_first_token.p98 < 250": unknown statistic p98 | did you mean p9`,
		`gates.2: "concurency < 2": unknown metric concurency | did you mean concurrency?`,
		`gates.3: "time_to_first_token < 5": time_to_first_token has no single value | name a statistic: time_to_first_token.p99`,
		`gates.4: "error_rate.p99 == 0": unknown statistic p99 | known: avg`,
		`gates.5: "error_rate + 1": expected a condition, got a number`,
		`gates.6: "error_rate <": unexpected token EOF`,
		`gates.7: "concurrency.p99 < 1": type float64 has no field p99`,
		`gates.9: "now() > 1": unknown name now`,
		`gates.10: "ttft_p99 < 20": unknown metric ttft_p99 | did you mean time_to_first_token.p99?`,
		`gates.11: "mean_itl < 3": unknown metric mean_itl | did you mean inter_token_latency.avg?`,
		`gates.12: "errors == 0": unknown metric errors | did you mean error_rate?`,
		`gates.13: "ttft.p90 < 3": unknown metric ttft | did you mean time_to_first_token.p90?`,
		`gates.14: "latency < 4": unknown metric latency | did you mean request_latency.p99?`,
	} {
		if i >= len(got) || !strings.HasPrefix(got[i], want) {
			t.Errorf("mistake %d:\ngot  %s\nwant %s", i, fmt.Sprint(got[min(i, len(got)-1)]), want)
		}
	}
}

// What came in one read is known by two times alone, and an interval over trials is
// not narrower: of trials that differ, of trials that gave 0 because whole answers came
// at once, and in the steady window, whose value is another. One trial has none.
func TestIntervalsSpanSharedReads(t *testing.T) {
	t.Parallel()
	key := decide.Key{Tag: "time_to_first_token", Stat: "p50"}
	none := [2]float64{math.NaN(), math.NaN()}
	for _, c := range []struct {
		trials       int
		value        float64
		ends         [2]float64
		full, steady [2]float64 // the steady window's value is 1 more
		method       string
	}{
		{3, 40, [2]float64{40, 40}, [2]float64{40, 40}, [2]float64{41, 41}, "log_t"},
		{3, 40, [2]float64{30, 42}, [2]float64{30, 42}, [2]float64{31, 43}, "log_t"},
		{3, 0, [2]float64{0, 12}, [2]float64{0, 12}, [2]float64{1, 13}, "bounds"},
		{1, 40, [2]float64{30, 42}, none, none, ""},
	} {
		p := expand(t, grid(c.trials, axis(concurrency, "concurrency", 1)))
		outcomes := measure(p, .001, tokens, []float64{c.value})
		for i := range outcomes {
			o := &outcomes[i]
			steady := run(100, o.Summaries[0].Stats[0].P50+1)[0]
			steady.Window = decide.Steady
			o.Summaries = append(o.Summaries, steady)
			o.Ends = []decide.Ends{{Key: key, Low: c.ends[0], High: c.ends[1]}}
		}
		cell := decide.Aggregate(p, outcomes).Cells[0]
		check := func(of decide.Estimates, want [2]float64, method string) {
			t.Helper()
			e, _ := of.Get(key)
			if !alike(e.Low, want[0]) || !alike(e.High, want[1]) || method != "" && e.Method != method {
				t.Errorf("%d trials of %v, ends %v: %v [%v, %v] by %q, want %v by %q", c.trials, c.value, c.ends,
					e.Mean, e.Low, e.High, e.Method, want, c.method)
			}
			if other, _ := of.Get(decide.Key{Tag: key.Tag, Stat: "p90"}); other.HasInterval() &&
				other.High-other.Low > 1 {
				t.Errorf("p90 is widened by the ends of p50: [%v, %v]", other.Low, other.High)
			}
		}
		check(cell.Full, c.full, c.method)
		check(cell.Steady, c.steady, "")
	}
}

// alike allows for how much the trials differ.
func alike(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) < 0.2
}

// A gate on a cell that failed says that, not that a metric is missing.
func TestGateOfAFailedCell(t *testing.T) {
	t.Parallel()
	d := loads(2)
	d.Head.Gates = []string{"error_rate == 0"}
	p := expand(t, d)
	outcomes := measure(p, 0, tokens, ttft)
	for i := range outcomes {
		if o := &outcomes[i]; o.Run.Cell.Index == 0 {
			*o = decide.Outcome{Run: o.Run, Err: "every request failed"}
		}
	}
	c := decide.Aggregate(p, outcomes).Cells[0]
	if g := c.Gates[0]; c.Status != decide.Failed || g.Held ||
		g.Text != "error_rate.avg: every run of the cell failed" {
		t.Errorf("%s: %+v", c.Status, g)
	}
}

// A share over the steady window counts the trials that have one.
func TestShareOfATrialWithoutSteadyWindow(t *testing.T) {
	t.Parallel()
	p := expand(t, grid(3, axis(concurrency, "concurrency", 1)))
	outcomes := measure(p, 0, tokens, ttft)
	for i := range outcomes[:2] {
		steady := run(100, 40)[0]
		steady.Window = decide.Steady
		outcomes[i].Summaries = append(outcomes[i].Summaries, steady)
	}
	cell := decide.Aggregate(p, outcomes).Cells[0]
	e, ok := cell.Steady.Get(decide.Key{Tag: "error_rate", Stat: "avg"})
	if !ok || e.N != 2 || e.Mean != 0 {
		t.Errorf("error rate over the steady window: %v, %+v, want 0 of two trials", ok, e)
	}
}
