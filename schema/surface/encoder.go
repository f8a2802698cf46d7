package surface

import (
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/ast/astutil"
	"cuelang.org/go/cue/token"
)

// forEncoder takes a file for the encoder: {...} & #X is #X; beside
// its default a type would lose its bounds, and defaults are added later.
func (p *pass) forEncoder(f *ast.File) {
	astutil.Apply(f, nil, func(c astutil.Cursor) bool {
		if x, ok := c.Node().(*ast.BinaryExpr); ok && x.Op == token.AND {
			for _, pair := range [][2]ast.Expr{{x.X, x.Y}, {x.Y, x.X}} {
				s, object := pair[0].(*ast.StructLit)
				if object && requires(s) && p.flatToo {
					s.Elts = append(s.Elts, &ast.Ellipsis{}) // the encoder would close it to what it names
				} else if id, ok := pair[1].(*ast.Ident); object && ok {
					c.Replace(id)
					return true
				}
			}
		}
		if x, ok := c.Node().(*ast.BinaryExpr); ok && x.Op == token.OR && words(x) == nil {
			if u, ok := x.Y.(*ast.UnaryExpr); ok && u.Op == token.MUL {
				if oneOf(x.X) && oneOf(u.X) { // a choice of numbers keeps all of them
					c.Replace(ast.NewBinExpr(token.OR, x.X, u.X))
					return true
				}
				c.Replace(x.X)
				return true
			}
		}
		if x, ok := c.Node().(*ast.ParenExpr); ok {
			if id, ok := x.X.(*ast.Ident); ok {
				c.Replace(id)
			}
		}
		return true
	})
	ast.Walk(f, func(n ast.Node) bool { // without its default a field may be left out
		s, ok := n.(*ast.StructLit)
		if !ok {
			return true
		}
		for _, d := range s.Elts {
			if f, ok := d.(*ast.Field); ok && f.Constraint == token.ILLEGAL {
				if name, _, err := ast.LabelName(f.Label); err == nil && !strings.HasPrefix(name, "#") {
					f.Constraint = token.OPTION
				}
			}
		}
		return true
	}, nil)
	for _, d := range f.Decls {
		if def, ok := d.(*ast.Field); ok {
			if s, ok := def.Value.(*ast.StructLit); ok {
				name, _, _ := ast.LabelName(def.Label)
				p.loosen(name, s)
				p.relax(name, s)
			}
		}
	}
}

// requires reports whether s asks for fields.
func requires(s *ast.StructLit) bool {
	return slices.ContainsFunc(s.Elts, func(d ast.Decl) bool {
		f, ok := d.(*ast.Field)
		return ok &&
			f.Constraint == token.NOT
	})
}

// oneOf reports whether e is a choice among written values.
func oneOf(e ast.Expr) bool {
	return !slices.ContainsFunc(operands(e), func(x ast.Expr) bool { _, lit := x.(*ast.BasicLit); return !lit })
}
