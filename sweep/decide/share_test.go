package decide_test

import (
	"flag"
	"fmt"
	"math"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/sweep/decide"
)

var errorKey = decide.Key{Tag: "error_rate", Stat: "avg"}

// failing is an arm whose trials have so many requests, of which so many failed.
func failing(name string, requests int, failed ...int) decide.Arm {
	a := arm(name, wobbledBy(40, len(failed)), wobbledBy(400, len(failed)))
	for i, n := range failed {
		o := &a.Cells[0].Runs[i]
		o.OK, o.Failed, o.Sent = int64(requests-n), int64(n), int64(requests)
		stats := o.Summaries[0].Stats
		for j := range stats {
			switch stats[j].Tag {
			case "error_rate":
				stats[j].Avg = float64(n) / float64(requests)
			case "completed_request_count":
				stats[j].Avg = float64(requests)
			}
		}
	}
	return a
}

func wobbledBy(v float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v * wobble[i%len(wobble)]
	}
	return out
}

func errorsOf(t *testing.T, a, b decide.Arm, terms decide.Terms) (decide.Row, *decide.Comparison) {
	t.Helper()
	c, err := decide.Compare(a, b, terms)
	if err != nil {
		t.Fatal(err)
	}
	return find(t, c, errorKey), c
}

// Three points of errors more are a regression, whatever the margin of times is; a tenth of
// a point is not, and neither is what an experiment calls too little to count.
func TestErrorsHaveAMarginOfTheirOwn(t *testing.T) {
	t.Parallel()
	none := failing("a", 1000, 0, 0, 0, 0, 0)
	for _, c := range []struct {
		what  string
		b     decide.Arm
		terms decide.Terms
		want  decide.Verdict
		exit  diag.Code
	}{
		{"3 points", failing("b", 1000, 32, 35, 29, 33, 31), decide.Terms{Paired: true}, decide.Worse, diag.Missed},
		{"3 points, not paired", failing("b", 1000, 32, 35, 29, 33, 31), decide.Terms{}, decide.Worse, diag.Missed},
		{"3 points, a wide margin of times", failing("b", 1000, 32, 35, 29, 33, 31), decide.Terms{Paired: true, Margin: .2}, decide.Worse, diag.Missed},
		{"3 points, of which 5 do not count", failing("b", 1000, 32, 35, 29, 33, 31), decide.Terms{Paired: true, ShareMargin: .05}, decide.Equivalent, diag.OK},
		{"a tenth of a point", failing("b", 1000, 1, 0, 2, 1, 1), decide.Terms{Paired: true}, decide.Equivalent, diag.OK},
		{"a tenth of a point, where it counts", failing("b", 40_000, 51, 47, 49, 50, 53), decide.Terms{Paired: true, ShareMargin: .0005}, decide.Worse, diag.Missed},
		{"none of 59 a side", failing("b", 1000, 0, 0, 0, 0, 0), decide.Terms{Paired: true}, decide.Equivalent, diag.OK},
		{"one in few", failing("b", 40, 1, 0, 0, 0, 0), decide.Terms{Paired: true}, decide.Unclear, diag.Invalid},
	} {
		r, whole := errorsOf(t, none, c.b, c.terms)
		if r.Outcome != c.want || whole.Exit() != c.exit {
			t.Errorf("%s: %s with exit %d, want %s with %d: %+v", c.what, r.Outcome, whole.Exit(), c.want, c.exit, r)
		}
	}
	r, _ := errorsOf(t, none, failing("b", 1000, 32, 35, 29, 33, 31), decide.Terms{Paired: true})
	if point, low, high, ok := r.Points(); !ok || math.Abs(point-.032) > 1e-4 || low < .02 || high > .045 {
		t.Errorf("%.4f [%.4f, %.4f] points, %t; want about 0.032", point, low, high, ok)
	}
	if r.Detectable < .01 || r.Detectable > .03 {
		t.Errorf("finds %.4f; want 1 to 3 points", r.Detectable)
	}
}

// Where nothing failed on either side there is nothing to tell apart: few requests are
// enough to call that equal, and too few are not.
func TestNoErrorsAreEqualAsObserved(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		requests int
		want     decide.Verdict
	}{{12, decide.Unclear}, {40, decide.Equivalent}, {1000, decide.Equivalent}} {
		r, _ := errorsOf(t, failing("a", c.requests, 0, 0, 0, 0, 0), failing("b", c.requests, 0, 0, 0, 0, 0),
			decide.Terms{Paired: true})
		if r.Outcome != c.want || !r.Clean() || r.Margin != decide.DefaultShareMargin {
			t.Errorf("five trials of %d: %s, clean %t; want %s", c.requests, r.Outcome, r.Clean(), c.want)
		}
	}
}

