// Package surface makes the published schema out of the schema's sources: the
// same definitions, and beside them what a file may also say. In go the CUE
// files of package schema; out come the files that cue vet, editors and the
// JSON Schema encoder read.
//
// Four passes, all on syntax: text that is read later in place of a number or a
// boolean (a template, a variable, a number in quotes); words in any case;
// camelCase keys; rules that know of all three. The sources stay the one place
// where a field is written.
package surface

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
)

// path is the import path of the package.
const path = "aiperf.dev/schema"

// largest is the largest whole number that every reader of JSON keeps.
const largest = "9007199254740991"

// forms are the definitions that the passes refer to.
const forms = `package schema

import "math"

// A whole number; 10.0 and 1e3 are whole, too. JSON keeps those up to 2^53.
#Whole: number & math.MultipleOf(1) & >=-` + largest + ` & <=` + largest + `

// Text that is read later: a template, a variable, a number in quotes.
#Late: =~#"` + later + `|` + number + `"#

// The same for true and false, and for false alone.
#LateBool: =~#"(?i)` + later + `|^\s*(true|false|yes|no|on|off|y|n|t|f|1|0)\s*$"# | 0 | 1
#LateFalse: =~#"(?i)` + later + `|^\s*(false|no|off|n|f|0)\s*$"# | 0

// A body beside a sweep, whose axes may give what is missing in it.
#Swept: {` + sweptBody + `	...
}
`

// Files are sources of a package by name.
type Files map[string][]byte

// Beside is what the published schema knows beyond its sources.
type Beside struct {
	// Gone are words that are known and not built, by the definition or the field
	// (#Sweep.optimization) that has them.
	Gone map[string][]string
	// Axes is a file that defines #AxisValues: what the paths of a sweep take.
	Axes string
	// AxisNames are paths that editors offer, with the fields they mean.
	AxisNames map[string]string
	Idle      Idle
}

// Published is what is published of sources.
func Published(sources Files, more Beside) (Files, error) {
	_, files, err := rewrite(sources, more, false)
	return files, err
}

