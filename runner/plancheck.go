package runner

import (
	"fmt"
	"math"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/schema"
)

// PlanEvidence is what the trials of all cells say together.
type PlanEvidence struct {
	Trials int // runs per cell asked for
	Cells  []CellEvidence
}

// CellEvidence is one cell: the estimates of the metrics that its conclusions
// rest on, and what its trials gave in order of execution.
type CellEvidence struct {
	Label     string
	OK        int // trials that succeeded
	Estimates map[string]stats.Estimate
	InOrder   []float64 // median latency per trial: it moves in open and in closed loops
}

// planCheck is a check over the whole plan.
type planCheck struct {
	ID, Unit, Doc string
	Read          func(*PlanEvidence) []Reading
}

var planChecks = []planCheck{
	{
		ID: "runs", Unit: "runs", Doc: "successful trials per cell: below 3 an interval says little",
		Read: func(e *PlanEvidence) []Reading {
			if len(e.Cells) == 0 {
				return []Reading{{Value: 0, Warn: 3, Fail: 1, Below: true, Detail: "no run was measured", Try: "--resume measures what is missing"}}
			}
			if e.Trials < 2 && len(e.Cells) < 2 {
				return nil // one run claims no interval
			}
			fewest, at := math.Inf(1), ""
			for _, c := range e.Cells {
				if float64(c.OK) < fewest {
					fewest, at = float64(c.OK), c.Label
				}
			}
			if math.IsInf(fewest, 1) {
				return nil
			}
			return []Reading{{
				Value: fewest, Warn: 3, Fail: never, Below: true,
				Detail: fmt.Sprintf("cell %s has too few good runs: %.0f; an interval needs 3", at, fewest),
				Try:    "multi_run: {num_runs: 5} (--num-profile-runs 5)",
			}}
		},
	},
	{
		ID: "interval", Unit: "ratio", Doc: "half-width of the interval over trials against the mean, widest of the metrics that gates, SLOs or the ranking use",
		Read: func(e *PlanEvidence) []Reading {
			var out []Reading
			for _, c := range e.Cells {
				for key, est := range c.Estimates {
					if est.N < 3 || math.IsNaN(est.High) || est.Mean == 0 {
						continue
					}
					v := math.Abs((est.High - est.Low) / 2 / est.Mean)
					out = append(out, Reading{
						Value: v, Warn: 0.05, Fail: 0.2,
						Detail: fmt.Sprintf("%s at %s is known to ± %s only", key, c.Label, percent(v)),
						Try:    "more trials (multi_run.num_runs), longer runs, or a quieter machine",
					})
				}
			}
			return widest(out)
		},
	},
	{
		ID: "drift", Unit: "ratio", Doc: "change of the median latency from the first trial to the last, by one slope over all cells: whether server or machine changed during the plan; 0 where chance explains it",
		Read: func(e *PlanEvidence) []Reading {
			var trials [][]float64
			for _, c := range e.Cells {
				trials = append(trials, c.InOrder)
			}
			return drifted(stats.CommonDrift(trials))
		},
	},
}

// What chance does in at most so many plans is no drift: one in ten to be in
// doubt, one in a hundred to be invalid.
const (
	driftDoubted = 0.1
	driftShown   = 0.01
)

// drifted judges a change only where it is more than chance.
func drifted(d stats.Drift) []Reading {
	if math.IsNaN(d.Change) {
		return nil
	}
	v := math.Abs(d.Change)
	r := Reading{
		Value: v, Warn: 0.03, Fail: never,
		Detail: fmt.Sprintf("the median latency changed by %s from the first trials to the last (p = %.2g)", percent(v), d.P),
		Try:    "find what changed (clocks, neighbours, the server's cache), then run again",
	}
	if d.P < driftShown {
		r.Fail = 0.1
	}
	if d.P >= driftDoubted {
		r.Value, r.Detail = 0, fmt.Sprintf("no drift shown from the first trials to the last: %s, p = %.2g", percent(v), d.P)
	}
	return []Reading{r}
}

// widest keeps the reading with the largest value: one line, not one a cell.
func widest(rs []Reading) []Reading {
	if len(rs) == 0 {
		return nil
	}
	w := rs[0]
	for _, r := range rs[1:] {
		if r.Value > w.Value {
			w = r
		}
	}
	return []Reading{w}
}

// JudgePlan runs the catalogue of plan checks.
func JudgePlan(e *PlanEvidence, limits map[string]schema.Threshold) []Finding {
	var found []Finding
	for _, c := range planChecks {
		for _, r := range c.Read(e) {
			override(&r, limits[c.ID])
			found = append(found, finding(c.ID, c.Unit, r))
		}
	}
	return found
}