// 40 of 480 requests that failed, where none of 480 did before, are a regression wherever most
// trials had some, also where they come in bursts. Those of one or two trials may be an accident
// of those, and those of few requests chance.
func TestErrorsWhereThereWereNone(t *testing.T) {
	t.Parallel()
	none := failing("a", 96, 0, 0, 0, 0, 0)
	for _, c := range []struct {
		failed []int
		want   decide.Verdict
	}{
		{[]int{8, 8, 8, 8, 8}, decide.Worse},
		{[]int{20, 3, 10, 2, 5}, decide.Worse},
		{[]int{0, 25, 0, 12, 3}, decide.Worse},
		{[]int{14, 0, 13, 0, 13}, decide.Worse},
		{[]int{0, 38, 1, 1, 0}, decide.Worse},
		{[]int{0, 20, 0, 20, 0}, decide.Unclear},
		{[]int{40, 0, 0, 0, 0}, decide.Unclear},
		{[]int{1, 2, 1, 0, 1}, decide.Unclear},
	} {
		for _, paired := range []bool{true, false} {
			with := decide.Terms{Paired: paired, Primary: []decide.Key{errorKey}, Candidates: 5}
			r, _ := errorsOf(t, none, failing("b", 96, c.failed...), with)
			back, _ := errorsOf(t, failing("b", 96, c.failed...), none, with)
			mirrored := map[decide.Verdict]decide.Verdict{decide.Worse: decide.Better, decide.Unclear: decide.Unclear}
			if r.Outcome != c.want || back.Outcome != mirrored[c.want] {
				t.Errorf("0 and %v of 96, paired %t: %s, and %s the other way round", c.failed, paired, r.Outcome, back.Outcome)
			}
			_, low, high, _ := r.Points()
			if shown := low > 0; shown != (c.want == decide.Worse) || shown != (r.P < 1-r.Level) || low > high {
				t.Errorf("0 and %v of 96: %s, [%.4f, %.4f], p %.4f", c.failed, r.Outcome, low, high, r.P)
			}
		}
	}
	fewer := failing("a", 960, 0, 0, 0, 0, 0)
	r, _ := errorsOf(t, fewer, failing("b", 960, 1, 4, 2, 0, 3), decide.Terms{Paired: true})
	if r.Outcome == decide.Worse {
		t.Errorf("0.2 points, within the margin: %s", r.Outcome)
	}
}

// Three trials are few, and still show failures that are in each of them where there were none; failures that come in
// one burst a trial are one accident each, and then the row says how many trials would do.
func TestErrorsOfThreeTrials(t *testing.T) {
	t.Parallel()
	none := failing("a", 120, 0, 0, 0)
	for _, c := range []struct {
		failed []int
		effect float64
		want   decide.Verdict
	}{
		{[]int{7, 8, 7}, 1, decide.Worse},
		{[]int{7, 8, 7}, 0, decide.Worse}, // it is not known: by itself
		{[]int{4, 12, 6}, 1.2, decide.Worse},
		{[]int{7, 8, 7}, 7, decide.Unclear},
		{[]int{0, 11, 11}, 1, decide.Unclear},
		{[]int{2, 1, 1}, 1, decide.Unclear},
	} {
		b := failing("b", 120, c.failed...)
		for i := range b.Cells[0].Runs {
			b.Cells[0].Runs[i].FailedEffect = c.effect
		}
		r, _ := errorsOf(t, none, b, decide.Terms{Paired: true, Primary: []decide.Key{errorKey}, Candidates: 5})
		if r.Outcome != c.want {
			t.Errorf("0 and %v of 120, %g together: %s, want %s: %+v", c.failed, c.effect, r.Outcome, c.want, r)
		}
		if c.effect == 7 && r.Trials != (decide.Trials{Least: 6, Most: 6, Rough: true}) {
			t.Errorf("bursts: %v would do, want about 6 trials", r.Trials)
		}
	}
	found, plans := 0, 200
	rng := seed.Stream(22, "decide/three trials")
	for range plans {
		b := failing("b", 120, 0, 0, 0)
		var failed []int
		var together []float64
		for range 3 {
			hit, k := make([]bool, 120), 0
			for i := range hit {
				if hit[i] = rng.Float64() < 0.08; hit[i] {
					k++
				}
			}
			failed, together = append(failed, k), append(together, stats.Together(hit))
		}
		b = failing("b", 120, failed...)
		for i := range b.Cells[0].Runs {
			b.Cells[0].Runs[i].FailedEffect = together[i]
		}
		r, _ := errorsOf(t, none, b, decide.Terms{Paired: true, Primary: []decide.Key{errorKey}, Candidates: 5})
		if r.Outcome == decide.Worse {
			found++
		}
	}
	t.Logf("8 %% of 120 failed in three trials, and none did: WORSE in %d of %d", found, plans)
	if found < plans*8/10 {
		t.Errorf("8 %% of 120 failed in three trials, and none did: WORSE in %d of %d", found, plans)
	}
}

