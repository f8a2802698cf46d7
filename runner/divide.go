package runner

import (
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/sweep"
)

// Divides says why so many workers cannot share what a plan sends, before anything is sent; nil
// where they can.
func Divides(plan *sweep.Plan, workers int) error {
	for _, c := range plan.Cells {
		for i := range c.Resolved.Benchmark.Phases {
			err := mode.Divides(&c.Resolved.Benchmark.Phases[i], int64(workers))
			if err == nil {
				continue
			}
			where := ""
			if len(plan.Cells) > 1 {
				where = c.Short() + ": "
			}
			return &diag.Error{Code: diag.Usage, Message: where + err.Error(), Hint: diag.Of(err).Hint, Cause: err}
		}
	}
	return nil
}
