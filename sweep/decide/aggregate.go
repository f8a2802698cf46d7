// Package decide turns what the runs of a plan gave into findings: estimates
// over trials, Pareto front, knees, best cells, service levels, gates, and
// comparisons of two systems.
//
// Aggregate takes the plan and the outcomes of its runs and returns Results.
// CheckGates says before anything is sent what is wrong with the conditions.
// Compare takes two systems. Nothing here runs, reads or writes anything.
//
// A trial is a block: all cells of one trial met the same load, so cells are
// compared by their ratios within trials, each pair by its own.
package decide

import (
	"cmp"
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/sweep"
)

// Results is what a plan's runs say together.
type Results struct {
	Level      float64      // of every interval
	Cells      []CellResult // in plan order, also those that were not run
	Objectives []Objective  // what front and best are about; empty when no cell has them
	Best       []Best       // one per kind of work and objective
	// one per kind of work: best throughput among the cells whose SLOs and gates hold; none without SLOs and gates
	UnderSLO       []Best
	GatesHeld      int // over gates and cells
	GatesMissed    int
	GatesUndecided int           // of those, how many the intervals leave open
	Sentinel       []*Outcome    // of the runs of the sentinel, which are no trials
	Comparisons    []*Comparison // of each candidate with the baseline, when the experiment asks for it
}

// Status of a cell.
type Status string

// A cell is complete when all its trials measured, or as many as were enough, partial when some did,
// failed when none of those that were run did, unusable when those that did
// are INVALID, interrupted when its only run was cut short.
const (
	Complete Status = "complete"
	Partial  Status = "partial"
	Failed   Status = "failed"
	Unusable Status = "invalid"
	CutShort Status = "interrupted"
	NotRun   Status = "not_run"
)

// CellResult is one cell over its trials.
type CellResult struct {
	Cell   *sweep.Cell
	Status Status
	Trials int        // whose numbers are used
	Left   int        // trials that measured and are INVALID: not estimated, not ranked
	Errors []RunError // of those that did not measure
	// why fewer trials than planned were enough; nil where all were asked for
	Stopped                     *Stop
	Verdict                     validity.Verdict // the worst of its runs
	OK, Failed, Cancelled, Sent int64

	Full, Steady Estimates
	Parts        []PartResult            // of several targets, or several models, each
	Info         map[string]metrics.Stat // header and unit of each metric, by tag

	Front   Mark
	Knee    bool
	BestFor []string // objectives this cell is shown to be best for
	Reason  string   // of the marks, in words
	Gates   []GateOutcome
	SLOs    []SLOOutcome

	runs []*Outcome // those that are used, by trial
	all  []*Outcome // every one, by trial
}

// RunError is a run that gave nothing.
type RunError struct {
	Label, Error string
	Trial        int // its place in the cell's block, 0-based
}

// Aggregate brings the runs of a plan together. Several outcomes of one run
// (attempts) count as the last of them.
func Aggregate(p *sweep.Plan, outcomes []Outcome) *Results {
	level := levelOf(p)
	r := &Results{Level: level}
	last := map[string]int{}
	for i, o := range outcomes {
		last[o.Run.ID] = i
	}
	of := map[string][]*Outcome{}
	for i := range outcomes {
		switch run := &outcomes[i].Run; {
		case last[run.ID] != i:
		case run.Sentinel > 0:
			r.Sentinel = append(r.Sentinel, &outcomes[i])
		default:
			of[run.Cell.ID] = append(of[run.Cell.ID], &outcomes[i])
		}
	}
	for _, c := range p.Cells {
		r.Cells = append(r.Cells, gather(p, c, of[c.ID], level))
	}
	curve := objectives(r.ranked(), p.Judged())
	r.Objectives = chosen(p, r.ranked(), curve)
	r.markFronts()
	r.markKnees(p, curve)
	r.judgeGates(p)
	for i := range r.Cells {
		r.Cells[i].SLOs = judgeSLOs(&r.Cells[i])
	}
	r.findBest(p, curve)
	r.compareArms(p)
	return r
}

func levelOf(p *sweep.Plan) float64 {
	if level := p.MultiRun.ConfidenceLevel; level > 0 && level < 1 {
		return level
	}
	return 0.95
}

