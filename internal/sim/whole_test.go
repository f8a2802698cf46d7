package sim

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/sweep/decide"
)

// Whole plans through the pipeline under the circumstances that simple servers do not
// have: instances whose state lasts, shared arrivals, caps, a long grace, queues.

// lasting is a pace whose factor is drawn for each server and each run of so many:
// 1 is a server that is started again for each run.
func lasting(spread float64, runs int) func(url string, run int) float64 {
	return func(url string, run int) float64 {
		rng := seed.Stream(int64(run/runs), "sim/instance/"+url)
		return math.Exp(spread*rng.NormFloat64() - spread*spread/2)
	}
}

// circumstance is a design, and what is counted in its plans.
type circumstance struct {
	name string
	design
	asks []asked
}

// asked is what is counted in plans, and the share of plans that the design allows it
// (at most) or asks for it (at least); 0: it is described. No share is taken from an
// outcome.
type asked struct {
	what        string
	most, least float64
	count       func(c conclusion) bool
}

// found reports whether a check over the plan is past its limit.
func found(check string) func(c conclusion) bool {
	return func(c conclusion) bool {
		return slices.ContainsFunc(c.plan, func(f verdict.Finding) bool {
			return f.Check == check &&
				f.Verdict > verdict.Valid
		})
	}
}

// wrong are conclusions about one server under several names, each with the level that
// its test has by design.
var wrong = []asked{
	{"one is called best", 0.05, 0, func(c conclusion) bool { return anyBest(c.Results, nil) }},
	{"one is called dominated", 0.05, 0, func(c conclusion) bool { return anyDominated(c.Results, nil) }},
	{"BETTER or WORSE", 0.05, 0, func(c conclusion) bool { return told(c) }},
	{"`drift`", 0.02, 0, found("drift")},
	{"`warmup`", 0.01, 0, found("warmup")},
	{"`stationary`", 0.01, 0, found("stationary")},
}

// keepsUp is what may be said of a server that keeps up.
var keepsUp = asked{"`backlog`", 0.03, 0, found("backlog")}

// faster are conclusions about a candidate that takes a tenth less time.
var faster = []asked{
	{"EQUIVALENT", 0.01, 0, func(c conclusion) bool { return says(decide.Equivalent)(c.Results, nil) }},
	{"WORSE", 0.01, 0, func(c conclusion) bool { return says(decide.Worse)(c.Results, nil) }},
	{"BETTER, which is right", 0, 0, func(c conclusion) bool { return says(decide.Better)(c.Results, nil) }},
}

// slower are conclusions about a candidate that takes a tenth more.
var slower = []asked{
	{"EQUIVALENT or NOT WORSE", 0.05, 0, func(c conclusion) bool { return says(decide.Equivalent, decide.NotWorse)(c.Results, nil) }},
	{"BETTER", 0.01, 0, func(c conclusion) bool { return says(decide.Better)(c.Results, nil) }},
	{"WORSE, which is right", 0, 0, func(c conclusion) bool { return says(decide.Worse)(c.Results, nil) }},
}

