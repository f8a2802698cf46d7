package surface

import (
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/ast/astutil"
	"cuelang.org/go/cue/token"
)

// sweepable are the definitions whose fields an axis of a sweep may give: what
// is missing in the file may still come.
var sweepable = []string{"#Phase", "#Dataset"}

// rules teaches the conditions of #rules the other spellings, and takes those out
// that miss a field: they become fields that are required under a condition.
// error() would speak in a definition that is not finished yet, too.
func (p *pass) rules(f *ast.Field) (guards []ast.Decl) {
	s, ok := f.Value.(*ast.StructLit)
	if !ok {
		return nil
	}
	var outer []ast.Clause
	if p.swept {
		outer = []ast.Clause{&ast.IfClause{Condition: &ast.UnaryExpr{Op: token.NOT, X: ast.NewIdent("#swept")}}}
	}
	s.Elts, guards = splitMissing(s.Elts, outer)
	for _, n := range append(slices.Clone(guards), f) {
		astutil.Apply(n, nil, func(c astutil.Cursor) bool {
			if x, ok := c.Node().(*ast.BinaryExpr); ok {
				if better := p.condition(x); better != nil {
					c.Replace(better)
				}
			}
			return true
		})
	}
	return guards
}

// splitMissing splits rules below the conditions outer into those that stay and
// those that miss a field, which are made guards.
func splitMissing(decls []ast.Decl, outer []ast.Clause) (stay, guards []ast.Decl) {
	for _, d := range decls {
		c, ok := d.(*ast.Comprehension)
		if !ok {
			stay = append(stay, d)
			continue
		}
		clauses := append(slices.Clone(outer), c.Clauses...)
		body, ok := c.Value.(*ast.StructLit)
		if !ok {
			stay = append(stay, d)
			continue
		}
		if i := slices.IndexFunc(c.Clauses, func(c ast.Clause) bool { return missing(c) != "" }); i >= 0 {
			field := missing(c.Clauses[i])
			for _, cl := range c.Clauses {
				if blamed, _, err := ast.LabelName(body.Elts[0].(*ast.Field).Label); err == nil &&
					missing(cl) == blamed {
					field = blamed
				}
			}
			guards = append(guards, &ast.Comprehension{Clauses: copied(clauses), Value: &ast.StructLit{Elts: []ast.Decl{
				&ast.Field{Label: ast.NewIdent(field), Constraint: token.NOT, Value: ast.NewIdent("_")},
			}}})
			continue
		}
		var more []ast.Decl
		body.Elts, more = splitMissing(body.Elts, clauses)
		guards = append(guards, more...)
		stay = append(stay, d)
	}
	return stay, guards
}

// copied are clauses of their own, so that they can be rewritten in two places.
func copied(clauses []ast.Clause) []ast.Clause {
	out := make([]ast.Clause, len(clauses))
	for i, c := range clauses {
		out[i] = &ast.IfClause{Condition: clone(c.(*ast.IfClause).Condition)}
	}
	return out
}

// clone is a copy of a condition down to its names.
func clone(e ast.Expr) ast.Expr {
	switch x := e.(type) {
	case *ast.BinaryExpr:
		return &ast.BinaryExpr{X: clone(x.X), Op: x.Op, Y: clone(x.Y)}
	case *ast.ParenExpr:
		return &ast.ParenExpr{X: clone(x.X)}
	}
	return e
}

// missing is the field that is not there where a clause holds, or "".
func missing(c ast.Clause) string {
	cond, ok := c.(*ast.IfClause)
	if !ok {
		return ""
	}
	x, ok := cond.Condition.(*ast.BinaryExpr)
	if !ok || x.Op != token.EQL {
		return ""
	}
	_, bottom := x.Y.(*ast.BottomLit)
	if id, ok := x.X.(*ast.Ident); ok && bottom {
		return id.Name
	}
	return ""
}

// condition is a condition in all spellings: either key, words in any case. It is
// decided whatever is there: one that waits for a field would fail a choice. Nil
// leaves it as it is.
func (p *pass) condition(x *ast.BinaryExpr) ast.Expr {
	id, ok := x.X.(*ast.Ident)
	if !ok || id.Name == "_" {
		return nil
	}
	_, bottom := x.Y.(*ast.BottomLit)
	_, written := x.Y.(*ast.BasicLit)
	switch {
	case bottom && x.Op == token.EQL:
		return eachKey(token.LAND, id.Name, func(key ast.Expr) ast.Expr { return said(token.EQL, key, notNull()) })
	case bottom && x.Op == token.NEQ:
		return eachKey(token.LOR, id.Name, func(key ast.Expr) ast.Expr { return said(token.NEQ, key, notNull()) })
	case !written:
		return nil
	}
	is := x.Op == token.EQL // or it is held against a bound of its own
	bound := ast.Expr(&ast.UnaryExpr{Op: x.Op, X: x.Y})
	if is {
		bound = x.Y
	}
	if l, ok := x.Y.(*ast.BasicLit); ok && l.Kind == token.STRING && p.enums[id.Name] {
		w, _ := strconv.Unquote(l.Value)
		if usual, has := p.usual[id.Name]; has && is == (usual == w) { // holds where nothing is said
			other := token.NMAT
			if !is {
				other = token.MAT
			}
			return said(token.EQL, id, &ast.UnaryExpr{Op: other, X: raw(anyCase(w))})
		}
		switch x.Op {
		case token.EQL: // a template is no word yet
			bound = &ast.UnaryExpr{Op: token.MAT, X: raw(strings.TrimSuffix(anyCase(w), "|"+later))}
		case token.NEQ:
			bound = &ast.UnaryExpr{Op: token.NMAT, X: raw(anyCase(w))}
		}
	}
	return eachKey(token.LOR, id.Name, func(key ast.Expr) ast.Expr { return said(token.NEQ, key, bound) })
}

// eachKey is a condition on a field in snake_case and camelCase.
func eachKey(op token.Token, name string, cond func(key ast.Expr) ast.Expr) ast.Expr {
	out := cond(ast.NewIdent(name))
	if camel := camelCase(name); camel != name {
		out = &ast.ParenExpr{X: ast.NewBinExpr(op, out, cond(ast.NewIdent(camel)))}
	}
	return out
}

// said tells, with != or ==, whether a field is there and within a bound.
func said(op token.Token, key, bound ast.Expr) ast.Expr {
	return ast.NewBinExpr(op, &ast.ParenExpr{X: ast.NewBinExpr(token.AND, key, bound)}, &ast.BottomLit{})
}

func notNull() ast.Expr { return &ast.UnaryExpr{Op: token.NEQ, X: ast.NewNull()} }
