package sim

import (
	"fmt"
	"math"
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

type asked struct {
	what  string
	most  float64 // the share of plans it may happen in; 0: it is described
	count func(c conclusion) bool
}

// wrong are conclusions about one server under several names. What is allowed is the sum
// of what each may do: 5 % for a best cell and for a dominated one; 2 % for drift, 1 % for
// warmup and stationary each, 3 % for a backlog.
var wrong = []asked{
	{"best or dominated", 0.10, func(c conclusion) bool { return anyBest(c.Results, nil) || anyDominated(c.Results, nil) }},
	{"BETTER or WORSE", 0.05, func(c conclusion) bool { return told(c) }},
	{"`backlog`, `drift`, `warmup` or `stationary`", 0.07, func(c conclusion) bool { return verdict.Worst(c.plan) > verdict.Valid }},
}

// slower are conclusions about a candidate that is slower by a tenth.
var slower = []asked{
	{"EQUIVALENT or NOT WORSE", 0.05, func(c conclusion) bool { return says(decide.Equivalent, decide.NotWorse)(c.Results, nil) }},
	{"BETTER", 0.01, func(c conclusion) bool { return says(decide.Better)(c.Results, nil) }},
	{"WORSE, which is right", 0, func(c conclusion) bool { return says(decide.Worse)(c.Results, nil) }},
}

// circumstancesOf are the scenarios.
func circumstancesOf() []circumstance {
	const calm, queue = "ttft=40ms&itl=5ms&cv=0.3", "ttft=40ms&itl=5ms&cv=0.3&workers=8" // 8 ÷ 55 ms are 145 requests a second
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
	capped := same(calm, 2, "type: poisson, rate: 80, concurrency: 5", 100)
	patient := same(calm+"&workers=8", 2, "type: poisson, rate: 120, duration: 1, grace_period: 60", 0)
	return []circumstance{
		{"two names, instances last a run and vary by 3 %", paced(same(calm, 2, closedLoop, 100), lasting(0.03, 1)), wrong},
		{"two names, instances last a run and vary by 10 %", paced(same(calm, 2, closedLoop, 100), lasting(0.10, 1)), wrong},
		{"six names, instances last a run and vary by 5 %", paced(same(calm, 6, closedLoop, 100), lasting(0.05, 1)), wrong},
		{"two names, shared arrivals, a queue at 70 %", same(queue, 2, load(0.70), 200), wrong},
		{"two names, shared arrivals, a queue at 85 %", same(queue, 2, load(0.85), 200), wrong},
		{"two names, a cap that makes requests wait", capped, wrong},
		{"two names, a long grace", patient, wrong},
		{"10 % slower, instances last a run and vary by 3 %", paced(tenth, lasting(0.03, 1)), slower},
		{"10 % slower, instances last a run and vary by 10 %", paced(tenth, lasting(0.10, 1)), slower},
		{"two names, instances last the plan and vary by 3 %", paced(same(calm, 2, closedLoop, 100), lasting(0.03, 10)), []asked{
			{"BETTER or WORSE: the instances do differ", 0, func(c conclusion) bool { return told(c) }},
		}},
	}
}

// Each wrong conclusion is drawn as seldom as it may be. -fresh and -seed say how many
// plans of which numbers; else a few of each are carried out.
func TestWholePlans(t *testing.T) {
	t.Parallel()
	plans := 2
	if *fresh > 0 {
		plans = *fresh
	}
	for _, x := range circumstancesOf() {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			d, seen, k := x.design, 0, make([]int, len(x.asks))
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
					t.Errorf("%s: in %d of %d plans %s; want %.1f %%", x.name, k[i], seen, a.what, 100*a.most)
				}
			}
		})
	}
}
