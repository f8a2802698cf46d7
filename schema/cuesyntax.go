package schema

import (
	"math"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// expr is the tree as CUE syntax. Places stay in the tree: a mistake is
// brought back to its node by path, which works for flags and axes too.
func (n *node) expr() ast.Expr {
	switch n.kind {
	case object:
		s := &ast.StructLit{Elts: make([]ast.Decl, 0, len(n.fields))}
		for _, f := range n.fields {
			if f.value.kind == null {
				continue // null says nothing, as in AIPerf
			}
			s.Elts = append(s.Elts, &ast.Field{Label: ast.NewString(f.name), Value: f.value.expr()})
		}
		return s
	case list:
		l := &ast.ListLit{Elts: make([]ast.Expr, 0, len(n.items))}
		for _, it := range n.items {
			l.Elts = append(l.Elts, it.expr())
		}
		return l
	}
	switch v := n.value.(type) {
	case string:
		return ast.NewString(v)
	case bool:
		return ast.NewBool(v)
	case int64:
		return number(token.INT, strconv.FormatInt(v, 10))
	case float64:
		return float(v)
	}
	return ast.NewNull()
}

func float(v float64) ast.Expr {
	if math.IsInf(v, 1) {
		return ast.NewString("inf")
	}
	if math.IsInf(v, -1) || math.IsNaN(v) {
		return ast.NewString(strconv.FormatFloat(v, 'g', -1, 64))
	}
	if whole(v) {
		return number(token.INT, strconv.FormatFloat(v, 'f', 0, 64)) // 600.0 is a whole number, as in AIPerf
	}
	return number(token.FLOAT, strconv.FormatFloat(v, 'g', -1, 64))
}

// whole tells whether v is a whole number that a float holds exactly.
func whole(v float64) bool { return v == math.Trunc(v) && math.Abs(v) <= 1<<53 }

func number(k token.Token, text string) ast.Expr {
	if positive, negative := strings.CutPrefix(text, "-"); negative {
		return &ast.UnaryExpr{Op: token.SUB, X: ast.NewLit(k, positive)}
	}
	return ast.NewLit(k, text)
}

// cueKind is the kind of n as CUE sees it.
func (n *node) cueKind() cue.Kind {
	switch n.kind {
	case object:
		return cue.StructKind
	case list:
		return cue.ListKind
	case null:
		return cue.NullKind
	}
	switch v := n.value.(type) {
	case bool:
		return cue.BoolKind
	case int64:
		return cue.IntKind
	case float64:
		switch {
		case math.IsInf(v, 0) || math.IsNaN(v):
			return cue.StringKind
		case whole(v):
			return cue.IntKind
		}
		return cue.FloatKind
	}
	return cue.StringKind
}

// kindName is what a message calls the kind of n.
func (n *node) kindName() string {
	switch n.cueKind() {
	case cue.StructKind:
		return "an object"
	case cue.ListKind:
		return "a list"
	case cue.NullKind:
		return "nothing"
	case cue.StringKind:
		return "text"
	case cue.BoolKind:
		return "true or false"
	}
	return "a number"
}
