package sweep

import (
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
)

// Results is what a plan's runs say together.
type Results struct {
	Level       float64      // of every interval
	Cells       []CellResult // in plan order, also those that were not run
	Objectives  []Objective  // what front and best are about; empty when no cell has them
	Best        []Best       // one per objective
	UnderSLO    *Best        // best throughput among the cells whose SLOs and gates hold; nil without SLOs and gates
	GatesHeld   int          // over gates and cells
	GatesMissed int
}

// Status of a cell.
type Status string

// A cell is complete when all its trials measured, partial when some did,
// failed when none of those that were run did.
const (
	Complete Status = "complete"
	Partial  Status = "partial"
	Failed   Status = "failed"
	NotRun   Status = "not_run"
)

// CellResult is one cell over its trials.
type CellResult struct {
	Cell                        *Cell
	Status                      Status
	Trials                      int        // that measured
	Errors                      []RunError // of those that did not
	Verdict                     string     // the worst of its runs
	OK, Failed, Cancelled, Sent int64

	Full, Steady Estimates
	Info         map[string]metrics.Stat // header and unit of each metric, by tag

	FrontKnown   bool // there are two objectives, several cells and an interval for each
	Pareto       bool // not shown to be dominated; needs two trials
	ParetoByMean bool // AIPerf's rule: not dominated by means, intervals ignored
	Knee         bool
	BestFor      []string // objectives this cell is shown to be best for
	Reason       string   // of the marks, in words
	Gates        []GateOutcome
	SLOs         []SLOOutcome
}

// RunError is a run that gave nothing.
type RunError struct{ Label, Error string }

// Objective is what cells are ranked by.
type Objective struct {
	Key
	Name      string // "throughput", "latency"
	Direction stats.Direction
	Unit      string
	Header    string
}

// severity orders the verdicts.
var severity = [...]string{"", "VALID", "DEGRADED", "INVALID"}

// Aggregate brings the runs of a plan together. Several outcomes of one run
// (attempts) count as the last of them.
func Aggregate(p *Plan, outcomes []Outcome) *Results {
	level := p.MultiRun.ConfidenceLevel
	if !(level > 0 && level < 1) {
		level = 0.95
	}
	r := &Results{Level: level}
	last := map[string]int{}
	for i, o := range outcomes {
		last[o.Run.ID] = i
	}
	of := map[string][]*Outcome{}
	for _, run := range p.Runs {
		if i, ok := last[run.ID]; ok {
			of[run.Cell.ID] = append(of[run.Cell.ID], &outcomes[i])
		}
	}
	for _, c := range p.Cells {
		r.Cells = append(r.Cells, gather(c, of[c.ID], p.Trials, level))
	}
	r.Objectives = objectives(r.Cells)
	r.markFronts()
	r.markKnees(p)
	r.judgeGates(p)
	for i := range r.Cells {
		r.Cells[i].SLOs = judgeSLOs(&r.Cells[i])
	}
	r.findBest()
	return r
}

func gather(c *Cell, runs []*Outcome, trials int, level float64) CellResult {
	out := CellResult{Cell: c, Status: NotRun, Info: map[string]metrics.Stat{}}
	slices.SortStableFunc(runs, func(a, b *Outcome) int { return a.Run.Trial - b.Run.Trial })
	var good []*Outcome
	for _, o := range runs {
		out.OK, out.Failed, out.Cancelled, out.Sent = out.OK+o.OK, out.Failed+o.Failed, out.Cancelled+o.Cancelled, out.Sent+o.Sent
		if slices.Index(severity[:], o.Verdict) > slices.Index(severity[:], out.Verdict) {
			out.Verdict = o.Verdict
		}
		if !o.usable() {
			out.Errors = append(out.Errors, RunError{o.Run.Label, orElse(o.Err, "no statistics")})
			continue
		}
		good = append(good, o)
		for _, s := range o.Summaries {
			for _, st := range s.Stats {
				out.Info[st.Tag] = st
			}
		}
	}
	out.Trials = len(good)
	switch {
	case len(good) == trials:
		out.Status = Complete
	case len(good) > 0:
		out.Status = Partial
	case len(runs) > 0:
		out.Status = Failed
	}
	out.Full, out.Steady = estimate(good, "full", level), estimate(good, "steady", level)
	return out
}

// Get is the estimate of a statistic over the full window.
func (c *CellResult) Get(tag, stat string) (stats.Estimate, bool) {
	e, ok := c.Full[Key{tag, stat}]
	return e, ok
}

// measured are the indices of the cells with numbers.
func (r *Results) measured() []int {
	var out []int
	for i := range r.Cells {
		if r.Cells[i].Trials > 0 {
			out = append(out, i)
		}
	}
	return out
}

func (r *Results) judgeGates(p *Plan) {
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Status == NotRun {
			continue
		}
		for g := range p.Gates {
			o := p.Gates[g].judge(c)
			if c.Gates = append(c.Gates, o); o.Held {
				r.GatesHeld++
			} else {
				r.GatesMissed++
			}
		}
	}
}
