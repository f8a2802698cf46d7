package planner_test

import (
	"math"
	"slices"
	"testing"

	"aiperf.dev/aiperf/sweep/search/planner"
)

// oneLine are the terms of a search for the concurrency from 1 to high at which a limit is
// first missed.
func oneLine(name string, high float64) planner.Terms {
	return planner.Terms{
		Planner: name, Space: []planner.Dimension{{Low: 1, High: high, Whole: true}},
		Goals: []planner.Goal{{Maximize: true}}, Limited: true,
		Most: 60, Initial: 1, Patience: 10, Window: 8, Flat: 0.01, Stability: 2, Precision: 0.05,
	}
}

// carryOut asks a planner to its end; measure says what a point gives.
func carryOut(
	t *testing.T, terms planner.Terms, measure func(at []float64, n int) planner.Seen,
) ([]planner.Seen, planner.Reason) {
	t.Helper()
	var seen []planner.Seen
	for range terms.Most + 1 {
		step := planner.Next(terms, seen)
		if step.Ended != "" {
			return seen, step.Ended
		}
		if again := planner.Next(terms, seen); !slices.Equal(again.At, step.At) || step.Why == "" {
			t.Fatalf("asked again: %+v, then %+v", step, again)
		}
		s := measure(step.At, len(seen))
		s.At = step.At
		seen = append(seen, s)
	}
	t.Fatalf("no end after %d points", len(seen))
	return nil, ""
}

// keeps is a server whose latency grows with the load: 250 ms at the limit.
func keeps(limit float64) func([]float64, int) planner.Seen {
	return func(at []float64, _ int) planner.Seen {
		margin := 1 - at[0]/(limit+0.5)
		return planner.Seen{Goals: []float64{at[0]}, Margins: []float64{margin}, Feasible: margin >= 0}
	}
}

// Planners along a line end with the largest load that keeps the limits and the next one
// that does not, wherever it lies; at the ends of the range they say so.
func TestPlannersOfALine(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"monotonic_sla", "smooth_isotonic"} {
		by := planner.Reason("monotonic_")
		if name == "smooth_isotonic" {
			by = "smooth_isotonic_"
		}
		for _, limit := range []float64{1, 2, 3, 7, 13, 37, 400, 999} {
			terms := oneLine(name, 1000)
			seen, reason := carryOut(t, terms, keeps(limit))
			b := planner.BoundaryOf(terms, seen)
			lo, hi := seen[*b.Holds].At[0], seen[*b.Fails].At[0]
			if reason != by+"precision_reached" || lo > limit || hi <= limit || hi-lo > max(1, 0.05*hi) ||
				len(seen) > 24 {
				t.Errorf("%s, limit %g: %s, from %g to %g after %d points", name, limit, reason, lo, hi, len(seen))
			}
		}
		if seen, reason := carryOut(t, oneLine(name, 64), keeps(100)); reason != by+"no_failure_in_range" ||
			seen[len(seen)-1].At[0] != 64 {
			t.Errorf("%s: %s", name, reason)
		}
		if seen, reason := carryOut(t, oneLine(name, 64), keeps(0.2)); reason != by+"no_pass_in_range" ||
			len(seen) > 2 {
			t.Errorf("%s: %s after %d", name, reason, len(seen))
		}
		terms := oneLine(name, 1000)
		terms.Most = 5
		if seen, reason := carryOut(t, terms, keeps(400)); reason != planner.MaxIterations || len(seen) != 5 {
			t.Errorf("%s: %s after %d", name, reason, len(seen))
		}
	}
}

