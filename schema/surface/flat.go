package surface

import (
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
)

// sweptBody are the parts of a body that a sweep may complete, wherever the body
// stands: beside the envelope's keys they are written out, since what is
// embedded with its "..." would open the envelope to any key.
const sweptBody = `
	warmup?: {#swept: true, ...}
	profiling?: {#swept: true, ...}
	phases?: {#swept: true, ...} | [...{#swept: true, ...}]
	dataset?: {#swept: true, ...}
	datasets?: [...{#swept: true, ...}]
`

// flat is AIPerf's other shape: the keys of the body beside the envelope's. A
// second declaration of the same definition; embedding two definitions in a
// third would close the bracket or quote that is open below them (CUE 0.17.1).
func (p *pass) flat() (*ast.File, error) {
	s := &ast.StructLit{}
	for _, f := range p.body {
		name, _, _ := ast.LabelName(f.Label)
		twin := &ast.Field{Label: ast.NewIdent(name), Constraint: token.OPTION, Value: f.Value}
		ast.AddComment(twin, &ast.CommentGroup{
			Doc:  true,
			List: []*ast.Comment{{Text: "// The same as benchmark." + name + "."}},
		})
		s.Elts = append(s.Elts, twin)
	}
	guards := "benchmark?: _\nsweep?: _\n"
	for _, n := range needed {
		guards += n.guard()
	}
	guards += "if sweep != _|_ {\n\tbenchmark?: #Swept" + sweptBody + "}\n"
	if !p.plain {
		g, err := parser.ParseFile("", guards)
		if err != nil {
			return nil, err
		}
		s.Elts = append(s.Elts, g.Decls...)
	}
	def := &ast.Field{Label: ast.NewIdent("#Experiment"), Value: s}
	return &ast.File{Decls: []ast.Decl{&ast.Package{Name: ast.NewIdent("schema")}, def}}, nil
}

// loosen lets the body's keys stand beside the envelope's.
func (p *pass) loosen(def string, s *ast.StructLit) {
	for _, d := range s.Elts {
		f, ok := d.(*ast.Field)
		if !ok {
			continue
		}
		name, _, err := ast.LabelName(f.Label)
		if def == "#Benchmark" && err == nil && !strings.HasPrefix(name, "#") {
			p.body = append(p.body, f)
		}
		if f.Constraint == token.NOT && p.flatToo && (def == "#Experiment" || def == "#Benchmark") {
			f.Constraint = token.OPTION // flat.cue asks for it
		}
	}
}
