// Package sweep turns an experiment into a plan: the matrix of cells with
// their trials, seeds and order; and, when the runs are done, turns trials
// into estimates, Pareto fronts, best cells and verdicts on gates.
package sweep

import "aiperf.dev/aiperf/schema"

// Plan is everything that will be run, in order.
type Plan struct {
	Name            string
	Hash            string // sha256 of the canonical cells, seeds, trials and order: what makes two plans one
	Type            string // none, grid, …
	Axes            []schema.Axis
	Cells           []*Cell
	Trials          int
	Runs            []Run // execution order
	Dropped         int   // points that where left out
	MultiRun        schema.MultiRun
	Order           string  // repeated, independent
	CooldownSeconds float64 // between cells
	Gates           []Gate
	BaseSeed        int64
	Experiment      schema.Experiment
}

// Cell is one point of the matrix, resolved.
type Cell struct {
	ID       string // first 12 hex digits of a hash of the canonical resolved body: equal cells are one cell
	Index    int
	Label    string  // phases.profiling.concurrency=4, …: AIPerf's variation label; "base" without a sweep
	DirName  string  // concurrency_4__isl_512
	Point    []Value // one per axis, in axis order
	Resolved *schema.Resolved
	Seed     int64
}

// Value is a cell's position on one axis.
type Value struct {
	Axis  string // the axis' short name
	Path  string
	Value any // plain data
	Label string
}

// Run is one execution of a cell.
type Run struct {
	Cell   *Cell
	Trial  int    // 0-based
	ID     string // <cell id>-t<trial>
	Seed   int64
	Warmup bool   // warmup phases are run
	Dir    string // of its AIPerf files, relative to the result directory, "" for the top
	Label  string // run_0001
}
