package verdict

import (
	"fmt"
	"math"
	"testing"

	"aiperf.dev/aiperf/internal/seed"
)

// blocks are the medians of cells over trials: the cells of a trial share its
// arrivals and its moment, and move together by shared.
func blocks(name string, cells, trials int, shared, own, change float64) *PlanEvidence {
	rng := seed.Stream(20, name)
	e := &PlanEvidence{Trials: trials, Cells: make([]CellEvidence, cells)}
	for t := range trials {
		moved := shared*rng.NormFloat64() + math.Log1p(change)*float64(t)/float64(trials-1)
		for c := range e.Cells {
			e.Cells[c].OK = trials
			e.Cells[c].Medians = append(e.Cells[c].Medians, 100*math.Exp(moved+own*rng.NormFloat64()))
		}
	}
	return e
}

func drifts(name string, plans, cells, trials int, shared, own, change float64) (fired int) {
	for k := range plans {
		for _, f := range JudgePlan(blocks(fmt.Sprint(name, k), cells, trials, shared, own, change), nil) {
			if f.Check == "drift" && f.Verdict > Valid {
				fired++
			}
		}
	}
	return fired
}

// TestDriftByTrial: with 24 cells that share their trials a drift is found in at
// most 2 of 100 plans without any (in 26 of 100 at 12 cells), and one of
// a tenth in plans that can show it.
func TestDriftByTrial(t *testing.T) {
	t.Parallel()
	const plans = 500
	for _, c := range []struct {
		cells, trials int
		shared, own   float64
	}{{1, 5, 0.05, 0.05}, {12, 5, 0.05, 0.05}, {24, 3, 0.05, 0.03}, {24, 5, 0.03, 0.1}, {24, 10, 0.1, 0.02}} {
		fired := drifts("clean", plans, c.cells, c.trials, c.shared, c.own, 0)
		t.Logf("%d cells, %d trials, trials vary by %.0f %%, cells by %.0f %%: %d of %d plans", c.cells,
			c.trials, 100*c.shared, 100*c.own, fired, plans)
		if float64(fired) > 0.02*plans {
			t.Errorf("%d cells, %d trials: drift in %d of %d plans without any", c.cells, c.trials, fired, plans)
		}
	}
	if fired := drifts("moved", 100, 12, 8, 0.01, 0.03, 0.1); fired < 90 {
		t.Errorf("a drift of a tenth over eight trials is found in %d of 100 plans", fired)
	}
}
