package sweep

import (
	"encoding/json"
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
				p.Runs = append(p.Runs, p.RunOf(c, t))
			}
		}
	case p.CellOrder == interleaved:
		return &schema.Error{
			Path: "sweep.order", Message: "interleaved needs whole trials one after the other",
			Hint: "iteration_order: repeated",
		}
	default:
		for _, c := range p.cellsOf(0) {
			for t := range p.Trials {
				p.Runs = append(p.Runs, p.RunOf(c, t))
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

// RunOf is a trial of a cell; the same for everybody who asks.
func (p *Plan) RunOf(c *Cell, trial int) Run {
	r := Run{
		Cell: c, Trial: trial, ID: p.RunID(c, trial), Warmup: trial == 0 || !p.warmsOnce(),
		Dir: p.dir(c, trial), Label: fmt.Sprintf("run_%04d", trial+1),
	}
	r.Seed, r.Text = p.seedsOf(r)
	return r
}

// RunID names a run. Those of the sentinel are trials that the plan does not have.
func (p *Plan) RunID(c *Cell, trial int) string {
	if p.MultiRun.Sentinel && trial >= p.Trials {
		return fmt.Sprintf("%s-s%d", c.ID, trial-p.Trials+1)
	}
	return fmt.Sprintf("%s-t%d", c.ID, trial)
}

// warmsOnce reports whether only the first trial of a cell has a warmup.
func (p *Plan) warmsOnce() bool {
	return p.MultiRun.DisableWarmupAfterFirst && p.ruled["disable_warmup_after_first"]
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
	case p.Trials == 1 && !p.searches():
		return c.DirName
	case p.Order == "repeated":
		return fmt.Sprintf("profile_runs/trial_%04d/%s", trial+1, c.DirName)
	}
	return fmt.Sprintf("%s/profile_runs/trial_%04d", c.DirName, trial+1)
}

// hash covers what the runs follow from, and no names: the bodies, how runs draw, how
// many there are, in which order and with which warmup, and the seeds unless they were
// drawn. It needs no list of the runs, so that a plan whose source makes them up has
// one, too.
func (p *Plan) hash() string {
	var b strings.Builder
	fmt.Fprintf(&b, "aiperf plan 3\ntrials %d\norder %s\ncells %s\nseeds %s\n", p.Trials, p.Order, p.listing(), p.Seeds)
	fmt.Fprintf(&b, "warmup once %t\nsentinel %t\n", p.Trials > 1 && p.warmsOnce(), p.MultiRun.Sentinel)
	if p.Seeded {
		fmt.Fprintf(&b, "seed %d\n", p.BaseSeed)
	}
	if c := p.MultiRun.Convergence; c != nil {
		threshold := "its own"
		if c.Threshold != nil {
			threshold = fmt.Sprint(*c.Threshold)
		}
		fmt.Fprintf(&b, "convergence %s %s %s %s %d\n", c.Metric, c.Stat, c.Mode, threshold, c.MinRuns)
	}
	if s := p.Experiment.Search; s != nil { // not what it may cost: a larger budget goes on
		fmt.Fprintf(&b, "search to %v, share %v, resolution %v, also %q\n", s.Range[1], s.Share, s.Resolution, s.Also)
	}
	if p.Adaptive != nil { // not how many iterations there may be: more of them go on
		a := *p.Adaptive
		a.MaxIterations = 0
		said, _ := json.Marshal([]any{a, p.Filters}) // plain data
		fmt.Fprintf(&b, "adaptive %s\n", said)
	}
	for _, c := range p.Cells {
		fmt.Fprintf(&b, "cell %s", hashOf(c.canonical))
		if p.Seeded { // those of the other trials follow
			fmt.Fprintf(&b, " %d %d", p.shapeSeed(c, 0), p.textSeed(c, 0))
		}
		b.WriteByte('\n')
	}
	return hashOf([]byte(b.String()))
}

// listing is how the cells of a trial are ordered: those that are not drawn are in the
// order in which the plan has them.
func (p *Plan) listing() string {
	if len(p.Cells) > 1 && (p.CellOrder == interleaved || p.CellOrder == "shuffled") {
		return p.CellOrder
	}
	return "listed"
}
