package main

import (
	"fmt"
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/sweep"
)

// leastLimits are the shortest limits, in milliseconds, that somebody may mean who serves a model: below
// them the number was probably typed in seconds.
var leastLimits = map[string]float64{
	metrics.TimeToFirstToken: 1, metrics.RequestLatency: 1, metrics.InterTokenLatency: 0.1,
}

// limitsInSeconds are notes on limits that were probably typed in seconds, each once.
func limitsInSeconds(plan *sweep.Plan) (notes []string) {
	for _, c := range plan.Cells {
		for _, m := range metrics.Catalogue() { // in the order of the tables
			limit, limited := c.Resolved.Benchmark.SLOs[m.Tag]
			if !limited || limit <= 0 || limit >= leastLimits[m.Tag] {
				continue
			}
			note := fmt.Sprintf("the limit of %s is %g ms, because limits are in milliseconds; for %g s write %g",
				metrics.Series(m.Tag, ""), limit, limit, 1000*limit)
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	return notes
}