// Failures on both sides are told apart by all of their requests, where the trials of a side are alike; where these
// differ, the trials decide.
func TestErrorsOnBothSides(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b []int
		want decide.Verdict
	}{
		{[]int{1, 1, 1, 1, 1}, []int{8, 6, 8, 9, 9}, decide.Worse},
		{[]int{1, 0, 2, 1, 1}, []int{4, 7, 3, 6, 5}, decide.Worse},
		{[]int{1, 2, 0, 1, 1}, []int{2, 0, 2, 1, 3}, decide.Unclear},
		{[]int{0, 5, 0, 0, 0}, []int{0, 0, 25, 0, 0}, decide.Unclear},
		{[]int{0, 1, 2, 0, 2}, []int{0, 20, 0, 5, 0}, decide.Unclear},
	} {
		for _, paired := range []bool{true, false} {
			with := decide.Terms{Paired: paired}
			r, _ := errorsOf(t, failing("a", 96, c.a...), failing("b", 96, c.b...), with)
			back, _ := errorsOf(t, failing("b", 96, c.b...), failing("a", 96, c.a...), with)
			mirrored := map[decide.Verdict]decide.Verdict{decide.Worse: decide.Better, decide.Unclear: decide.Unclear}
			if r.Outcome != c.want || back.Outcome != mirrored[c.want] {
				t.Errorf("%v and %v of 96, paired %t: %s, and %s the other way round", c.a, c.b, paired, r.Outcome, back.Outcome)
			}
		}
	}
}

// errorSeed draws other servers for TestErrorsOfDrawnServers.
var errorSeed = flag.Int64("error-seed", 1, "draw the failing servers from this seed")

// A server that fails as often on both sides is told apart from itself no more often than the level allows: servers
// are drawn that fail in 0.2 to 30 % of the requests, each by itself, in bursts of up to 50, or with a chance that
// differs from trial to trial, in 3 to 10 trials of 50 to 2,000 requests.
func TestErrorsOfDrawnServers(t *testing.T) {
	t.Parallel()
	rng := seed.Stream(*errorSeed, "decide/drawn errors")
	wide := func(low, high float64) float64 { return low * math.Pow(high/low, rng.Float64()) }
	plans, shown := 0, 0
	for range 6 * *errorPlans {
		trials, requests, share := 3+rng.IntN(8), int(wide(50, 2000)), wide(0.002, 0.3)
		burst, spread := 1, 0.0
		switch rng.IntN(3) {
		case 0:
			burst = int(wide(2, 50))
		case 1:
			spread = 1.5 * rng.Float64()
		}
		fails := func() (failed []int, sum int) {
			for range trials {
				p := min(0.9, share*math.Exp(spread*rng.NormFloat64()-spread*spread/2))
				k := 0
				for left := requests; left > 0; left-- {
					if rng.Float64() < p/float64(burst) {
						k += min(burst, requests-k)
					}
				}
				failed, sum = append(failed, k), sum+k
			}
			return failed, sum
		}
		a, some := fails()
		b, others := fails()
		if some == 0 || others == 0 { // none on one side: TestErrorsBySimulation
			continue
		}
		r, _ := errorsOf(t, failing("a", requests, a...), failing("b", requests, b...),
			decide.Terms{Paired: rng.IntN(2) == 0, Primary: []decide.Key{errorKey}, Candidates: 5})
		if plans++; r.P < 1-r.Level {
			shown++
		}
	}
	t.Logf("told apart from itself: %d of %d plans, at a level of 1 %%", shown, plans)
	if n := float64(plans); float64(shown) > 0.01*n+4*math.Sqrt(0.01*n) {
		t.Errorf("told apart from itself: %d of %d plans, at a level of 1 %%", shown, plans)
	}
}

// errorPlans is how many plans TestErrorsBySimulation draws of each kind.
var errorPlans = flag.Int("error-plans", 150, "draw so many plans")