// Only the ends of the bracket are measured twice, and a run at an end that contradicts the
// first is followed by a third.
func TestMonotonicConfirmsTheEnds(t *testing.T) {
	t.Parallel()
	terms := oneLine("monotonic_sla", 64)
	seen, _ := carryOut(t, terms, keeps(13))
	runs := map[float64]int{}
	for _, s := range seen {
		runs[s.At[0]]++
	}
	for at, n := range runs {
		want := 1
		if at == 13 || at == 14 {
			want = 2
		}
		if n != want {
			t.Errorf("%g was measured %d times", at, n)
		}
	}
	first := true
	seen, reason := carryOut(t, terms, func(at []float64, n int) planner.Seen {
		s := keeps(13)(at, n)
		if at[0] == 16 && first {
			first, s.Feasible, s.Margins = false, true, []float64{0.1}
		}
		return s
	})
	b := planner.BoundaryOf(terms, seen)
	if reason != "monotonic_precision_reached" || seen[*b.Holds].At[0] > 17 {
		t.Errorf("%s, holds %g", reason, seen[*b.Holds].At[0])
	}
}

// A curve that falls off a cliff is bisected, and called one; one whose margins are near zero
// is measured again, and has an interval.
func TestSmoothKnowsCliffs(t *testing.T) {
	t.Parallel()
	terms := oneLine("smooth_isotonic", 1000)
	seen, reason := carryOut(t, terms, func(at []float64, _ int) planner.Seen {
		m := 0.8
		if at[0] > 97 {
			m = -5
		}
		return planner.Seen{Goals: []float64{1}, Margins: []float64{m}, Feasible: m >= 0}
	})
	b := planner.BoundaryOf(terms, seen)
	if reason != "smooth_isotonic_cliff_precision_reached" || b.Kind != "cliff" || seen[*b.Holds].At[0] > 97 ||
		seen[*b.Fails].At[0] <= 97 {
		t.Errorf("%s, %+v", reason, b)
	}
	terms.Replicates = 5
	noise := []float64{-0.02, 0.01, 0.03, -0.03, 0.02, -0.01, 0.015}
	seen, reason = carryOut(t, terms, func(at []float64, n int) planner.Seen {
		m := math.Log(100/at[0])/4 + noise[n%len(noise)]/4
		return planner.Seen{Goals: []float64{1}, Margins: []float64{0.9, m}, Feasible: m >= 0}
	})
	b = planner.BoundaryOf(terms, seen)
	if reason != "smooth_isotonic_precision_reached" || b.Kind != "smooth" || b.Binding != 1 ||
		!(b.Low < 104 && b.High > 96 && b.Low < b.High) {
		t.Errorf("%s, %+v", reason, b)
	}
}

// The model finds the best of a curve with a peak, and under a limit the best that keeps it,
// with far fewer points than the space has; no point is measured twice.
func TestBayesianFindsThePeak(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name             string
		limit, best, off float64
		expected         bool
	}{
		{"free", math.Inf(1), 120, 0.12, false},
		{"penalty", 60, 60, 0.12, false},
		{"expected", 60, 60, 0.12, true},
	} {
		terms := oneLine("bayesian", 1000)
		terms.Space[0].Log, terms.Initial, terms.Most, terms.Expected, terms.Limited = true, 5, 30, c.expected,
			!math.IsInf(c.limit, 1)
		seen, reason := carryOut(t, terms, func(at []float64, _ int) planner.Seen {
			d := math.Log(at[0] / 120)
			s := planner.Seen{Goals: []float64{5000 * math.Exp(-d*d/2)}, Feasible: at[0] <= c.limit}
			if terms.Limited {
				s.Margins = []float64{1 - at[0]/c.limit}
			}
			return s
		})
		best := planner.Best(&terms, seen)
		twice := map[float64]bool{}
		for _, s := range seen {
			if twice[s.At[0]] {
				t.Errorf("%s: %g was measured twice", c.name, s.At[0])
			}
			twice[s.At[0]] = true
		}
		if got := seen[best[0]].At[0]; len(best) != 1 || math.Abs(math.Log(got/c.best)) > c.off || got > c.limit {
			t.Errorf("%s: best %g of %d (%s), want %g", c.name, got, len(seen), reason, c.best)
		}
	}
}

