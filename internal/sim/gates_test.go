package sim

import (
	"fmt"
	"math"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// farGates counts what gates say of numbers that are in doubt: with a limit 2 % above what the
// server's log says, which is kept, and one a tenth of it, which is missed.
type farGates struct{ kept, wronged, missed, found int }

// add judges the latencies of a run, which is the only one of its plan.
func (f *farGates) add(o *Outcome, truth map[string]float64) {
	out := &o.Outcomes[0]
	if out.Err != "" || out.OK == 0 {
		return
	}
	plan := *o.Plan
	var wants []bool
	plan.Gates = nil
	for name, v := range truth {
		tag, _, _ := strings.Cut(name, ".")
		took := tag == metrics.TimeToFirstToken || tag == metrics.RequestLatency
		if !took || !touched(out, name) || !(v > 0) || math.IsInf(v, 1) {
			continue
		}
		for kept, limit := range map[bool]float64{true: 1.02 * v, false: v / 10} {
			plan.Gates = append(plan.Gates, sweep.Gate{Expr: fmt.Sprintf("%s < %g", name, limit)})
			wants = append(wants, kept)
		}
	}
	if len(plan.Gates) == 0 {
		return
	}
	for i, g := range decide.Aggregate(&plan, o.Outcomes).Cells[0].Gates {
		missed := g.State == decide.Missed
		switch {
		case g.Unusable: // invalid, which no gate is judged by
		case wants[i]:
			if f.kept++; missed {
				f.wronged++
			}
		default:
			if f.missed++; missed {
				f.found++
			}
		}
	}
}
