package docgen

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
)

// Differences are the rows of a map[string]string in a Go file, as a table:
// what is done otherwise, and why.
func Differences(src []byte, variable, head string) (string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), variable, src, 0)
	if err != nil {
		return "", err
	}
	consts := map[string]string{}
	var rows [][]string
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
			consts[spec.Names[0].Name], _ = strconv.Unquote(lit.Value)
		}
		if lit, ok := spec.Values[0].(*ast.CompositeLit); ok && spec.Names[0].Name == variable {
			for _, e := range lit.Elts {
				kv := e.(*ast.KeyValueExpr)
				rows = append(rows, []string{code(text(kv.Key, consts)), text(kv.Value, consts)})
			}
		}
		return true
	})
	if len(rows) == 0 {
		return "", fmt.Errorf("no rows in %s", variable)
	}
	slices.SortFunc(rows, func(a, b []string) int { return slices.Compare(a, b) })
	return table([]string{head, "here, and why"}, rows), nil
}

func text(e ast.Expr, consts map[string]string) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, _ := strconv.Unquote(e.Value)
		return s
	case *ast.Ident:
		return consts[e.Name]
	}
	return ""
}

// Contract is the table of recorded command lines that differ, with why.
func Contract(rows [][2]string) string {
	var out [][]string
	for _, r := range rows {
		out = append(out, []string{code(r[0]), r[1]})
	}
	return table([]string{"recorded command line", "here, and why"}, out)
}
