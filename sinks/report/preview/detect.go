package preview

import (
	"fmt"
	"io"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/results"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// assumedSpreads stand in for a past result: a throughput on a quiet machine, a
// median, a tail.
var assumedSpreads = []float64{0.01, 0.02, 0.036, 0.08, 0.15}

// assumedMetrics is how many primary metrics a comparison has unless it names
// its own.
const assumedMetrics = 5

// Detect says how many trials find a difference of size, a share: by how much
// the trials of a past result vary, or, without one, for several spreads.
func Detect(w io.Writer, plan *sweep.Plan, size float64, past string) error {
	cells := comparedCells(plan)
	fmt.Fprintf(w, "\nto find a difference of %s (80 %% power); compare with half of it,\n--margin %.4g: at a margin of %s itself, every second one is missed\n",
		words.Percent(size), size/2, words.Percent(size))
	if past == "" {
		for _, spread := range assumedSpreads {
			fmt.Fprintf(w, "  where two systems vary by %-8s in a trial: %s\n", words.Percent(spread),
				trialsText(decide.TrialsFor(spread, size, assumedMetrics*cells)))
		}
		fmt.Fprintln(w, "how much they vary a past result says: --from DIR")
		return nil
	}
	system, err := results.Read(past)
	if err != nil {
		return err
	}
	needs := decide.Detect(system.Arm, size, cells, nil)
	if len(needs) == 0 {
		return diag.New(past+": too few trials to say how much they vary", "a result with three trials at least")
	}
	for _, n := range needs {
		fmt.Fprintf(w, "  %-32s trials vary by %-8s %s\n", n.Header+" "+n.Key.Stat,
			words.Percent(n.Spread), trialsText(n.Trials))
	}
	return nil
}

func trialsText(n int) string {
	if n == 0 {
		return "more than 1,000 trials"
	}
	return words.Count(n, "trial")
}

// comparedCells is how many cells each side of the comparison has.
func comparedCells(plan *sweep.Plan) int {
	cells := len(plan.Cells)
	if c := plan.Experiment.Compare; c != nil {
		for _, a := range plan.Axes {
			if a.Name == c.Axis || a.Path == c.Axis {
				return max(1, cells/max(1, len(a.Values)))
			}
		}
	}
	return max(1, cells)
}
