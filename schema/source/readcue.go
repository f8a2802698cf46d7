package source

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"aiperf.dev/aiperf/internal/diag"
)

// inExpr is the name that the text of -e has in places.
const inExpr = "in -e"

func cueOrigin(name string, p token.Pos) Origin {
	if !p.IsValid() {
		return Origin{Source: "file", Where: name}
	}
	switch file := p.Filename(); {
	case file == inExpr:
		name = inExpr
	case filepath.IsAbs(file):
		if abs, err := filepath.Abs(name); err != nil || abs != file { // another file than the one that was named
			name = ShownFile(file)
		}
	}
	return Origin{Source: "file", Where: fmt.Sprintf("%s:%d:%d", name, p.Line(), p.Column())}
}

type cueReader struct {
	name string
	bad  diag.Errors
}

// places are where a value and its key are written. A value without a field
// of its own, such as a computed one, has one place.
func places(v cue.Value) (value, key token.Pos) {
	own := ownPart(v)
	if f, ok := own.Source().(*ast.Field); ok && f.Value != nil {
		return f.Value.Pos(), f.Label.Pos()
	}
	return own.Pos(), own.Pos()
}

// ownPart is the part of v that the user wrote, where the schema has one, too.
func ownPart(v cue.Value) cue.Value {
	if !ofSchema(v.Pos()) {
		return v
	}
	if op, args := v.Expr(); op == cue.AndOp {
		for _, a := range args {
			if own := ownPart(a); own.Pos().IsValid() && !ofSchema(own.Pos()) {
				return own
			}
		}
	}
	return v
}

func ofSchema(p token.Pos) bool {
	return strings.Contains(filepath.ToSlash(p.Filename()), VendorDir)
}

func (r *cueReader) node(v cue.Value) *Node {
	at, _ := places(v)
	n := &Node{Origin: cueOrigin(r.name, at)}
	if d, ok := v.Default(); ok {
		v = d
	}
	if err := v.Err(); err != nil {
		if hint := openTag(v, 0); hint != "" && v.Validate() == nil { // only a value is missing: CUE's own words are about the text around it
			r.bad = append(r.bad, Mistake(n.Origin, v.Path().String(), needsValue, hint)...)
			return n
		}
		r.bad = append(r.bad, cueErrors(r.name, err, nil)...)
		return n
	}
	switch v.IncompleteKind() {
	case cue.StructKind:
		n.Kind = Object
		r.members(n, v)
	case cue.ListKind:
		n.Kind = List
		it, err := v.List()
		for err == nil && it.Next() {
			n.Items = append(n.Items, r.node(it.Value()))
		}
	default:
		r.scalar(n, v)
	}
	return n
}

func (r *cueReader) members(n *Node, v cue.Value) {
	it, err := v.Fields()
	if err != nil {
		r.bad = append(r.bad, cueErrors(r.name, err, nil)...)
		return
	}
	keys := map[string]token.Pos{}
	defer func() { // the schema's order of fields is not the user's
		slices.SortStableFunc(n.Fields, func(a, b Field) int { return before(keys[a.Name], keys[b.Name]) })
	}()
	for it.Next() {
		m := r.node(it.Value())
		name := it.Selector().Unquoted()
		n.Put(name, m)
		_, key := places(it.Value())
		keys[name] = key
		n.Field(name).Origin = cueOrigin(r.name, key)
	}
}

// before orders places of one file; those of different files are left alone.
func before(a, b token.Pos) int {
	if !a.IsValid() || !b.IsValid() || a.Filename() != b.Filename() {
		return 0
	}
	return cmp.Or(cmp.Compare(a.Line(), b.Line()), cmp.Compare(a.Column(), b.Column()))
}

func (r *cueReader) scalar(n *Node, v cue.Value) {
	n.Kind = Scalar
	var err error
	hint := ""
	switch v.Kind() {
	case cue.StringKind:
		n.Value, err = v.String()
	case cue.BoolKind:
		n.Value, err = v.Bool()
	case cue.IntKind:
		if n.Value, err = v.Int64(); err != nil { // larger than any that a field takes
			n.Value, err = v.Float64()
		}
	case cue.FloatKind, cue.NumberKind:
		n.Value, err = v.Float64()
	case cue.NullKind:
		n.Kind = Null
	default:
		if c := circle(r.name, v); c != nil {
			r.bad = append(r.bad, c)
			return
		}
		var message string
		message, hint = wanted(r.name, v)
		err = errors.New(message)
		if v.IncompleteKind() == cue.BytesKind {
			err = errors.New("bytes are no value of an experiment")
		}
	}
	if err != nil {
		n.Kind, n.Value = Null, nil
		r.bad = append(r.bad, Mistake(n.Origin, v.Path().String(), strings.Join(strings.Fields(err.Error()), " "), hint)...)
	}
}
