// Package source says which run of a plan comes next.
//
// Of gives the Source of a plan. It is asked before each run, with the outcomes of
// those before, until it has none. Each kind of source is a row of the catalogue: the
// fixed matrix, and rules around it that look at outcomes.
package source

import (
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// Source gives the runs of a plan one by one. It depends on the plan and on what it
// was told alone: with the outcomes that were recorded another one gives the same
// runs, which is how a plan is resumed.
type Source interface {
	// Next is what follows the outcomes so far: those of the runs that it gave, in
	// that order. false: nothing does. The error is of a cell that it made up and that
	// cannot be run.
	Next(sofar []decide.Outcome) (Decision, bool, error)
}

// Decision is one step of a source.
type Decision struct {
	Run    sweep.Run
	Spared bool   // the run is not needed
	Why    string // what in the outcomes decided that; "" where none did
	// Standing is what a search knows before the run, and what is left of its budget.
	Standing string
}

// row is one kind of source.
type row struct {
	name string
	// of is the source of plan, which may ask the one of the rows before, inner; nil
	// where the plan wants nothing of this kind.
	of func(plan *sweep.Plan, inner Source) Source
}

// catalogue is every kind; the last one that a plan wants is asked.
func catalogue() []row {
	return []row{
		{"matrix", matrixOf},
		{"enough trials", enoughOf},
		{"search", searchOf},
		{"adaptive search", adaptiveOf},
	}
}

// Of is the source of plan.
func Of(plan *sweep.Plan) (s Source) {
	for _, r := range catalogue() {
		if outer := r.of(plan, s); outer != nil {
			s = outer
		}
	}
	return s
}