// rewrite runs the passes. With plain it leaves out what the JSON Schema
// encoder cannot say and what is added to JSON afterwards.
func rewrite(sources Files, more Beside, plain bool) (*pass, Files, error) {
	p := &pass{
		enums: map[string]bool{}, gone: more.Gone, plain: plain, flatToo: more.Axes != "",
		patterns: map[string]bool{}, asked: map[string][]string{},
	}
	if err := p.read(sources); err != nil {
		return p, nil, err
	}
	axes, err := p.offered(more)
	if err != nil {
		return p, nil, err
	}
	for path := range more.Idle {
		def, _, err := p.owner(path)
		if err != nil {
			return p, nil, err
		}
		p.patterns[def] = true
	}
	out, files := Files{}, map[string]*ast.File{}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		f, err := parser.ParseFile(name, sources[name], parser.ParseComments)
		if err != nil {
			return p, nil, err
		}
		p.drop(f)
		switch {
		case plain && name == "resolved.cue":
			continue
		case plain:
			p.forEncoder(f)
		default:
			p.file(f)
			whole(f)
		}
		files[name] = f
	}
	guarded := map[string]bool{}
	if !plain {
		guarded = conditional(files)
	}
	for name, f := range files {
		onlyObjects(f, guarded)
		withoutAttributes(f)
		var err error
		if out[name], err = format.Node(f); err != nil {
			return p, nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	switch {
	case axes == "":
	case plain: // text that is read later is added to the JSON, as are words in any case
		out["axes.cue"] = []byte(strings.NewReplacer("{...}", "{[string]: _}", " | #LateBool", "", " | #Late",
			"").Replace(axes))
	default:
		f, err := parser.ParseFile("axes.cue", axes, parser.ParseComments)
		if err != nil {
			return p, nil, err
		}
		fold(f.Decls[len(f.Decls)-1].(*ast.Field).Value)
		if out["axes.cue"], err = format.Node(f); err != nil {
			return p, nil, err
		}
	}
	if !plain {
		var err error
		if out["forms.cue"], err = format.Source([]byte(forms)); err != nil {
			return p, nil, err
		}
	}
	if more.Idle != nil {
		text, err := p.idle(more.Idle)
		if err != nil {
			return p, nil, err
		}
		if out["idle.cue"], err = format.Source(text); err != nil {
			return p, nil, fmt.Errorf("%w in\n%s", err, text)
		}
	}
	flat, err := p.flat()
	if err != nil {
		return p, nil, err
	}
	onlyObjects(flat, guarded)
	out["flat.cue"], err = format.Node(flat)
	return p, out, err
}

// offered is the file of axes with fields for what editors may offer and explain. What
// they take, the patterns beside them say.
func (p *pass) offered(more Beside) (string, error) {
	before, found := strings.CutSuffix(more.Axes, "}\n")
	if !found {
		return more.Axes, nil
	}
	var b strings.Builder
	b.WriteString(before)
	for _, name := range slices.Sorted(maps.Keys(more.AxisNames)) {
		def, own, err := p.owner(more.AxisNames[name])
		if err != nil {
			return "", err
		}
		for _, f := range p.fields(def) {
			if label, _, _ := ast.LabelName(f.Label); label != own {
				continue
			}
			for _, group := range ast.Comments(f) {
				for _, line := range group.List {
					b.WriteString("\t" + line.Text + "\n")
				}
			}
		}
		fmt.Fprintf(&b, "\t%s?: _\n", label(name))
	}
	return b.String() + "}\n", nil
}

// label is a key as it is written.
func label(name string) string {
	if ast.IsValidIdent(name) {
		return name
	}
	return strconv.Quote(name)
}

// read compiles the sources, which the passes ask for kinds and words.
func (p *pass) read(sources Files) error {
	inst := build.NewContext().NewInstance(path, nil)
	inst.PkgName = "schema"
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		f, err := parser.ParseFile(name, sources[name], parser.ParseComments)
		if err != nil {
			return err
		}
		if err := inst.AddSyntax(f); err != nil {
			return err
		}
		p.enumFields(f)
		for _, d := range f.Decls {
			if def, ok := d.(*ast.Field); ok {
				p.defs = append(p.defs, def)
			}
		}
	}
	p.pkg = cuecontext.New().BuildInstance(inst)
	return p.pkg.Err()
}

// drop takes words out that are not built.
func (p *pass) drop(f *ast.File) {
	for _, d := range f.Decls {
		def, ok := d.(*ast.Field)
		if !ok {
			continue
		}
		name, _, _ := ast.LabelName(def.Label)
		def.Value = dropWords(def.Value, p.gone[name])
		if s, ok := def.Value.(*ast.StructLit); ok {
			for _, m := range s.Elts {
				if field, ok := m.(*ast.Field); ok {
					own, _, _ := ast.LabelName(field.Label)
					if axisFields[name+"."+own] && p.flatToo {
						field.Value = ast.NewIdent("#AxisValues")
					}
					field.Value = dropWords(field.Value, p.gone[name+"."+own])
				}
			}
		}
	}
}

// axisFields hold values by path.
var axisFields = map[string]bool{"#Sweep.parameters": true, "#AxisBlock.grid": true, "#AxisBlock.zip": true}

func dropWords(e ast.Expr, words []string) ast.Expr {
	x, ok := e.(*ast.BinaryExpr)
	if !ok || x.Op != token.OR || len(words) == 0 {
		return e
	}
	if l, ok := x.Y.(*ast.BasicLit); ok && l.Kind == token.STRING {
		if w, _ := strconv.Unquote(l.Value); slices.Contains(words, w) {
			return dropWords(x.X, words)
		}
	}
	x.X = dropWords(x.X, words)
	return x
}

// withoutAttributes takes flags and marks out: they are this program's. What a rule
// suggests is said in its message, which is all that other programs show.
func withoutAttributes(f *ast.File) {
	ast.Walk(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, a := range n.Attrs {
				if m := hintOfRule.FindStringSubmatch(a.Text); m != nil {
					sayAlso(n.Value, m[1])
				}
			}
			n.Attrs = nil
		case *ast.StructLit:
			n.Elts = slices.DeleteFunc(n.Elts, func(d ast.Decl) bool { _, attr := d.(*ast.Attribute); return attr })
		}
		return true
	}, nil)
}

