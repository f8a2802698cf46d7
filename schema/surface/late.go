package surface

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/ast/astutil"
	"cuelang.org/go/cue/cuecontext"
)

// later begins text that is filled in later: ${VAR}, {{ expression }} and
// {% statement %}.
const later = `[$][{]|[{][{%]`

// number is text that is a number.
const number = `^\s*[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?\s*$`

// whole lets 10.0 stand for 10, as JSON and YAML do.
func whole(f *ast.File) {
	astutil.Apply(f, func(c astutil.Cursor) bool {
		if id, ok := c.Node().(*ast.Ident); ok && id.Name == "int" {
			c.Replace(ast.NewIdent("#Whole"))
		}
		return true
	}, nil)
}

// named reports whether an expression is a reference to a definition that has
// taken text in already, perhaps with a default.
func (p *pass) named(e ast.Expr) bool {
	ops := operands(e)
	return slices.ContainsFunc(ops, func(x ast.Expr) bool {
		id, ok := x.(*ast.Ident)
		if !ok || !strings.HasPrefix(id.Name, "#") {
			return false
		}
		k := p.lookup(p.pkg, id.Name).IncompleteKind()
		return k&(cue.NumberKind|cue.BoolKind) != 0
	})
}

func (p *pass) late(e ast.Expr, v cue.Value) ast.Expr {
	name := "#Late"
	if v.IncompleteKind()&(cue.NumberKind|cue.StructKind) == 0 {
		name = "#LateFalse"
		if v.Unify(cuecontext.New().Encode(true)).Err() == nil {
			name = "#LateBool"
		}
	}
	return or(e, ast.NewIdent(name))
}

// lateItems lets text stand for the numbers in lists. Names of definitions have
// taken it in already.
func lateItems(e ast.Expr) {
	late := func(x ast.Expr) ast.Expr {
		number := false
		ast.Walk(x, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			number = number || ok && (id.Name == "int" || id.Name == "number")
			return true
		}, nil)
		if !number {
			return x
		}
		return or(x, ast.NewIdent("#Late"))
	}
	ast.Walk(e, func(n ast.Node) bool {
		l, ok := n.(*ast.ListLit)
		if !ok {
			return true
		}
		for i, x := range l.Elts {
			if rest, ok := x.(*ast.Ellipsis); ok {
				if rest.Type != nil {
					rest.Type = late(rest.Type)
				}
			} else {
				l.Elts[i] = late(x)
			}
		}
		return true
	}, nil)
}
