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
		return Origin{Source: ByFile, Where: name}
	}
	switch file := p.Filename(); {
	case file == inExpr:
		name = inExpr
	case filepath.IsAbs(file):
		if abs, err := filepath.Abs(name); err != nil || abs != file { // another file than the one that was named
			name = ShownFile(file)
		}
	}
	return Origin{Source: ByFile, Where: fmt.Sprintf("%s:%d:%d", name, p.Line(), p.Column())}
}

type cueReader struct {
	name string
	bad  diag.Errors
}

// places are where a value and its key are written. A value without a field
// of its own, such as a computed one, has one place.
func places(v cue.Value) (value, key token.Pos) {
	all := parts(v)
	own := ownPart(all)
	if own == nil {
		return v.Pos(), v.Pos()
	}
	value, key = own.Pos(), own.Pos()
	if f, ok := own.(*ast.Field); ok && f.Value != nil {
		value, key = f.Value.Pos(), f.Label.Pos()
	}
	if at := v.Pos(); len(all) > 1 && isLiteral(v) && !ofSchema(at) {
		value = at // which of the parts has the value, or what it refers to
		if f := fieldOf(all, at); f != nil {
			key = f.Label.Pos()
		}
	}
	return value, key
}

// ownPart is the first part that the user wrote, which is not in what the others
// are made of; nil where nobody wrote any, as in what a function returns.
func ownPart(parts []ast.Node) ast.Node {
	for _, part := range parts {
		if !ofSchema(part.Pos()) {
			return part
		}
	}
	return nil
}

// isLiteral reports whether v is a scalar whose text is known.
func isLiteral(v cue.Value) bool {
	value := v.Core().V.Value()
	return value != nil && value.Source() != nil && value.Source().Pos().IsValid()
}

// fieldOf is the part within which at lies, nil where none is.
func fieldOf(parts []ast.Node, at token.Pos) *ast.Field {
	for _, part := range parts {
		if f, ok := part.(*ast.Field); ok && at.File() == f.Pos().File() && f.Pos().Offset() <= at.Offset() &&
			at.Offset() < f.End().Offset() {
			return f
		}
	}
	return nil
}

// parts are what v is unified of, as it is written. Value.Expr has it in public, but
// evaluates each part apart from what it stands in, which CUE v0.17.1 cannot do for
// every struct with a guard: it panics. Core only looks.
func parts(v cue.Value) (out []ast.Node) {
	if !v.Exists() {
		return nil
	}
	for c := range v.Core().V.LeafConjuncts() {
		if part := c.Field().Source(); part != nil && part.Pos().IsValid() {
			out = append(out, part)
		}
	}
	return out
}

// apart is v.Expr where that is safe: a struct among several parts is not evaluated
// by itself.
func apart(v cue.Value) (cue.Op, []cue.Value) {
	if all := parts(v); len(all) > 1 && slices.ContainsFunc(all, hasBraces) {
		return cue.NoOp, nil
	}
	return v.Expr()
}

// hasBraces reports whether a struct of the user's is written in n, or in what n names.
func hasBraces(n ast.Node) (found bool) {
	named := map[ast.Node]bool{}
	var look func(ast.Node) bool
	look = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StructLit:
			found = true
		case *ast.SelectorExpr:
			return false // what it chooses is not known here
		case *ast.Ident:
			if n.Node != nil && !named[n.Node] {
				named[n.Node] = true
				ast.Walk(n.Node, look, nil)
			}
		}
		return !found
	}
	if !ofSchema(n.Pos()) {
		ast.Walk(n, look, nil)
	}
	return found
}

// withoutFields reports whether the user wrote braces for v, which may be more than a
// struct: guards that are false leave nothing between them, and nothing in the
// schema's choices says that they are not null.
func withoutFields(v cue.Value) bool {
	for _, s := range v.Core().V.Structs {
		if lit := s.StructLit; lit != nil && lit.Src != nil && !ofSchema(lit.Src.Pos()) {
			return true
		}
	}
	return false
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
		r.broken(n, v, err)
		return n
	}
	switch kind := v.IncompleteKind(); {
	case kind == cue.StructKind:
		n.Kind = Object
		r.members(n, v)
	case kind&cue.StructKind != 0 && withoutFields(v):
		n.Kind = Object
	case kind == cue.ListKind:
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

// broken reads what there is of a value with a mistake in it: the mistake may be one
// of its members, and those beside it may have mistakes of their own.
func (r *cueReader) broken(n *Node, v cue.Value, err error) {
	known := len(r.bad)
	switch it, not := v.Fields(); {
	case not != nil || !it.Next():
	case it.Selector().IsString():
		n.Kind = Object
		r.members(n, v)
	default: // a list, which List does not look into
		n.Kind = List
		n.Items = append(n.Items, r.node(it.Value()))
		for it.Next() {
			n.Items = append(n.Items, r.node(it.Value()))
		}
	}
	if len(r.bad) > known {
		return
	}
	// only a value is missing: CUE's own words are about the text around it
	if hint := openTag(v, 0); hint != "" && v.Validate() == nil {
		r.refuse(n, v, errNeedsValue, hint)
		return
	}
	bad := cueErrors(r.name, err, nil)
	r.bad = append(r.bad, bad...)
	if n.Kind == Null {
		n.Origin.Where = bad[0].Place // what is said of the value follows from that
	}
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
		hint, err = wanted(r.name, v)
		if v.IncompleteKind() == cue.BytesKind {
			err = errors.New("expected text, got bytes")
		}
	}
	if err != nil {
		n.Kind, n.Value = Null, nil
		r.refuse(n, v, err, hint)
	}
}

func (r *cueReader) refuse(n *Node, v cue.Value, why error, hint string) {
	bad := Mistake(n.Origin, v.Path().String(), strings.Join(strings.Fields(why.Error()), " "), hint)
	bad[0].Cause = why
	r.bad = append(r.bad, bad...)
}
