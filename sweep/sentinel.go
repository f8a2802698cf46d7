package sweep

import (
	"fmt"
	"slices"
)

// Sentinels is how many times the sentinel is measured: first, in the middle and
// last.
const Sentinels = 3

// addSentinels puts the runs of the sentinel around the others: the first cell with
// one workload, whose numbers differ by what happened to the server and the machine
// in between. In the middle it stands between two trials where there are several.
func (p *Plan) addSentinels() {
	if !p.MultiRun.Sentinel {
		return
	}
	middle := len(p.Runs) / 2
	if p.Order == "repeated" && p.Trials > 1 {
		middle = (p.Trials + 1) / 2 * len(p.Cells)
	}
	for k, at := range []int{0, middle + 1, len(p.Runs) + 2} {
		p.Runs = slices.Insert(p.Runs, at, p.sentinel(k+1))
	}
}

// sentinel is its k-th run, from 1 on. Its trial is one that the plan does not have.
func (p *Plan) sentinel(k int) Run {
	r := Run{
		Cell: p.Cells[0], Trial: p.Trials + k - 1, Sentinel: k, ID: p.RunID(p.Cells[0], p.Trials+k-1), Warmup: true,
		Dir: fmt.Sprintf("sentinel/run_%04d", k), Label: fmt.Sprintf("sentinel_%04d", k),
	}
	r.Seed, r.Text = p.seedsOf(r)
	return r
}

// seedsOf are what a run draws from. The runs of the sentinel share all but their
// text, which no cache may know.
func (p *Plan) seedsOf(r Run) (shape, text int64) {
	if r.Sentinel > 0 {
		return stream(p.BaseSeed, "shape/sentinel"), stream(p.BaseSeed, fmt.Sprintf("text/sentinel/%d", r.Sentinel))
	}
	return p.shapeSeed(r.Cell, r.Trial), p.textSeed(r.Cell, r.Trial)
}

// Place is which run of its cell r is, of a plan with so many trials: "trial 2/5",
// "sentinel 1/3"; "" for the only trial.
func (r Run) Place(trials int) string {
	switch {
	case r.Sentinel > 0:
		return fmt.Sprintf("sentinel %d/%d", r.Sentinel, Sentinels)
	case trials < 2:
		return ""
	}
	return fmt.Sprintf("trial %d/%d", r.Trial+1, trials)
}
