package sweep

import (
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/schema"
)

// interleaved is the order in which drift falls out of comparisons.
const interleaved = "interleaved"

// cellOrder is the order that was asked for; without one cells are interleaved
// where whole trials follow each other.
func (p *Plan) cellOrder(asked string) string {
	switch {
	case asked != "":
		return asked
	case p.Order == "repeated":
		return interleaved
	}
	return "alphabetical"
}

// schedule lays out the runs: repeated is trial by trial, each over all cells;
// independent is cell by cell, each with all its trials.
func (p *Plan) schedule() error {
	switch {
	case p.Order == "repeated":
		for t := range p.Trials {
			for _, c := range p.cellsOf(t) {
				p.Runs = append(p.Runs, p.run(c, t))
			}
		}
	case p.CellOrder == interleaved:
		return &schema.Error{Path: "sweep.order", Message: "interleaved needs whole trials one after the other", Hint: "iteration_order: repeated"}
	default:
		for _, c := range p.cellsOf(0) {
			for t := range p.Trials {
				p.Runs = append(p.Runs, p.run(c, t))
			}
		}
	}
	return nil
}

// cellsOf is the order of the cells within one trial. Shuffled draws a new
// permutation for every trial. Interleaved draws one for every two trials and
// goes there and back (ABBA): over the pair every cell has the same mean
// position, so a drift that is linear in time falls out of every comparison.
// Cells that need the server in one state are neighbours, so that it changes its
// state once for each of them and not for each cell.
func (p *Plan) cellsOf(trial int) []*Cell {
	cells := slices.Clone(p.Cells)
	switch p.CellOrder {
	case "shuffled":
		cells = byState(p.shuffled(cells, trial))
	case interleaved:
		cells = byState(p.shuffled(cells, trial/2))
		if trial%2 == 1 {
			slices.Reverse(cells)
		}
	}
	return cells
}

func (p *Plan) shuffled(cells []*Cell, turn int) []*Cell {
	r := seed.Stream(p.BaseSeed, fmt.Sprintf("order/%d", turn))
	r.Shuffle(len(cells), func(i, j int) { cells[i], cells[j] = cells[j], cells[i] })
	return cells
}

func (p *Plan) run(c *Cell, trial int) Run {
	r := Run{
		Cell: c, Trial: trial, ID: fmt.Sprintf("%s-t%d", c.ID, trial),
		Warmup: trial == 0 || !(p.MultiRun.DisableWarmupAfterFirst && p.ruled["disable_warmup_after_first"]),
		Dir:    p.dir(c, trial), Label: fmt.Sprintf("run_%04d", trial+1),
	}
	r.Seed, r.Text = p.seedsOf(r)
	return r
}

// dir is where AIPerf puts the files of a run:
//
//	no sweep             ""                              profile_runs/run_0001
//	sweep, repeated      <cell>                          profile_runs/trial_0001/<cell>
//	sweep, independent   <cell>                          <cell>/profile_runs/trial_0001
//	                     (one run)                       (several)
func (p *Plan) dir(c *Cell, trial int) string {
	swept := len(p.Axes) > 0
	switch {
	case !swept && p.Trials == 1:
		return ""
	case !swept:
		return fmt.Sprintf("profile_runs/run_%04d", trial+1)
	case p.Trials == 1:
		return c.DirName
	case p.Order == "repeated":
		return fmt.Sprintf("profile_runs/trial_%04d/%s", trial+1, c.DirName)
	}
	return fmt.Sprintf("%s/profile_runs/trial_%04d", c.DirName, trial+1)
}

// hash covers what decides which requests are sent in which order, and no
// names: the bodies, the trials, the order, warmup, and the seeds unless they
// were drawn.
func (p *Plan) hash() string {
	var b strings.Builder
	fmt.Fprintf(&b, "aiperf plan 2\ntrials %d\norder %s\nseeds %s\n", p.Trials, p.Order, p.Seeds)
	if c := p.MultiRun.Convergence; c != nil {
		threshold := "its own"
		if c.Threshold != nil {
			threshold = fmt.Sprint(*c.Threshold)
		}
		fmt.Fprintf(&b, "convergence %s %s %s %s %d\n", c.Metric, c.Stat, c.Mode, threshold, c.MinRuns)
	}
	for _, c := range p.Cells {
		fmt.Fprintf(&b, "cell %s\n", hashOf(c.canonical))
	}
	for _, r := range p.Runs {
		fmt.Fprintf(&b, "run %d %d %t", r.Cell.Index, r.Trial, r.Warmup)
		if p.Seeded {
			fmt.Fprintf(&b, " %d %d", r.Seed, r.Text)
		}
		b.WriteByte('\n')
	}
	return hashOf([]byte(b.String()))
}
