package sinks

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// Axis is one axis_<name> column: the same type in every row of an experiment.
type Axis struct {
	Name, Unit string
	Kind       Kind
	held       func(*schema.Benchmark) any // what a cell has that was not swept; nil value: no such thing
}

// wellKnownAxes are there in every table and carry what the cell has, swept or
// not; aiperf.axes says which were swept.
func wellKnownAxes() (out []Axis) {
	for _, a := range sweep.KnownAxes() {
		kind := Float64
		switch {
		case a.Unit == "":
			kind = Text
		case a.Whole:
			kind = Int64
		}
		if a.Always {
			out = append(out, Axis{a.Name, a.Unit, kind, a.Of})
		}
	}
	return out
}

// AxesOf is the axis columns of a plan: the well-known ones and then every
// other axis, each in the type that holds all of its values.
func AxesOf(p *sweep.Plan) []Axis {
	axes := wellKnownAxes()
	known := len(axes)
	values := map[string][]any{}
	for _, c := range p.Cells {
		for _, v := range c.Point {
			name := axisName(v.Axis)
			if !slices.ContainsFunc(axes, func(a Axis) bool { return a.Name == name }) {
				axes = append(axes, Axis{Name: name, Kind: Text})
			}
			values[name] = append(values[name], v.Value)
		}
		for _, a := range axes[:known] {
			if _, swept := point(c, a.Name); !swept {
				values[a.Name] = append(values[a.Name], a.ofCell(c))
			}
		}
	}
	for i := range axes {
		all := slices.DeleteFunc(values[axes[i].Name], func(v any) bool { return v == nil })
		if len(all) == 0 || i < known && fits(axes[i].Kind, all) {
			continue
		}
		axes[i].Kind = kindOf(all)
	}
	return axes
}

// point is a cell's value on a swept axis.
func point(c *sweep.Cell, axis string) (sweep.Value, bool) {
	for _, v := range c.Point {
		if axisName(v.Axis) == axis {
			return v, true
		}
	}
	return sweep.Value{}, false
}

// ofCell is what a cell has that was not swept.
func (a Axis) ofCell(c *sweep.Cell) any {
	if a.held == nil || c.Resolved == nil {
		return nil
	}
	return a.held(&c.Resolved.Benchmark)
}

// axisName is what follows axis_: letters, digits and underscores, so that no
// reader has to quote it.
func axisName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, sweep.AxisNamed(name).Name)
}

// kindOf is the narrowest of bool, int64, double and string that holds all
// values; nil fits anywhere.
func kindOf(values []any) Kind {
	for _, k := range []Kind{Bool, Int64, Float64} {
		if natural(k, values) {
			return k
		}
	}
	return Text
}

// natural reports whether k is the type the values were given in: 1.0 is a double.
func natural(k Kind, values []any) bool {
	some := false
	for _, v := range values {
		switch v.(type) {
		case nil:
			continue
		case bool:
			if k != Bool {
				return false
			}
		case int, int64:
			if k == Bool {
				return false
			}
		case float64:
			if k != Float64 {
				return false
			}
		default:
			return false
		}
		some = true
	}
	return some
}

// fits reports whether every value can be stored as k without loss.
func fits(k Kind, values []any) bool {
	for _, v := range values {
		switch x := v.(type) {
		case nil:
		case int, int64:
			if k == Bool {
				return false
			}
		case float64:
			if k == Int64 && x != math.Trunc(x) || k == Bool {
				return false
			}
		case bool:
			if k != Bool && k != Text {
				return false
			}
		default:
			if k != Text {
				return false
			}
		}
	}
	return true
}

