package surface

import (
	"slices"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/ast/astutil"
	"cuelang.org/go/cue/token"
)

// conditional are the definitions that have conditions.
func conditional(files map[string]*ast.File) map[string]bool {
	out := map[string]bool{}
	for _, f := range files {
		for _, d := range f.Decls {
			def, ok := d.(*ast.Field)
			if !ok {
				continue
			}
			s, ok := def.Value.(*ast.StructLit)
			if ok && slices.ContainsFunc(s.Elts, func(d ast.Decl) bool { _, is := d.(*ast.Comprehension); return is }) {
				name, _, _ := ast.LabelName(def.Label)
				out[name] = true
			}
		}
	}
	return out
}

// onlyObjects keeps CUE from taking a number or a text where a field names one of
// the definitions: until its conditions are decided it might embed one. {...} stands
// beside the name, because within the definition it would open it.
func onlyObjects(f *ast.File, defs map[string]bool) {
	astutil.Apply(f, nil, func(c astutil.Cursor) bool {
		id, ok := c.Node().(*ast.Ident)
		if !ok || !defs[id.Name] {
			return true
		}
		switch in := c.Parent().Node().(type) {
		case *ast.Field:
			if in.Label == ast.Label(id) {
				return true
			}
		case *ast.BinaryExpr:
			if in.Op != token.OR {
				return true
			}
		case *ast.ListLit, *ast.Ellipsis, *ast.ParenExpr:
		default:
			return true
		}
		object := &ast.StructLit{
			Lbrace: token.Blank.Pos(),
			Elts:   []ast.Decl{&ast.Ellipsis{Ellipsis: token.NoSpace.Pos()}}, Rbrace: token.NoSpace.Pos(),
		}
		c.Replace(ast.NewBinExpr(token.AND, object, ast.NewIdent(id.Name)))
		return true
	})
}
