package surface

import (
	"slices"
	"strconv"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/token"
)

// withoutDefault is e without its mark of a default, and the default. A word of an
// enumeration stays one.
func withoutDefault(e ast.Expr) (rest, usual ast.Expr) {
	x, ok := e.(*ast.BinaryExpr)
	if !ok || x.Op != token.OR {
		return e, nil
	}
	for _, side := range []*ast.Expr{&x.Y, &x.X} {
		u, ok := (*side).(*ast.UnaryExpr)
		if !ok || u.Op != token.MUL {
			continue
		}
		other := x.X
		if side == &x.X {
			other = x.Y
		}
		if slices.ContainsFunc(operands(other), func(o ast.Expr) bool { _, lit := o.(*ast.BasicLit); return lit }) {
			*side = u.X
			return e, u.X
		}
		return other, u.X
	}
	x.X, usual = withoutDefault(x.X)
	return e, usual
}

// sayDefault adds the default to a field's comment, which editors show.
func sayDefault(f *ast.Field, usual ast.Expr) {
	text, err := format.Node(usual)
	if err != nil {
		return
	}
	line := &ast.Comment{Text: "// Without it " + string(text) + "."}
	for _, c := range ast.Comments(f) {
		if c.Doc {
			c.List = append(c.List, line)
			return
		}
	}
	ast.AddComment(f, &ast.CommentGroup{Doc: true, List: []*ast.Comment{line}})
}

// usualWords are the words that are meant where a field of s is left out.
func usualWords(s *ast.StructLit) map[string]string {
	out := map[string]string{}
	for _, d := range s.Elts {
		if f, ok := d.(*ast.Field); ok {
			name, _, _ := ast.LabelName(f.Label)
			for _, o := range marked(f.Value) {
				if l, ok := o.(*ast.BasicLit); ok && l.Kind == token.STRING {
					out[name], _ = strconv.Unquote(l.Value)
				}
			}
		}
	}
	return out
}

// marked are the operands of a disjunction that are marked as its default.
func marked(e ast.Expr) []ast.Expr {
	switch x := e.(type) {
	case *ast.BinaryExpr:
		if x.Op == token.OR {
			return append(marked(x.X), marked(x.Y)...)
		}
	case *ast.UnaryExpr:
		if x.Op == token.MUL {
			return []ast.Expr{x.X}
		}
	}
	return nil
}