// store puts v into row j of a vector; label is what a person calls it.
func (a Axis) store(v any, label string) any {
	if v == nil {
		return nil
	}
	switch a.Kind {
	case Int64, Bool:
		switch x := v.(type) {
		case int:
			return int64(x)
		case int64:
			return x
		case float64:
			return int64(x)
		case bool:
			return truth(x)
		}
	case Float64:
		switch x := v.(type) {
		case int:
			return float64(x)
		case int64:
			return float64(x)
		case float64:
			return x
		}
	}
	if s, ok := v.(string); ok {
		return s
	}
	if label != "" {
		return label
	}
	return fmt.Sprint(v)
}

// identityFields are the columns a table begins with.
func identityFields(table string, axes []Axis) []Field {
	everyRowHasCell := table != "checks" && table != "telemetry"
	fs := []Field{
		{Name: "experiment", Doc: "name of the experiment", Kind: Text, enc: dictionary},
		{
			Name: "cell", Doc: "identity of the cell: a hash of its resolved settings, equal for equal settings",
			Kind: Text, enc: dictionary, Null: !everyRowHasCell,
		},
		{
			Name: "cell_index", Doc: "number of the cell in the plan, from 0", Kind: Int32, enc: dictionary,
			Null: !everyRowHasCell,
		},
	}
	for _, a := range axes {
		fs = append(fs, Field{
			Name: "axis_" + a.Name, Doc: "value of " + a.Name + " in this cell",
			Unit: a.Unit, Kind: a.Kind, enc: dictionary, Null: true,
		})
	}
	if table == "cells" {
		return fs
	}
	everyRowHasRun := table == "requests" || table == "chunks" || table == "runs"
	return append(fs,
		Field{
			Name: "trial", Doc: "number of the trial, from 0; screens and --redo count from 1",
			Kind: Int16, enc: dictionary, Null: !everyRowHasRun,
		},
		Field{
			Name: "run_id", Doc: "identity of the run: cell and trial", Kind: Text, enc: dictionary,
			Null: !everyRowHasRun,
		})
}

// identity knows the identity columns of every place in a plan.
type identity struct {
	experiment string
	axes       []Axis
	cells      map[int]*sweep.Cell
	id         func(c *sweep.Cell, trial int) string // of a run
}

func newIdentity(p *sweep.Plan) *identity {
	id := &identity{experiment: p.Name, axes: AxesOf(p), cells: map[int]*sweep.Cell{}, id: p.RunID}
	for _, c := range p.Cells {
		id.cells[c.Index] = c
	}
	return id
}

// values are the identity columns of a row at p, in the order of
// identityFields; nil is null.
func (id *identity) values(table string, p Place) ([]any, error) {
	out := []any{id.experiment, nil, nil}
	cell := id.cells[p.Cell]
	switch {
	case cell != nil:
		out[1], out[2] = cell.ID, int64(cell.Index)
	case p.Cell != All:
		return nil, fmt.Errorf("table %s: no cell %d in the plan", table, p.Cell)
	}
	for _, a := range id.axes {
		var v any
		if cell != nil {
			if x, swept := point(cell, a.Name); swept {
				v = a.store(x.Value, x.Label)
			} else {
				v = a.store(a.ofCell(cell), "")
			}
		}
		out = append(out, v)
	}
	switch {
	case table == "cells":
		return out, nil
	case p.Trial == All || cell == nil:
		return append(out, nil, nil), nil
	}
	return append(out, int64(p.Trial), id.id(cell, p.Trial)), nil
}

// fill sets v to n copies of one value.
func (v *vector) fill(value any, from, n int) {
	switch x := value.(type) {
	case nil:
		for j := from; j < n; j++ {
			switch {
			case v.ints != nil:
				v.ints[j] = record.None
			case v.floats != nil:
				v.floats[j] = math.NaN()
			default:
				v.texts[j] = ""
			}
		}
	case int64:
		for j := from; j < n; j++ {
			v.ints[j] = x
		}
	case float64:
		for j := from; j < n; j++ {
			v.floats[j] = x
		}
	case string:
		for j := from; j < n; j++ {
			v.texts[j] = x
		}
	}
}