// circumstancesOf are the scenarios.
func circumstancesOf() []circumstance {
	// 8 ÷ 55 ms are 145 requests a second
	const calm, queue = "ttft=40ms&itl=5ms&cv=0.3", "ttft=40ms&itl=5ms&cv=0.3&workers=8"
	same := func(words string, n int, phase string, requests int) design {
		d := design{trials: 5, requests: requests, phase: phase, compare: "margin: 0.05"}
		for range n {
			d.cells = append(d.cells, words)
		}
		return d
	}
	load := func(share float64) string { return fmt.Sprintf("type: poisson, rate: %.1f", share*145) }
	paced := func(d design, pace func(string, int) float64) design { d.pace = pace; return d }
	tenth := same(calm, 2, closedLoop, 100)
	tenth.cells[1] += "&slowdown=1.1"
	less := same(calm, 2, closedLoop, 100)
	less.cells[0] += "&slowdown=1.1111"
	capped := same(calm, 2, "type: poisson, rate: 80, concurrency: 5", 100)
	patient := same(calm+"&workers=8", 2, "type: poisson, rate: 120, duration: 1, grace_period: 60", 0)
	return []circumstance{
		{"two names, instances last a run and vary by 3 %", paced(same(calm, 2, closedLoop, 100), lasting(0.03, 1)), wrong},
		{"two names, instances last a run and vary by 10 %", paced(same(calm, 2, closedLoop, 100), lasting(0.10, 1)), wrong},
		{"six names, instances last a run and vary by 5 %", paced(same(calm, 6, closedLoop, 100), lasting(0.05, 1)), wrong},
		{"two names, shared arrivals, a queue at 70 %, 200 requests", same(queue, 2, load(0.70), 200), wrong},
		{"two names, shared arrivals, a queue at 85 %, 200 requests", same(queue, 2, load(0.85), 200), wrong},
		{"two names, shared arrivals, a queue at 90 %, 1,000 requests", same(queue, 2, load(0.90), 1000), append(slices.Clone(wrong), keepsUp)},
		{"two names, shared arrivals, a queue at 95 %, 1,000 requests", same(queue, 2, load(0.95), 1000), append(slices.Clone(wrong), asked{"`backlog`", 0, 0, found("backlog")})},
		{"two names, shared arrivals, a queue at 130 %, 1,000 requests", same(queue, 2, load(1.30), 1000), []asked{{"`backlog`, which is right", 0, 0.95, found("backlog")}, wrong[0], wrong[1], wrong[2]}},
		{"two names, a cap that makes requests wait", capped, append(slices.Clone(wrong), keepsUp)},
		{"two names, a long grace", patient, append(slices.Clone(wrong), keepsUp)},
		{"10 % faster, instances last a run and vary by 3 %", paced(less, lasting(0.03, 1)), faster},
		{"10 % faster, instances last a run and vary by 10 %", paced(less, lasting(0.10, 1)), faster},
		{"10 % slower, instances last a run and vary by 3 %", paced(tenth, lasting(0.03, 1)), slower},
		{"10 % slower, instances last a run and vary by 10 %", paced(tenth, lasting(0.10, 1)), slower},
		{"two names, instances last the plan and vary by 3 %", paced(same(calm, 2, closedLoop, 100), lasting(0.03, 10)), []asked{
			{"BETTER or WORSE: the instances do differ", 0, 0, func(c conclusion) bool { return told(c) }},
		}},
	}
}

// Each wrong conclusion is drawn as seldom as it may be: not more often than a share as
// large as that is seen in so many plans, but for one time in a hundred. -fresh and -seed say how many
// plans of which numbers; else a few of each are carried out.
func TestWholePlans(t *testing.T) {
	t.Parallel()
	for _, x := range circumstancesOf() {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			d, seen, k := x.design, 0, make([]int, len(x.asks))
			plans := 2
			switch {
			case *fresh > 0:
				plans = *fresh
			case d.requests >= 1000:
				plans = 1
			}
			d.from = *freshFrom
			d.simulate(t, plans, func(c conclusion) {
				seen++
				for i, a := range x.asks {
					if a.count(c) {
						k[i]++
					}
				}
			})
			for i, a := range x.asks {
				t.Log(pageRow(x.name, a.what, k[i], seen, a.most))
				if a.most > 0 && k[i] > most(a.most, seen) {
					t.Errorf("%s: in %d of %d plans %s; want at most %.1f %%", x.name, k[i], seen, a.what, 100*a.most)
				}
				if missed := seen - k[i]; a.least > 0 && missed > most(1-a.least, seen) {
					t.Errorf("%s: in %d of %d plans %s; want at least %.1f %%", x.name, k[i], seen, a.what, 100*a.least)
				}
			}
		})
	}
}
