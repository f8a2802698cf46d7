package schema

import (
	"embed"
	"fmt"
	"slices"
	"sync"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/parser"

	"aiperf.dev/aiperf/schema/source"
)

//go:generate go run ../internal/docgen/catalogues .
//go:generate go test -run TestGenerated -update .

//go:embed *.cue
var sources embed.FS

// compiled is the CUE package, ready to check trees against. It is not for
// concurrent use.
type compiled struct {
	ctx        *cue.Context
	experiment cue.Value            // #Experiment
	parts      map[string]cue.Value // definitions found before, by path
}

// sourceFiles are the names of the embedded files, sorted.
func sourceFiles() []string {
	entries, err := sources.ReadDir(".")
	if err != nil {
		panic(err) // embedded: cannot fail
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	slices.Sort(names)
	return names
}

func sourceFile(name string) []byte {
	src, err := sources.ReadFile(name)
	if err != nil {
		panic(err) // embedded: cannot fail
	}
	return src
}

// compile builds the embedded package. It imports nothing, so parsing the
// files is all there is to loading it.
func compile() (*compiled, error) {
	s := &compiled{ctx: cuecontext.New(), parts: map[string]cue.Value{}}
	inst := build.NewContext().NewInstance(source.ImportPath, nil)
	inst.ImportPath, inst.PkgName = source.ImportPath, "schema"
	for _, name := range sourceFiles() {
		f, err := parser.ParseFile(source.ImportPath+"/"+name, sourceFile(name), parser.ParseComments)
		if err != nil {
			return nil, err
		}
		if err := inst.AddSyntax(f); err != nil {
			return nil, err
		}
	}
	v := s.ctx.BuildInstance(inst)
	if err := v.Err(); err != nil {
		return nil, err
	}
	s.experiment = v.LookupPath(cue.ParsePath("#Experiment"))
	if err := s.experiment.Err(); err != nil {
		return nil, fmt.Errorf("#Experiment: %w", err)
	}
	return s, nil
}

// part is the definition at a path of #Experiment; "*" is any member of a
// list.
func (s *compiled) part(path string) cue.Value {
	if path == "" {
		return s.experiment
	}
	if v, ok := s.parts[path]; ok {
		return v
	}
	parent, last := source.Cut(path)
	v := s.part(parent)
	if last == "*" {
		v = member(arm(v, cue.ListKind))
	} else {
		v = lookup(arm(v, cue.StructKind), last)
	}
	s.parts[path] = v
	return v
}

// lookup finds a field, required, optional or with a default.
func lookup(v cue.Value, name string) cue.Value {
	for _, sel := range []cue.Selector{cue.Str(name).Required(), cue.Str(name).Optional(), cue.Str(name)} {
		if f := v.LookupPath(cue.MakePath(sel)); f.Exists() {
			return f
		}
	}
	return cue.Value{}
}

// member is what a list says about its members; [#X] and [#X, ...#X] have no
// common one, their first stands for all.
func member(v cue.Value) cue.Value {
	if m := v.LookupPath(cue.MakePath(cue.AnyIndex)); m.Exists() {
		return m
	}
	return v.LookupPath(cue.MakePath(cue.Index(0)))
}

// arms splits a disjunction into its members; references are followed.
func arms(v cue.Value) []cue.Value {
	v = cue.Dereference(v)
	op, args := v.Expr()
	if inner := cue.NoOp; op == cue.NoOp && len(args) == 1 {
		if inner, _ = args[0].Expr(); inner != cue.NoOp || v.IncompleteKind() == cue.ListKind {
			return args // the value without its default, where CUE has merged the two
		}
	}
	if op == cue.AndOp && len(args) == 2 && isAnyObject(args[0]) {
		return arms(args[1]) // {...} & #X is #X, told apart from other kinds in fewer words
	}
	if op == cue.AndOp { // a choice that another definition narrows
		for _, a := range args {
			if out := arms(a); len(out) > 1 && !hasPattern(out) {
				return slices.DeleteFunc(out, func(x cue.Value) bool { return v.Unify(x).Err() != nil })
			}
		}
	}
	if op != cue.OrOp {
		return []cue.Value{v}
	}
	var out []cue.Value
	for _, a := range args {
		out = append(out, arms(a)...)
	}
	return out
}

// isAnyObject reports whether v is {...}.
func isAnyObject(v cue.Value) bool {
	it, err := v.Fields(cue.Optional(true), cue.Definitions(true))
	return v.IncompleteKind() == cue.StructKind && err == nil && !it.Next()
}

// arm is the member of v that has kind k, or v itself.
func arm(v cue.Value, k cue.Kind) cue.Value {
	if v.IncompleteKind() == k {
		return v
	}
	for _, a := range arms(v) {
		if a.IncompleteKind() == k {
			return a
		}
	}
	return v
}

// enum lists the words v allows, the default first as written; nil when it
// allows other text too. Arms of other kinds (false, null) do not count.
func enum(v cue.Value) []string {
	var out []string
	for _, a := range arms(v) {
		if a.IncompleteKind()&cue.StringKind == 0 {
			continue
		}
		s, err := a.String()
		if err != nil || !a.IsConcrete() { // string | *"main" reads as "main"
			return nil
		}
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// stub is what a user's package finds in place of the schema that it imports.
var stub = sync.OnceValue(func() []byte { return source.OpenSchema(sourceText()) })
