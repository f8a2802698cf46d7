package sweep

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"aiperf.dev/aiperf/schema"
)

// expressions are the derivations and the filter of a sweep. A program is
// compiled for the types of the names it sees; an axis that mixes types makes
// several.
type expressions struct {
	derive   []schema.Derivation
	where    string
	origin   schema.Origin
	programs map[string]schema.Program
}

func newExpressions(s schema.Sweep) *expressions {
	return &expressions{derive: s.Derive, where: s.Where, origin: s.WhereOrigin, programs: map[string]schema.Program{}}
}

// apply derives values at a point, appends them to what it sets, and tells
// whether the point stays. Derived names can be used by what follows.
func (x *expressions) apply(doc Document, p *point) (keep bool, err error) {
	if len(x.derive) == 0 && x.where == "" {
		return true, nil
	}
	names, err := environment(doc, p)
	if err != nil {
		return false, err
	}
	for _, d := range x.derive {
		v, err := x.eval(d.Expr, names, false)
		if err != nil {
			return false, placed(err, "sweep.derive."+inBody(d.Path), d.Origin, p.label)
		}
		o := d.Origin
		o.Source, o.Text = schema.ByDerive, d.Expr
		p.set = append(slices.Clip(p.set), schema.Assign(d.Path, v, o))
		if leaf := d.Path[strings.LastIndex(d.Path, ".")+1:]; !p.has(leaf) {
			names[leaf] = v
		}
	}
	if x.where == "" {
		return true, nil
	}
	v, err := x.eval(x.where, names, true)
	if err != nil {
		return false, placed(err, "sweep.where", x.origin, p.label)
	}
	keep, _ = v.(bool)
	return keep, nil
}

func (x *expressions) eval(src string, names map[string]any, wantBool bool) (any, error) {
	key := src
	for _, n := range slices.Sorted(maps.Keys(names)) {
		key += fmt.Sprintf("\x00%s %T", n, names[n])
	}
	program, ok := x.programs[key]
	if !ok {
		var err error
		if program, err = schema.CompileExpr(src, names, wantBool); err != nil {
			return nil, err
		}
		x.programs[key] = program
	}
	return program.Run(names)
}

// environment is what the document says at the point, and over it the axes by
// their short names; a labelled object is its label.
func environment(doc Document, p *point) (map[string]any, error) {
	names, err := doc.Names(p.set)
	if err != nil {
		return nil, err
	}
	out := make(map[string]any, len(names)+len(p.values))
	maps.Copy(out, names)
	for _, v := range p.values {
		out[v.Axis] = v.Value
		if object, ok := v.Value.(map[string]any); ok && object["label"] != nil {
			out[v.Axis] = v.Label
		}
	}
	return out, nil
}

func (p *point) has(axis string) bool {
	return slices.ContainsFunc(p.values, func(v Value) bool { return v.Axis == axis })
}

// placed says where the expression stands, and at which point it went wrong.
func placed(err error, path string, o schema.Origin, label string) error {
	out := schema.Error{Message: err.Error()}
	var e *schema.Error
	if errors.As(err, &e) {
		out = *e
	} else {
		out.Message += " at " + label
	}
	out.Path, out.Place = path, o.Where
	return &out
}
