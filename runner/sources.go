package runner

import (
	"aiperf.dev/aiperf/runner/resultdir"
	"aiperf.dev/aiperf/sweep"
)

// sources are the files that hold a plan's requests, as the experiment names
// them, with their SHA-256. A file that cannot be read has none: the run that
// needs it says so.
func sources(plan *sweep.Plan, experiment string) map[string]string {
	out := map[string]string{}
	for _, c := range plan.Cells {
		for _, d := range c.Resolved.Benchmark.Datasets {
			if _, known := out[d.Path]; d.Path != "" && !known {
				out[d.Path] = resultdir.DigestBelow(Beside(experiment, d.Path))
			}
		}
	}
	return out
}