// drawnErrors counts the outcomes of n plans of five trials whose requests fail with these
// chances, which spread from trial to trial by a factor; struck is the part of the trials that
// have failures at all, 0 for all.
func drawnErrors(t *testing.T, n, requests int, a, b, spread, struck float64, paired bool) map[decide.Verdict]int {
	t.Helper()
	rng := seed.Stream(int64(requests), fmt.Sprint("errors", a, b, spread, paired))
	told := map[decide.Verdict]int{}
	fails := func(p float64) (failed []int) {
		for range 5 {
			p := p * math.Exp(spread*rng.NormFloat64()-spread*spread/2)
			if struck > 0 && rng.Float64() >= struck {
				p = 0
			}
			k := 0
			for range requests {
				if rng.Float64() < p {
					k++
				}
			}
			failed = append(failed, k)
		}
		return failed
	}
	for range n {
		r, _ := errorsOf(t, failing("a", requests, fails(a)...), failing("b", requests, fails(b)...),
			decide.Terms{Paired: paired, Primary: []decide.Key{errorKey}, Candidates: 5})
		told[r.Outcome]++
	}
	return told
}

// How often the errors of one system are told apart from themselves, and how often a rise is
// found, or called equal: drawn trials, at the level of five primary metrics.
//
// Counted with 4,000 plans each: see docs/simulations.md.
func TestErrorsBySimulation(t *testing.T) {
	t.Parallel()
	n := *errorPlans
	// so many of 100 plans: one system is told apart in 1, and twice that is chance at this number
	for _, c := range []struct {
		requests       int
		a, b, spread   float64
		struck         float64
		worse, better  int // at most; −1 for any number
		equal, atLeast int // EQUIVALENT at most, and WORSE at least; −1 for any number
		what           string
	}{
		{requests: 200, a: 0.005, b: 0.005, worse: 3, better: 3, equal: -1, what: "the same, half a point"},
		{requests: 200, a: 0.03, b: 0.03, worse: 3, better: 3, equal: -1, what: "the same, three points"},
		{requests: 200, a: 0.2, b: 0.2, worse: 3, better: 3, equal: -1, what: "the same, twenty points"},
		{requests: 1000, a: 0.03, b: 0.03, spread: 0.5, worse: 3, better: 3, equal: -1, what: "the same, trials differ"},
		{requests: 1000, a: 0.001, b: 0.001, worse: 0, better: 0, equal: -1, what: "the same, a tenth of a point"},
		{requests: 96, a: 0.01, b: 0.01, spread: 1, worse: 3, better: 3, equal: -1, what: "the same, rare, trials differ much"},
		{requests: 96, a: 0.05, b: 0.05, spread: 1.5, worse: 3, better: 3, equal: -1, what: "the same, trials differ very much"},
		{requests: 1000, a: 0.01, b: 0.01, spread: 1.5, worse: 3, better: 3, equal: -1, what: "the same, many, trials differ very much"},
		{requests: 96, a: 0.2, b: 0.2, spread: 0.5, struck: 0.35, worse: 6, better: 6, equal: -1, what: "the same, a third of the trials fails"},
		{requests: 96, a: 0, b: 1. / 12, worse: -1, equal: 0, atLeast: 95, what: "8 points more than none, few"},
		{requests: 96, a: 0, b: 1. / 12, spread: 1, worse: -1, equal: 0, atLeast: 60, what: "8 points more than none, few, trials differ much"},
		{requests: 1000, a: 0, b: 0.032, worse: -1, equal: 0, atLeast: 95, what: "3.2 points more than none"},
		{requests: 1000, a: 0.01, b: 0.04, worse: -1, equal: 0, atLeast: 95, what: "3 points more than 1 %"},
		{requests: 96, a: 0.01, b: 1. / 12, worse: -1, equal: 0, atLeast: 80, what: "7 points more than 1 %, few"},
		{requests: 1000, a: 0.02, b: 0.03, worse: -1, equal: 5, what: "a point more: the margin itself"},
		{requests: 1000, a: 0, b: 0.02, spread: 0.3, worse: -1, equal: 0, atLeast: 75, what: "2 points more than none, trials differ"},
	} {
		for _, paired := range []bool{true, false} {
			told := drawnErrors(t, n, c.requests, c.a, c.b, c.spread, c.struck, paired)
			t.Logf("%s, %d requests, paired %t: %v of %d", c.what, c.requests, paired, told, n)
			worse, better, equal := told[decide.Worse], told[decide.Better], told[decide.Equivalent]
			in := func(percent int) int { return percent * n / 100 }
			if c.worse >= 0 && worse > in(c.worse) || better > in(c.better) || c.equal >= 0 && equal > in(c.equal) ||
				worse < in(c.atLeast) {
				t.Errorf("%s, paired %t: %v of %d", c.what, paired, told, n)
			}
		}
	}
}
