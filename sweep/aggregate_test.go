package sweep_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// run makes a summary with a throughput, TTFT percentiles and an error rate.
func run(throughput, ttft float64) []metrics.Summary {
	nan := math.NaN()
	d := metrics.Stat{
		Tag: "time_to_first_token", Header: "TTFT", Unit: "ms", Count: 100, Avg: ttft, Min: ttft, Max: ttft, Sum: nan, Std: 0,
		P1: ttft, P5: ttft, P10: ttft, P25: ttft, P50: ttft, P75: ttft, P90: ttft, P95: ttft, P99: ttft, P999: nan, NEff: nan,
	}
	scalar := func(tag, unit string, v float64) metrics.Stat {
		return metrics.Stat{Tag: tag, Unit: unit, Scalar: true, Avg: v, Min: nan, Max: nan, Sum: nan, Std: nan, NEff: nan}
	}
	full := metrics.Summary{Window: "full", Stats: []metrics.Stat{
		d, scalar("output_token_throughput", "tokens/sec", throughput),
		scalar("request_throughput", "requests/sec", throughput/10), scalar("error_rate", "ratio", 0),
	}}
	return []metrics.Summary{full, {Window: "steady", Stats: full.Stats[:1]}}
}

// measure gives each run of the plan the throughput and TTFT of its cell, and
// a trial-to-trial scatter of the given relative size.
func measure(p *sweep.Plan, scatter float64, throughput, ttft []float64) []sweep.Outcome {
	var out []sweep.Outcome
	for _, r := range p.Runs {
		f := 1 + scatter*(float64(r.Trial)-float64(p.Trials-1)/2)
		i := r.Cell.Index
		out = append(out, sweep.Outcome{Run: r, Summaries: run(throughput[i]*f, ttft[i]*f), Verdict: "VALID", OK: 100, Sent: 100})
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
	outcomes := measure(p, .1, tokens, ttft) // 90, 100, 110
	outcomes[4].Err, outcomes[4].Summaries = "connection refused", nil
	outcomes[1].Verdict, outcomes[5].Verdict = "DEGRADED", "INVALID"
	r := sweep.Aggregate(p, outcomes[:11])
	c := r.Cells[1]
	e, ok := c.Get("output_token_throughput", "avg")
	// mean 195, s = 19.5, t(0.975, 2) = 4.3027: 195 ∓ 4.3027·19.5/√3
	if half := 4.302652729749462 * 19.5 / math.Sqrt(3); !ok || e.N != 3 || math.Abs(e.Mean-195) > 1e-9 || math.Abs(e.Half()-half) > 1e-9 {
		t.Errorf("throughput of cell 1 = %+v", e)
	}
	if c.Status != sweep.Complete || c.Verdict != "INVALID" || c.OK != 300 || c.Trials != 3 {
		t.Errorf("cell 1 = %v, %v, OK %d, %d trials", c.Status, c.Verdict, c.OK, c.Trials)
	}
	failed := r.Cells[0]
	if failed.Status != sweep.Partial || failed.Trials != 2 || len(failed.Errors) != 1 || failed.Errors[0] != (sweep.RunError{Label: "run_0002", Error: "connection refused"}) {
		t.Errorf("cell 0 = %v with %v", failed.Status, failed.Errors)
	}
	if r.Cells[3].Status != sweep.Partial {
		t.Errorf("cell 3 with a run missing is %v", r.Cells[3].Status)
	}
	if _, ok := c.Get("time_to_first_token", "p999"); ok {
		t.Error("a percentile that no run has was estimated")
	}
	if _, ok := c.Get("error_rate", "p99"); ok {
		t.Error("a scalar has a percentile")
	}
	if e, ok := c.Steady[sweep.Key{Tag: "time_to_first_token", Stat: "p99"}]; !ok || e.N != 3 {
		t.Errorf("steady window: %+v", e)
	}
	if got := (sweep.Key{Tag: "time_to_first_token", Stat: "p99"}).String(); got != "time_to_first_token_p99" {
		t.Errorf("key = %q", got)
	}
}

func marks(r *sweep.Results) string {
	var out []string
	for i := range r.Cells {
		c, s := &r.Cells[i], ""
		if c.Pareto {
			s += "*"
		}
		if c.ParetoByMean {
			s += "m"
		}
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
		"quiet":              {5, .001, tokens, ttft, "*mlatency | *m | *m | *mkthroughput"},
		"overloaded":         {5, .001, worse, ttft, "*mlatency | *m | *mthroughput | k"},
		"noisy":              {5, .2, worse, ttft, "*m | *m | *m | *"},
		"two noisy trials":   {2, .1, worse, ttft, "*m | *m | *m | *"},
		"one trial":          {1, 0, worse, ttft, "m | m | m | k"},
		"load costs nothing": {5, .001, []float64{100, 200, 400, 800}, []float64{40, 40, 40, 40}, " |  |  | *mthroughput"},
	} {
		p := expand(t, loads(c.trials))
		got := marks(sweep.Aggregate(p, measure(p, c.scatter, c.tokens, c.ttft)))
		if got != c.want {
			t.Errorf("%s: %s, want %s", what, got, c.want)
		}
	}
}

// A knee is looked for on every line of cells that differ only in load.
func TestKneePerLine(t *testing.T) {
	t.Parallel()
	d := grid(3, axis(concurrency, "concurrency", 4, 1, 2), axis("benchmark.endpoint", "endpoint", map[string]any{"label": "a", "url": "a"}, map[string]any{"label": "b", "url": "b"}))
	p := expand(t, d) // a: 4, 1, 2; b: 4, 1, 2
	r := sweep.Aggregate(p, measure(p, .001, []float64{210, 100, 200, 400, 100, 200}, []float64{80, 40, 41, 41, 40, 41}))
	if got, want := marksOf(r, func(c *sweep.CellResult) bool { return c.Knee }), "a, concurrency 4"; got != want {
		t.Errorf("knees: %q, want %q", got, want)
	}
	if got, want := r.Cells[0].Reason, "knee: 100 % more load gave 5 % more throughput, and time_to_first_token.p99 is 2.0 times that of a, concurrency 1"; got != want {
		t.Errorf("reason: %q, want %q", got, want)
	}
}

func marksOf(r *sweep.Results, has func(*sweep.CellResult) bool) string {
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
	sentences := func(trials int, scatter float64) string {
		p := expand(t, loads(trials))
		var out []string
		for _, b := range sweep.Aggregate(p, measure(p, scatter, tokens, ttft)).Best {
			out = append(out, b.Sentence)
		}
		return strings.Join(out, "\n")
	}
	for _, c := range []struct {
		trials  int
		scatter float64
		want    string
	}{
		{5, .001, "best throughput: concurrency 8 (400 [399, 401] tokens/sec)\nbest latency: concurrency 1 (40 [39.9, 40.1] ms)"},
		{2, .1, "best throughput: no difference shown between concurrency 8 and concurrency 4 (n = 2, intervals overlap)\nbest latency: no difference shown between concurrency 1 and concurrency 2 (n = 2, intervals overlap)"},
		{1, 0, "best throughput: no difference shown between concurrency 8 and concurrency 4 (n = 1, no intervals)\nbest latency: no difference shown between concurrency 1 and concurrency 2 (n = 1, no intervals)"},
	} {
		if got := sentences(c.trials, c.scatter); got != c.want {
			t.Errorf("%d trials, scatter %g:\ngot  %s\nwant %s", c.trials, c.scatter, got, c.want)
		}
	}
}

func TestBestUnderConditions(t *testing.T) {
	t.Parallel()
	d := loads(5)
	d.slos = map[string]float64{"time_to_first_token": 60}
	d.envelope.Gates = []string{"error_rate == 0"}
	p := expand(t, d)
	if err := p.CompileGates(metrics.Tags()); err != nil {
		t.Fatal(err)
	}
	r := sweep.Aggregate(p, measure(p, .001, tokens, ttft))
	if got, want := r.UnderSLO.Sentence, "best throughput with error_rate == 0 and time_to_first_token.p99 <= 60: concurrency 4 (370 [369, 371] tokens/sec)"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	d.slos["time_to_first_token"] = 1
	r = sweep.Aggregate(p, measure(p, .001, tokens, ttft))
	if got := r.UnderSLO.Sentence; !strings.HasSuffix(got, ": no cell") {
		t.Errorf("nothing holds: %s", got)
	}
	if bare := sweep.Aggregate(expand(t, loads(1)), nil); bare.UnderSLO != nil || bare.Cells[0].Status != sweep.NotRun {
		t.Errorf("without runs: %+v", bare)
	}
}

func TestGates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		gate string
		want string // per cell: held, missed; ! when sure
		text string // of the third cell
	}{
		{"time_to_first_token.p99 < 60", "held! held! held! missed!", "45 [44.9, 45.1]"},
		{"time_to_first_token.p99 < 45", "held! held! missed missed!", "45 [44.9, 45.1]"},
		{"error_rate == 0", "held! held! held! held!", "0 [0, 0]"},
		{"concurrency < 4 || output_token_throughput > 390", "held! held! missed! held!", "370 [369, 371]"},
		{"time_to_first_token.p99 < 40 + 2*concurrency && output_token_throughput/concurrency > 60", "held! held! held! missed!", "45 [44.9, 45.1], 370 [369, 371]"},
		{"inter_token_latency.p50 < 10", "missed missed missed missed", "inter_token_latency.p50: metric not available"},
		{"concurrency in [1, 2]", "held! held! missed! missed!", ""},
	} {
		d := loads(5)
		d.envelope.Gates = []string{c.gate}
		p := expand(t, d)
		if err := p.CompileGates(metrics.Tags()); err != nil {
			t.Errorf("%s: %v", c.gate, err)
			continue
		}
		r := sweep.Aggregate(p, measure(p, .001, tokens, ttft))
		var got []string
		for i := range r.Cells {
			o := r.Cells[i].Gates[0]
			word := map[bool]string{true: "held", false: "missed"}[o.Held]
			if o.Sure {
				word += "!"
			}
			got = append(got, word)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s", c.gate, s, c.want)
		}
		if text := r.Cells[2].Gates[0].Text; text != c.text {
			t.Errorf("%s: text %q, want %q", c.gate, text, c.text)
		}
		if held := strings.Count(c.want, "held"); r.GatesHeld != held || r.GatesMissed != 4-held {
			t.Errorf("%s: %d held, %d missed", c.gate, r.GatesHeld, r.GatesMissed)
		}
	}
}

func TestGatesAreCheckedBeforehand(t *testing.T) {
	t.Parallel()
	d := loads(1)
	d.envelope.Gates = []string{
		"time_to_frist_token.p99 < 250", "time_to_first_token.p98 < 250", "concurency < 2", "time_to_first_token < 5",
		"error_rate.p99 == 0", "error_rate + 1", "error_rate <", "concurrency.p99 < 1", "error_rate == 0", "now() > 1",
	}
	err := expand(t, d).CompileGates(metrics.Tags())
	bad, ok := err.(schema.Errors)
	if !ok {
		t.Fatalf("CompileGates: %v", err)
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
		`gates.5: "error_rate + 1": expected bool`,
		`gates.6: "error_rate <": unexpected token EOF`,
		`gates.7: "concurrency.p99 < 1": type float64 has no field p99`,
		`gates.9: "now() > 1": unknown name now`,
	} {
		if i >= len(got) || !strings.HasPrefix(got[i], want) {
			t.Errorf("mistake %d:\ngot  %s\nwant %s", i, fmt.Sprint(got[min(i, len(got)-1)]), want)
		}
	}
}