// Two goals that contradict each other have a front; a short space is exhausted; what does
// not change is a plateau; what is known is not looked for any longer.
func TestBayesianEnds(t *testing.T) {
	t.Parallel()
	terms := oneLine("optuna", 200)
	terms.Goals, terms.Initial, terms.Limited, terms.Most = []planner.Goal{{Maximize: true}, {}}, 5, false, 25
	seen, _ := carryOut(t, terms, func(at []float64, _ int) planner.Seen {
		return planner.Seen{Goals: []float64{at[0], at[0] * at[0]}, Feasible: true}
	})
	if front := planner.Best(&terms, seen); len(front) != len(seen) || len(seen) < 12 {
		t.Errorf("%d of %d points are on the front", len(front), len(seen))
	}
	short := oneLine("bayesian", 4)
	short.Initial, short.Limited = 2, false
	rising := func(at []float64, _ int) planner.Seen { return planner.Seen{Goals: []float64{at[0]}, Feasible: true} }
	if seen, reason := carryOut(t, short, rising); reason != planner.Exhausted || len(seen) != 4 {
		t.Errorf("%s after %d", reason, len(seen))
	}
	flat := oneLine("bayesian", 400)
	flat.Initial, flat.Limited = 3, false
	level := func([]float64, int) planner.Seen { return planner.Seen{Goals: []float64{100}, Feasible: true} }
	if seen, reason := carryOut(t, flat, level); reason != planner.Plateau || len(seen) != flat.Window {
		t.Errorf("%s after %d", reason, len(seen))
	}
	flat.Window = 100
	if seen, reason := carryOut(t, flat, level); reason != planner.NoImprovement || len(seen) != flat.Patience+1 {
		t.Errorf("%s after %d", reason, len(seen))
	}
	for _, how := range []planner.Reason{planner.Regret, planner.EMMR} {
		known := oneLine("optuna", 300)
		known.Initial, known.Limited, known.Patience, known.Terminator = 5, false, 50,
			map[planner.Reason]string{planner.Regret: "regret", planner.EMMR: "emmr"}[how]
		seen, reason := carryOut(t, known, func(at []float64, _ int) planner.Seen {
			d := (at[0] - 150) / 100
			return planner.Seen{Goals: []float64{1000 - 500*d*d}, Feasible: true}
		})
		if reason != how || len(seen) > 30 {
			t.Errorf("%s after %d, want %s", reason, len(seen), how)
		}
	}
	failing := oneLine("bayesian", 100)
	failing.Initial, failing.Limited, failing.Most = 3, false, 12
	if seen, reason := carryOut(t, failing,
		func([]float64, int) planner.Seen { return planner.Seen{} }); reason != planner.NoImprovement &&
		reason != planner.MaxIterations || len(planner.Best(&failing, seen)) != 0 {
		t.Errorf("without results: %s", reason)
	}
}

// What a planner cannot search is said before anything is measured.
func TestCheck(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*planner.Terms){
		"":             func(*planner.Terms) {},
		"planner":      func(x *planner.Terms) { x.Planner = "greedy" },
		"search_space": func(x *planner.Terms) { x.Space = append(x.Space, x.Space[0]) },
		"sla_filters":  func(x *planner.Terms) { x.Limited = false },
		"objectives":   func(x *planner.Terms) { x.Goals = append(x.Goals, planner.Goal{}) },
	} {
		terms := oneLine("monotonic_sla", 8)
		change(&terms)
		if got, why := terms.Check(); got != want || (why == "") != (want == "") {
			t.Errorf("%q, %q, want %q", got, why, want)
		}
	}
}

// A point that keeps the limits above one that does not is a contradiction.
func TestWarning(t *testing.T) {
	t.Parallel()
	seen := []planner.Seen{
		{At: []float64{4}},
		{At: []float64{2}, Feasible: true},
		{At: []float64{8}, Feasible: true},
		{At: []float64{1}},
	}
	for n, want := range []bool{false, false, true, true} {
		if got := planner.Warning(seen, n); got != want {
			t.Errorf("point %d: %v", n, got)
		}
	}
}