func gather(p *sweep.Plan, c *sweep.Cell, runs []*Outcome, level float64) CellResult {
	out := CellResult{Cell: c, Status: NotRun, Info: map[string]metrics.Stat{}}
	slices.SortStableFunc(runs, func(a, b *Outcome) int { return a.Run.Trial - b.Run.Trial })
	out.all = runs
	for _, o := range runs {
		out.OK, out.Failed, out.Cancelled, out.Sent = out.OK+o.OK, out.Failed+o.Failed, out.Cancelled+o.Cancelled,
			out.Sent+o.Sent
		switch {
		case !o.measured():
			out.Errors = append(out.Errors, RunError{o.Run.Label, cmp.Or(o.Err, "no statistics"), o.Run.Trial})
		case o.Verdict == validity.Invalid && !p.Experiment.AllowInvalid:
			out.Left++
		default:
			out.add(o)
		}
	}
	out.Trials = len(out.runs)
	if stop, enough := Enough(p, runs); enough && len(runs) < p.Trials {
		out.Stopped = &stop
	}
	switch {
	case out.Trials == p.Trials, (p.Experiment.Search != nil || p.Adaptive != nil) && out.Trials > 0,
		out.Stopped != nil && out.Trials == len(runs):
		out.Status = Complete
	case out.Trials > 0:
		out.Status = Partial
	case out.Left > 0:
		out.Status = Unusable
	case len(runs) == 1 && runs[0].Interrupted:
		out.Status = CutShort
	case len(runs) > 0:
		out.Status = Failed
	}
	out.Full = Estimates{runs: out.runs, window: Full, level: level, invalid: p.Experiment.AllowInvalid}
	for _, o := range runs {
		out.Verdict = max(out.Verdict, out.word(o))
	}
	if out.Status == Failed { // there is no number that a verdict could be about
		out.Verdict = validity.Failed
	}
	out.Steady = out.Full.over(Steady)
	out.Parts = partsOf(out.Full)
	return out
}

// KeepsUp reports whether the server kept up with the cell's load over its trials,
// whatever single runs say of their backlog.
func (c *CellResult) KeepsUp() bool { return c.Full.keepsUp() }

// word is what a run does to the verdict on its cell.
func (c *CellResult) word(o *Outcome) validity.Verdict {
	if o.Backlog != nil && c.KeepsUp() {
		return o.Apart
	}
	return o.Verdict
}

// add counts a run in.
func (c *CellResult) add(o *Outcome) {
	c.runs = append(c.runs, o)
	for _, s := range o.Summaries {
		for _, st := range s.Stats {
			c.Info[st.Tag] = st
		}
	}
	if len(o.Beside) > 0 {
		for _, m := range telemetry.Measures() {
			c.Info[m.Tag] = metrics.Stat{Tag: m.Tag, Header: m.Tag, Unit: m.Unit}
		}
	}
}

// Get is the estimate of a statistic over the full window.
func (c *CellResult) Get(tag, stat string) (stats.Estimate, bool) { return c.Full.Get(Key{tag, stat}) }

// Headline is the steady window where every trial has one, else the full one.
func (c *CellResult) Headline() Estimates {
	if c.steady() {
		return c.Steady
	}
	return c.Full
}

func (c *CellResult) steady() bool {
	for _, o := range c.runs {
		if s := o.window(Steady); s == nil || len(s.Stats) == 0 {
			return false
		}
	}
	return len(c.runs) > 0
}

// ranked are the cells with numbers that may be ranked. An INVALID run is left
// out of its cell's estimates; where the experiment takes it in all the same, the
// cell is listed only.
func (r *Results) ranked() []*CellResult {
	var out []*CellResult
	for i := range r.Cells {
		c := &r.Cells[i]
		invalid := func(o *Outcome) bool { return o.Verdict == validity.Invalid }
		if c.Trials > 0 && !slices.ContainsFunc(c.runs, invalid) {
			out = append(out, c)
		}
	}
	return out
}

// Taint is what findings do to a statistic of the cell.
func (c *CellResult) Taint(k Key) validity.Taint { return c.Full.Taint(k) }

// untainted are those whose number no finding touches: not in one of their trials.
// What is left of a number that is invalid in some trials is a selection.
func untainted(cells []*CellResult, k Key) []*CellResult {
	return slices.DeleteFunc(slices.Clone(cells), func(c *CellResult) bool { return !c.Taint(k).None() })
}
