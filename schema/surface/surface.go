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
	"cuelang.org/go/cue/ast/astutil"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
)

// path is the import path of the package.
const path = "aiperf.dev/schema"

// later begins text that is filled in later: ${VAR}, {{ expression }} and
// {% statement %}.
const later = `[$][{]|[{][{%]`

// number is text that is a number.
const number = `^\s*[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?\s*$`

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

// Files are sources of a package by name.
type Files map[string][]byte

// Beside is what the published schema knows beyond its sources.
type Beside struct {
	// Gone are words that are known and not built, by the definition or the field
	// (#Sweep.optimization) that has them.
	Gone map[string][]string
	// Axes is a file that defines #AxisValues: what the paths of a sweep take.
	Axes string
	Idle Idle
}

// Published is what is published of sources.
func Published(sources Files, more Beside) (Files, error) {
	_, files, err := rewrite(sources, more, false)
	return files, err
}

// rewrite runs the passes. With plain it leaves out what the JSON Schema
// encoder cannot say and what is added to JSON afterwards.
func rewrite(sources Files, more Beside, plain bool) (*pass, Files, error) {
	axes := more.Axes
	p := &pass{enums: map[string]bool{}, gone: more.Gone, plain: plain, flatToo: axes != "", patterns: map[string]bool{}, asked: map[string][]string{}}
	if err := p.read(sources); err != nil {
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
		out["axes.cue"] = []byte(strings.NewReplacer("number | {...} | #Late", "_", " | #LateBool", "", " | #Late", "").Replace(axes))
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
		out["forms.cue"] = []byte(forms)
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

// flat is AIPerf's other shape: the keys of the body beside the envelope's. A
// second declaration of the same definition; embedding two definitions in a
// third would close what is open below them (CUE 0.17.1).
func (p *pass) flat() (*ast.File, error) {
	s := &ast.StructLit{}
	for _, f := range p.body {
		name, _, _ := ast.LabelName(f.Label)
		twin := &ast.Field{Label: ast.NewIdent(name), Constraint: token.OPTION, Value: f.Value}
		ast.AddComment(twin, &ast.CommentGroup{Doc: true, List: []*ast.Comment{{Text: "// The same as benchmark." + name + "."}}})
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

// whole lets 10.0 stand for 10, as JSON and YAML do.
func whole(f *ast.File) {
	astutil.Apply(f, func(c astutil.Cursor) bool {
		if id, ok := c.Node().(*ast.Ident); ok && id.Name == "int" {
			c.Replace(ast.NewIdent("#Whole"))
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
				s.Elts = append(s.Elts, &ast.Field{Label: ast.NewIdent("#swept"), Value: or(ast.NewIdent("bool"), &ast.UnaryExpr{Op: token.MUL, X: ast.NewBool(false)})})
			}
			p.object(s, p.lookup(p.pkg, name))
			if names := anyOf(s); names != nil {
				s.Elts = append(s.Elts, orGuard(names))
			}
			p.loosen(name, s)
			continue
		}
		lateItems(def.Value)
		if v := p.lookup(p.pkg, name); v.IncompleteKind()&(cue.NumberKind|cue.BoolKind) != 0 && v.IncompleteKind() != cue.TopKind {
			def.Value = p.late(def.Value, v)
		}
		def.Value = fold(def.Value)
	}
}

// plain takes a file for the encoder: {...} & #X is #X; beside
// its default a type would lose its bounds, and defaults are added later.
func (p *pass) forEncoder(f *ast.File) {
	astutil.Apply(f, nil, func(c astutil.Cursor) bool {
		if x, ok := c.Node().(*ast.BinaryExpr); ok && x.Op == token.AND {
			for _, pair := range [][2]ast.Expr{{x.X, x.Y}, {x.Y, x.X}} {
				s, object := pair[0].(*ast.StructLit)
				if object && requires(s) && p.flatToo {
					s.Elts = append(s.Elts, &ast.Ellipsis{}) // the encoder would close it to what it names
				} else if id, ok := pair[1].(*ast.Ident); object && ok {
					c.Replace(id)
					return true
				}
			}
		}
		if x, ok := c.Node().(*ast.BinaryExpr); ok && x.Op == token.OR && words(x) == nil {
			if u, ok := x.Y.(*ast.UnaryExpr); ok && u.Op == token.MUL {
				if oneOf(x.X) && oneOf(u.X) { // a choice of numbers keeps all of them
					c.Replace(ast.NewBinExpr(token.OR, x.X, u.X))
					return true
				}
				c.Replace(x.X)
				return true
			}
		}
		if x, ok := c.Node().(*ast.ParenExpr); ok {
			if id, ok := x.X.(*ast.Ident); ok {
				c.Replace(id)
			}
		}
		return true
	})
	ast.Walk(f, func(n ast.Node) bool { // without its default a field may be left out
		s, ok := n.(*ast.StructLit)
		if !ok {
			return true
		}
		for _, d := range s.Elts {
			if f, ok := d.(*ast.Field); ok && f.Constraint == token.ILLEGAL {
				if name, _, err := ast.LabelName(f.Label); err == nil && !strings.HasPrefix(name, "#") {
					f.Constraint = token.OPTION
				}
			}
		}
		return true
	}, nil)
	for _, d := range f.Decls {
		if def, ok := d.(*ast.Field); ok {
			if s, ok := def.Value.(*ast.StructLit); ok {
				name, _, _ := ast.LabelName(def.Label)
				p.loosen(name, s)
				p.relax(name, s)
			}
		}
	}
}

// requires tells whether s asks for fields.
func requires(s *ast.StructLit) bool {
	return slices.ContainsFunc(s.Elts, func(d ast.Decl) bool { f, ok := d.(*ast.Field); return ok && f.Constraint == token.NOT })
}

// oneOf tells whether e is a choice among written values.
func oneOf(e ast.Expr) bool {
	return !slices.ContainsFunc(operands(e), func(x ast.Expr) bool { _, lit := x.(*ast.BasicLit); return !lit })
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
			ast.AddComment(twin, &ast.CommentGroup{Doc: true, List: []*ast.Comment{{Text: "// The same as " + name + "."}}})
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
	if l, ok := f.Value.(*ast.BasicLit); ok && l.Kind == token.STRING && strings.ToLower(l.Value) != strings.ToUpper(l.Value) {
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

// named tells whether an expression is a reference to a definition that has
// taken text in already, perhaps with a default.
func (p *pass) named(e ast.Expr) bool {
	ops := operands(e)
	return slices.ContainsFunc(ops, func(x ast.Expr) bool {
		id, ok := x.(*ast.Ident)
		if !ok || !strings.HasPrefix(id.Name, "#") {
			return false
		}
		k := p.lookup(p.pkg, id.Name).IncompleteKind()
		return k&(cue.NumberKind|cue.BoolKind) != 0
	})
}

func (p *pass) late(e ast.Expr, v cue.Value) ast.Expr {
	name := "#Late"
	if v.IncompleteKind()&(cue.NumberKind|cue.StructKind) == 0 {
		name = "#LateFalse"
		if v.Unify(cuecontext.New().Encode(true)).Err() == nil {
			name = "#LateBool"
		}
	}
	return or(e, ast.NewIdent(name))
}

// lateItems lets text stand for the numbers in lists. Names of definitions have
// taken it in already.
func lateItems(e ast.Expr) {
	late := func(x ast.Expr) ast.Expr {
		number := false
		ast.Walk(x, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			number = number || ok && (id.Name == "int" || id.Name == "number")
			return true
		}, nil)
		if !number {
			return x
		}
		return or(x, ast.NewIdent("#Late"))
	}
	ast.Walk(e, func(n ast.Node) bool {
		l, ok := n.(*ast.ListLit)
		if !ok {
			return true
		}
		for i, x := range l.Elts {
			if rest, ok := x.(*ast.Ellipsis); ok {
				if rest.Type != nil {
					rest.Type = late(rest.Type)
				}
			} else {
				l.Elts[i] = late(x)
			}
		}
		return true
	}, nil)
}

func or(a, b ast.Expr) ast.Expr {
	if x, ok := a.(*ast.BinaryExpr); ok && x.Op != token.OR {
		a = &ast.ParenExpr{X: a}
	}
	return ast.NewBinExpr(token.OR, a, b)
}
