package repo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// matched are the functions that decide by the text of an error that another program's
// code has made, each with the reason: it gives no other way to ask.
var matched = map[string]string{
	"cmd/aiperf/app.go root":                   "flag of the standard library has no type for an unknown flag",
	"loadgen/endpoint/template.go compilePath": "the JMESPath library has no type for an unknown function",
	"loadgen/transport/fault.go isAlert":       "crypto/tls does not export the type of a remote alert",
	"schema/source/cuewords.go moduleMistake":  "CUE has no type for a module of a newer language",
	"schema/source/readpackage.go loadCUE":     "CUE has no type for a conflict of values",
	"schema/source/yamlsyntax.go slipInJSON":   "encoding/json has no type for what was expected",
	"internal/diag/diag.go Typed":              "a place on the command line begins with a dash, and no other does",
}

// No decision is made by the text of an error, or by the words of a place: an error has
// fields, and an origin says who gives a value.
func TestNoDecisionReadsTheTextOfAnError(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	found := map[string]bool{}
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && path != root && (strings.HasPrefix(e.Name(), ".") ||
			e.Name() == "build" || e.Name() == "testdata"):
			return fs.SkipDir
		case e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			where := filepath.ToSlash(name) + " " + fn.Name.Name
			ast.Inspect(fn, func(n ast.Node) bool {
				if !readsText(n) {
					return true
				}
				found[where] = true
				if matched[where] == "" {
					t.Errorf("%s: %s decides by the text of an error or of a place", files.Position(n.Pos()),
						fn.Name.Name)
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for where := range matched {
		if !found[where] {
			t.Errorf("%s does not decide by the text of an error any more: take it off the list", where)
		}
	}
}

// readsText reports whether n is a question about the text of an error or of a place:
// does it hold, begin or end with some words, or is it these.
func readsText(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		f, ok := n.Fun.(*ast.SelectorExpr)
		if !ok || len(n.Args) < 1 {
			return false
		}
		switch f.Sel.Name {
		case "Contains", "HasPrefix", "HasSuffix", "CutPrefix", "CutSuffix", "EqualFold", "ContainsAny", "MatchString",
			"FindStringSubmatch":
			return isText(n.Args[0])
		}
	case *ast.BinaryExpr:
		if n.Op == token.EQL || n.Op == token.NEQ {
			return isText(n.X) && isWords(n.Y) || isText(n.Y) && isWords(n.X)
		}
	}
	return false
}

// isText reports whether x is the text of an error, or the words of a place or hint.
func isText(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.CallExpr:
		f, ok := x.Fun.(*ast.SelectorExpr)
		return ok && f.Sel.Name == "Error" && len(x.Args) == 0
	case *ast.SelectorExpr:
		if inner, ok := x.X.(*ast.SelectorExpr); ok && x.Sel.Name == "Where" {
			return inner.Sel.Name == "Origin"
		}
		return x.Sel.Name == "Message" || x.Sel.Name == "Where" || x.Sel.Name == "Place" || x.Sel.Name == "Hint"
	}
	return false
}

// isWords reports whether x is a text with something in it.
func isWords(x ast.Expr) bool {
	lit, ok := x.(*ast.BasicLit)
	if ok {
		return lit.Kind == token.STRING && lit.Value != `""`
	}
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	return ok && f.Sel.Name == "Error"
}