var hintOfRule = regexp.MustCompile(`^@rule\(hint="([^"]*)"`)

// sayAlso adds a hint to the text of error("…").
func sayAlso(v ast.Expr, hint string) {
	call, ok := v.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return
	}
	text, ok := call.Args[0].(*ast.BasicLit)
	if in, mixed := call.Args[0].(*ast.Interpolation); mixed {
		text, ok = in.Elts[len(in.Elts)-1].(*ast.BasicLit)
	}
	if ok {
		text.Value = strings.TrimSuffix(text.Value, `"`) + "; " + hint + `"`
	}
}

type pass struct {
	pkg      cue.Value
	enums    map[string]bool     // fields that take words
	usual    map[string]string   // words that are meant where none is given, in the object that is read
	body     []*ast.Field        // the fields of the body, rewritten
	defs     []*ast.Field        // the definitions of the sources
	gone     map[string][]string // words that are known and not built, by definition
	plain    bool
	patterns map[string]bool     // definitions that have fields by pattern
	asked    map[string][]string // what such a definition asks for, left out for the encoder
	swept    bool                // a sweep may give what is missing in the definition that is read
	flatToo  bool                // keys of the body may stand beside the envelope's
}

// enumFields notes which fields hold words, for the rules that compare them.
func (p *pass) enumFields(f *ast.File) {
	ast.Walk(f, func(n ast.Node) bool {
		f, ok := n.(*ast.Field)
		if !ok {
			return true
		}
		name, _, _ := ast.LabelName(f.Label)
		if words(f.Value) != nil {
			p.enums[name] = true
		}
		return true
	}, nil)
}

func (p *pass) file(f *ast.File) {
	for _, d := range f.Decls {
		def, ok := d.(*ast.Field)
		if !ok {
			continue
		}
		name, _, _ := ast.LabelName(def.Label)
		if s, ok := def.Value.(*ast.StructLit); ok {
			if p.swept = slices.Contains(sweepable, name); p.swept {
				s.Elts = append(s.Elts, &ast.Field{
					Label: ast.NewIdent("#swept"),
					Value: or(ast.NewIdent("bool"), &ast.UnaryExpr{Op: token.MUL, X: ast.NewBool(false)}),
				})
			}
			p.object(s, p.lookup(p.pkg, name))
			if names := anyOf(s); names != nil {
				s.Elts = append(s.Elts, orGuard(names))
			}
			p.loosen(name, s)
			continue
		}
		lateItems(def.Value)
		if v := p.lookup(p.pkg, name); v.IncompleteKind()&(cue.NumberKind|cue.BoolKind) != 0 &&
			v.IncompleteKind() != cue.TopKind {
			def.Value = p.late(def.Value, v)
		}
		def.Value = fold(def.Value)
	}
}

func (p *pass) lookup(v cue.Value, name string) cue.Value {
	sel := cue.Str(name)
	switch {
	case strings.HasPrefix(name, "#"):
		sel = cue.Def(name)
	case strings.HasPrefix(name, "_"):
		sel = cue.Hid(name, "aiperf.dev/schema")
	default:
		for _, s := range []cue.Selector{sel.Required(), sel.Optional()} {
			if f := v.LookupPath(cue.MakePath(s)); f.Exists() {
				return f
			}
		}
	}
	return v.LookupPath(cue.MakePath(sel))
}

