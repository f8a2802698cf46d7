package schema

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// The size of a survey: mistakes in cells, and values of one axis or named cells that
// are looked at.
const (
	mostSurveyed = 20
	mostCells    = 50
)

// Survey looks for all mistakes of an experiment that is known to have some: in its
// parts, each by itself, in every value of its axes and every named cell, and in the
// names that its expressions use. What may only follow from another mistake is not
// said, nor what is known already. The document is good for nothing else afterwards but
// Parts.
func (d *Document) Survey(known ...*Error) Errors {
	s, cs := &d.sweep, d.cells
	cs.partly = len(s.Unread)+len(s.Derive) > 0 || s.Where != "" || s.Design != nil
	var bad Errors
	found := func(more Errors) {
		if len(bad) < mostSurveyed {
			bad = append(bad, more...).Sorted()
		}
	}
	var first []lower.Assignment
	for _, a := range cs.axes {
		first = append(first, a.assignment(0))
	}
	if len(s.Scenarios) > 0 {
		first = s.Scenarios[0].Assignments
	}
	c, more := cs.cell(first)
	found(more)
	d.parts = &c.resolved.Benchmark
	for i := 1; i < min(len(s.Scenarios), mostCells); i++ {
		_, more := cs.cell(s.Scenarios[i].Assignments)
		found(more)
	}
	cs.partly = true // which values meet each other is not looked at
	for k, a := range cs.axes {
		point := slices.Clone(first)
		for i := 1; i < min(len(a.values), mostCells); i++ {
			point[k] = a.assignment(i)
			_, more := cs.cell(point)
			found(more)
		}
	}
	return without(known, append(bad, d.unknownNames(first)...))
}

// assignment is value i of an axis, laid over a cell.
func (a *axisNodes) assignment(i int) lower.Assignment {
	return lower.Assignment{Path: a.path, Value: a.values[i].Plain(), Origin: a.origin}
}

// Parts is what could be read of the body of an experiment that has mistakes; what
// could not be is as if nobody had said it.
func (d *Document) Parts() *Benchmark {
	if d.parts == nil {
		return &Benchmark{}
	}
	return d.parts
}

// unknownNames are mistakes in derive and where that do not depend on the values of
// names: the syntax, and names that nothing has. Beside an axis that could not be read
// a name may be its.
func (d *Document) unknownNames(first []lower.Assignment) (bad Errors) {
	if len(d.sweep.Unread) > 0 {
		return nil
	}
	names, err := d.cells.names(first)
	if err != nil {
		return nil
	}
	known := slices.Concat(slices.Collect(maps.Keys(names)), fields.PhaseAliases, []string{"isl", "osl"})
	for _, a := range d.sweep.Axes {
		known = append(known, a.Name)
	}
	check := func(src, path string, at source.Origin, wantBool bool) {
		var e *Error
		if err := checkExpr(src, known, wantBool); errors.As(err, &e) {
			bad = append(bad, &Error{Path: path, Place: at.Where, Message: e.Message, Hint: e.Hint})
		}
	}
	for _, x := range d.sweep.Derive {
		check(x.Expr, "sweep.derive."+strings.TrimPrefix(x.Path, "benchmark."), x.Origin, false)
		_, leaf := source.Cut(x.Path)
		known = append(known, leaf)
	}
	if d.sweep.Where != "" {
		check(d.sweep.Where, "sweep.where", d.sweep.WhereOrigin, true)
	}
	return bad
}
