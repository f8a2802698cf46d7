package surface

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/ast/astutil"
	"cuelang.org/go/cue/token"
)

// operands are the members of a disjunction, without marks of a default.
func operands(e ast.Expr) []ast.Expr {
	switch x := e.(type) {
	case *ast.BinaryExpr:
		if x.Op == token.OR {
			return append(operands(x.X), operands(x.Y)...)
		}
	case *ast.UnaryExpr:
		if x.Op == token.MUL {
			return operands(x.X)
		}
	case *ast.ParenExpr:
		return operands(x.X)
	}
	return []ast.Expr{e}
}

// words are the words of a choice of two or more.
func words(e ast.Expr) []string {
	var out []string
	ops := operands(e)
	for _, x := range ops {
		if l, ok := x.(*ast.BasicLit); ok && l.Kind == token.STRING {
			s, _ := strconv.Unquote(l.Value)
			if !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	if len(out) < 2 || slices.ContainsFunc(ops, func(x ast.Expr) bool {
		id, ok := x.(*ast.Ident)
		return ok &&
			id.Name == "string"
	}) {
		return nil
	}
	return out
}

// fold adds to every enumeration below e the same words in other spellings.
func fold(e ast.Expr) ast.Expr {
	if w := words(e); w != nil {
		return or(e, pattern(token.MAT, w...))
	}
	return astutil.Apply(e, func(c astutil.Cursor) bool {
		if x, ok := c.Node().(ast.Expr); ok && x != e {
			if w := words(x); w != nil {
				c.Replace(&ast.ParenExpr{X: or(x, pattern(token.MAT, w...))})
				return false
			}
		}
		return true
	}, nil).(ast.Expr)
}

func pattern(op token.Token, words ...string) ast.Expr {
	return &ast.UnaryExpr{Op: op, X: raw(anyCase(words...))}
}

func raw(s string) ast.Expr { return &ast.BasicLit{Kind: token.STRING, Value: `#"` + s + `"#`} }

func anyCase(words ...string) string {
	var alt []string
	for _, w := range words {
		w = regexp.QuoteMeta(w)
		alt = append(alt, strings.NewReplacer("-", "[-_]", "_", "[-_]").Replace(w))
	}
	return "(?i)^(" + strings.Join(alt, "|") + ")$|" + later
}

func camelCase(s string) string {
	if strings.HasPrefix(s, "_") || strings.HasPrefix(s, "#") {
		return s
	}
	parts := strings.Split(s, "_")
	for i := 1; i < len(parts); i++ {
		if parts[i] != "" {
			parts[i] = strings.ToUpper(parts[i][:1]) + parts[i][1:]
		}
	}
	return strings.Join(parts, "")
}