// object rewrites the fields of a definition and adds their camelCase twins. A
// default is left to the program and told in words: beside one of the schema's a
// user's own would leave two, what is closed would have no place for it, and cue
// export would write as said what nobody said.
func (p *pass) object(s *ast.StructLit, v cue.Value) {
	var out []ast.Decl
	usual := usualWords(s)
	for _, d := range s.Elts {
		f, ok := d.(*ast.Field)
		if !ok {
			out = append(out, d)
			continue
		}
		name, _, err := ast.LabelName(f.Label)
		if err != nil { // [string]: …
			f.Value = fold(f.Value)
			out = append(out, d)
			continue
		}
		if name == "#rules" {
			p.usual = usual
			out = append(append(out, d), p.rules(f)...)
			continue
		}
		if strings.HasPrefix(name, "#") {
			out = append(out, d)
			continue
		}
		fv := p.lookup(v, name)
		if inner, ok := f.Value.(*ast.StructLit); ok {
			p.object(inner, fv)
		} else {
			var usual ast.Expr
			if f.Value, usual = withoutDefault(f.Value); usual != nil {
				sayDefault(f, usual)
			}
			p.widen(f, fv)
		}
		if f.Constraint == token.ILLEGAL {
			f.Constraint = token.OPTION
		}
		out = append(out, d)
		if camel := camelCase(name); camel != name {
			twin := &ast.Field{Label: ast.NewIdent(camel), Constraint: token.OPTION, Value: f.Value}
			ast.AddComment(twin, &ast.CommentGroup{
				Doc:  true,
				List: []*ast.Comment{{Text: "// The same as " + name + "."}},
			})
			out = append(out, twin)
			if f.Constraint == token.NOT { // either spelling will do
				f.Constraint = token.OPTION
				out = append(out, guard(name+" == _|_", camel))
			}
		}
	}
	s.Elts = out
}

// widen lets a field take what a file may also say: text for numbers and
// booleans, words in any case, one word for a list.
func (p *pass) widen(f *ast.Field, v cue.Value) {
	lateItems(f.Value)
	if k := v.IncompleteKind(); k&(cue.NumberKind|cue.BoolKind) != 0 && k != cue.TopKind && !p.named(f.Value) {
		f.Value = p.late(f.Value, v)
	}
	if l, ok := f.Value.(*ast.BasicLit); ok && l.Kind == token.STRING &&
		strings.ToLower(l.Value) != strings.ToUpper(l.Value) {
		w, _ := strconv.Unquote(l.Value) // the only word there is
		f.Value = or(f.Value, pattern(token.MAT, w))
	}
	f.Value = fold(f.Value)
	if v.IncompleteKind() == cue.ListKind {
		if word := p.oneWord(f.Value, v); word != nil {
			f.Value = or(f.Value, word)
		}
	}
}

// oneWord is what may stand for a list of one word; nil for other lists.
func (p *pass) oneWord(e ast.Expr, v cue.Value) ast.Expr {
	var w []string
	if id, ok := operands(e)[0].(*ast.Ident); ok {
		for _, f := range p.defs {
			if name, _, _ := ast.LabelName(f.Label); name == id.Name {
				e = f.Value
			}
		}
	}
	ast.Walk(e, func(n ast.Node) bool {
		if l, ok := n.(*ast.ListLit); ok && len(l.Elts) > 0 {
			m := l.Elts[0]
			if x, ok := m.(*ast.Ellipsis); ok {
				m = x.Type
			}
			if m != nil && w == nil {
				w = words(m)
			}
		}
		return true
	}, nil)
	if w != nil {
		return pattern(token.MAT, w...)
	}
	if m := v.LookupPath(cue.MakePath(cue.AnyIndex)); m.Exists() && m.IncompleteKind() == cue.StringKind {
		return ast.NewBinExpr(token.AND, ast.NewIdent("string"), &ast.UnaryExpr{Op: token.NEQ, X: ast.NewString("")})
	}
	return nil
}

// guard asks for a field where cond holds.
func guard(cond, field string) ast.Decl {
	f, err := parser.ParseFile("", "if "+cond+" {"+field+"!: _}")
	if err != nil {
		panic("a guard of the schema cannot be read: " + err.Error()) // made here
	}
	return f.Decls[0]
}

func or(a, b ast.Expr) ast.Expr {
	if x, ok := a.(*ast.BinaryExpr); ok && x.Op != token.OR {
		a = &ast.ParenExpr{X: a}
	}
	return ast.NewBinExpr(token.OR, a, b)
}
