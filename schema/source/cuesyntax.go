package source

import (
	"math"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// Expr is the tree as CUE syntax. Places stay in the tree: a mistake is
// brought back to its node by path, which works for flags and axes too.
func (n *Node) Expr() ast.Expr {
	switch n.Kind {
	case Object:
		s := &ast.StructLit{Elts: make([]ast.Decl, 0, len(n.Fields))}
		for _, f := range n.Fields {
			if f.Value.Kind == Null {
				continue // null says nothing, as in AIPerf
			}
			s.Elts = append(s.Elts, &ast.Field{Label: ast.NewString(f.Name), Value: f.Value.Expr()})
		}
		return s
	case List:
		l := &ast.ListLit{Elts: make([]ast.Expr, 0, len(n.Items))}
		for _, it := range n.Items {
			l.Elts = append(l.Elts, it.Expr())
		}
		return l
	}
	switch v := n.Value.(type) {
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

// MaxWhole is the largest whole number that a field takes: floats hold no larger
// one exactly.
const MaxWhole = 1<<53 - 1

// TooLarge reports whether n is a whole number beyond it.
func (n *Node) TooLarge() bool {
	switch v := n.Value.(type) {
	case int64:
		return v > MaxWhole || v < -MaxWhole
	case float64:
		return v == math.Trunc(v) && math.Abs(v) > MaxWhole && !math.IsInf(v, 0)
	}
	return false
}

// whole reports whether v is a whole number that a float holds exactly.
func whole(v float64) bool { return v == math.Trunc(v) && math.Abs(v) <= MaxWhole }

func number(k token.Token, text string) ast.Expr {
	if positive, negative := strings.CutPrefix(text, "-"); negative {
		return &ast.UnaryExpr{Op: token.SUB, X: ast.NewLit(k, positive)}
	}
	return ast.NewLit(k, text)
}

// CueKind is the kind of n as CUE sees it.
func (n *Node) CueKind() cue.Kind {
	switch n.Kind {
	case Object:
		return cue.StructKind
	case List:
		return cue.ListKind
	case Null:
		return cue.NullKind
	}
	switch v := n.Value.(type) {
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

// KindName is what a message calls the kind of n.
func (n *Node) KindName() string {
	switch n.CueKind() {
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
