package docgen

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// ExitCodes are the constants of type Code of a Go file with the comments behind
// them, as a table.
func ExitCodes(src []byte) (string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), "diag.go", src, parser.ParseComments)
	if err != nil {
		return "", err
	}
	var rows [][]string
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Code" {
			return true
		}
		if v, ok := spec.Values[0].(*ast.BasicLit); ok {
			doc := "success"
			if spec.Comment != nil {
				doc = strings.TrimSpace(spec.Comment.Text())
			}
			rows = append(rows, []string{v.Value, doc})
		}
		return true
	})
	if len(rows) < 2 {
		return "", fmt.Errorf("no exit codes in the source")
	}
	return table([]string{"code", "meaning"}, rows), nil
}
