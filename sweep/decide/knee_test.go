package decide_test

import (
	"fmt"
	"math"
	"testing"

	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/sweep/decide"
)

// kneeAt draws a closed loop's curve over 1 to 64 users whose runs vary by a factor of
// exp(noise), and gives the load of its knee; 0 for none.
func kneeAt(t *testing.T, throughput func(users float64) float64, noise float64, name string, loads ...any) float64 {
	t.Helper()
	const trials = 5
	rng := seed.Stream(7, name)
	p := expand(t, grid(trials, axis(concurrency, "concurrency", loads...)))
	out := measure(p, 0, make([]float64, len(loads)), make([]float64, len(loads)))
	for i := range out {
		users := float64(loads[out[i].Run.Cell.Index].(int))
		x := throughput(users) * math.Exp(noise*rng.NormFloat64())
		out[i].Summaries = run(100*x, 40*users/x) // Little's law: latency is users over throughput
	}
	r := decide.Aggregate(p, out)
	knee := 0.0
	for i := range r.Cells {
		if !r.Cells[i].Knee {
			continue
		}
		if knee != 0 {
			t.Errorf("%s: two knees", name)
		}
		knee = float64(loads[i].(int))
	}
	return knee
}

// The knee is where a person puts it, and there is none where the curve has none.
func TestKneeOfDrawnCurves(t *testing.T) {
	t.Parallel()
	doublings := []any{1, 2, 4, 8, 16, 32, 64}
	linear := func(users float64) float64 { return users }
	full := func(users float64) float64 { return min(users, 8) }
	root := math.Sqrt // four times the load gives twice the throughput
	soft := func(users float64) float64 { return users / (1 + users/8) }
	down := func(users float64) float64 { return users / (1 + users/16 + users*users/400) }
	steps := func(users float64) float64 { // batches of 4: more users help again behind a flat step
		return 4 * math.Ceil(users/4)
	}
	const plans = 20
	for _, c := range []struct {
		name       string
		throughput func(float64) float64
		loads      []any
		least      float64 // where a person puts it; 0 for none
		most       float64
	}{
		{"linear", linear, doublings, 0, 0},
		{"full at 8", full, doublings, 8, 8},
		{"the root of the load", root, doublings, 0, 0},
		{"the root of the load, four times as much a step", root, []any{1, 4, 16, 64}, 0, 0},
		{"soft", soft, doublings, 8, 16},
		{"retrograde", down, doublings, 8, 16},
		{"in steps", steps, []any{4, 6, 8, 12, 16, 24, 32}, 0, 0},
		{"full from the start", func(float64) float64 { return 8 }, doublings, 0, 0},
		{"two loads", full, []any{8, 16}, 0, 0},
	} {
		for _, noise := range []float64{0.001, 0.03, 0.1} {
			right := 0
			for plan := range plans {
				at := kneeAt(t, c.throughput, noise, fmt.Sprint(c.name, noise, plan), c.loads...)
				// noise may move it by a load, of two that are nearly as good
				slack := 1.0
				if noise > 0.05 && c.least > 0 {
					slack = 2
				}
				if at >= c.least/slack && at <= c.most*slack {
					right++
				}
			}
			t.Logf("%s, noise %g: %d of %d", c.name, noise, right, plans)
			if right < plans*9/10 {
				t.Errorf("%s, noise %g: only %d of %d between %g and %g", c.name, noise, right, plans, c.least, c.most)
			}
		}
	}
}
