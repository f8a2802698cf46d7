package loadgen

import (
	"math"
	"testing"
)

// A worker whose users sent one request each, all at once, says nothing of the concurrency that was
// held, and hides nothing of what the others held.
func TestHeldByThoseWhoHadSomethingToHold(t *testing.T) {
	t.Parallel()
	phase := func(target int, held float64) Result {
		return Result{Phases: []PhaseResult{{Target: target, Closed: true, Gauge: Gauge{HeldRatio: held}}}}
	}
	for _, c := range []struct {
		parts []Result
		want  float64
	}{
		{[]Result{phase(2, 0.9), phase(1, math.NaN()), phase(1, 0.6)}, 0.8},
		{[]Result{phase(2, math.NaN()), phase(1, math.NaN())}, math.NaN()},
	} {
		got := Merge(c.parts).Phases[0].Gauge.HeldRatio
		if math.IsNaN(got) != math.IsNaN(c.want) || math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
}
