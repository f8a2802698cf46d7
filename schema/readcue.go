package schema

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/load"
	"cuelang.org/go/cue/token"
	"cuelang.org/go/mod/modfile"
	"cuelang.org/go/mod/module"
)

// readCUE evaluates a user's file against a stub of the schema in which every
// definition is open. What comes out is the user's data with the user's
// positions and no defaults mixed in; the later steps treat it like YAML, so
// one mistake reads the same in both. Only the named file is read: module and
// stub lie in an overlay, and the registry refuses every module.
func readCUE(name string, src []byte) (*node, Errors) {
	if bad := guardCUE(name, src); len(bad) > 0 {
		return nil, bad
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, mistake(Origin{Where: name}, "", reason(err), "")
	}
	insts := load.Instances([]string{abs}, &load.Config{
		Dir: filepath.Dir(abs), Overlay: overlay(abs, src), Registry: noRegistry{}, Env: []string{},
	})
	if err := insts[0].Err; err != nil {
		return nil, cueErrors(name, err)
	}
	v := cuecontext.New().BuildInstance(insts[0])
	if err := v.Err(); err != nil {
		return nil, cueErrors(name, err)
	}
	r := cueReader{name: name}
	root := r.node(v)
	return root, r.bad
}

// overlay is the module an experiment stands in: nothing of it need exist.
func overlay(file string, src []byte) map[string]load.Source {
	dir := filepath.Dir(file)
	over := map[string]load.Source{
		filepath.Join(dir, "cue.mod", "module.cue"): load.FromString(moduleFile),
	}
	pkg := filepath.Join(dir, filepath.FromSlash(vendorDir))
	vendored, _ := filepath.Glob(filepath.Join(pkg, "*.cue"))
	for _, f := range vendored {
		over[f] = load.FromString("package schema\n")
	}
	over[filepath.Join(pkg, "stub.cue")] = load.FromBytes(stub())
	over[file] = load.FromBytes(src) // what was scanned is what is evaluated
	return over
}

var definition = regexp.MustCompile(`(?m)^(#\w+):`)

// stub is the schema package with every definition open.
func stub() []byte {
	var b strings.Builder
	b.WriteString("package schema\n")
	seen := map[string]bool{}
	for _, name := range sourceFiles() {
		for _, m := range definition.FindAllStringSubmatch(string(sourceFile(name)), -1) {
			if !seen[m[1]] {
				seen[m[1]] = true
				b.WriteString(m[1] + ": _\n")
			}
		}
	}
	return []byte(b.String())
}

// noRegistry refuses every module; without it the loader would ask the network.
type noRegistry struct{}

var errModule = errors.New("an experiment imports only " + importPath)

func (noRegistry) ModFile(context.Context, module.Version) (*modfile.File, error) {
	return nil, errModule
}

func (noRegistry) Fetch(context.Context, module.Version) (module.SourceLoc, error) {
	return module.SourceLoc{}, errModule
}

func (noRegistry) ModuleVersions(context.Context, string) ([]string, error) { return nil, nil }

func cueOrigin(name string, p token.Pos) Origin {
	if !p.IsValid() {
		return Origin{Source: "file", Where: name}
	}
	return Origin{Source: "file", Where: fmt.Sprintf("%s:%d:%d", name, p.Line(), p.Column())}
}

// cueErrors are CUE's own words for a file it cannot read, one mistake per
// place.
func cueErrors(name string, err error) Errors {
	var out Errors
	for _, e := range cueerrors.Errors(err) {
		format, args := e.Msg()
		msg := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
		pos := e.Position()
		for _, p := range e.InputPositions() {
			if filepath.Base(p.Filename()) == filepath.Base(name) {
				pos = p
				break
			}
		}
		out = append(out, mistake(cueOrigin(name, pos), strings.Join(e.Path(), "."), short200(msg), "")...)
	}
	return out.sorted()
}

func short200(s string) string {
	if len(s) > 200 {
		return s[:197] + "..."
	}
	return s
}

type cueReader struct {
	name string
	bad  Errors
}

// places are where a value and its key are written. A value without a field
// of its own, such as a computed one, has one place.
func places(v cue.Value) (value, key token.Pos) {
	if f, ok := v.Source().(*ast.Field); ok && f.Value != nil {
		return f.Value.Pos(), f.Label.Pos()
	}
	return v.Pos(), v.Pos()
}

func (r *cueReader) node(v cue.Value) *node {
	at, _ := places(v)
	n := &node{origin: cueOrigin(r.name, at)}
	if d, ok := v.Default(); ok {
		v = d
	}
	if err := v.Err(); err != nil {
		r.bad = append(r.bad, cueErrors(r.name, err)...)
		return n
	}
	switch v.IncompleteKind() {
	case cue.StructKind:
		n.kind = object
		r.members(n, v)
	case cue.ListKind:
		n.kind = list
		it, err := v.List()
		for err == nil && it.Next() {
			n.items = append(n.items, r.node(it.Value()))
		}
	default:
		r.scalar(n, v)
	}
	return n
}

func (r *cueReader) members(n *node, v cue.Value) {
	it, err := v.Fields()
	if err != nil {
		r.bad = append(r.bad, cueErrors(r.name, err)...)
		return
	}
	for it.Next() {
		m := r.node(it.Value())
		name := it.Selector().Unquoted()
		n.put(name, m)
		_, key := places(it.Value())
		n.field(name).origin = cueOrigin(r.name, key)
	}
}

func (r *cueReader) scalar(n *node, v cue.Value) {
	n.kind = scalar
	var err error
	switch v.Kind() {
	case cue.StringKind:
		n.value, err = v.String()
	case cue.BoolKind:
		n.value, err = v.Bool()
	case cue.IntKind:
		n.value, err = v.Int64()
	case cue.FloatKind, cue.NumberKind:
		n.value, err = v.Float64()
	case cue.NullKind:
		n.kind = null
	default:
		err = errors.New("needs a value")
		if v.IncompleteKind() == cue.BytesKind {
			err = errors.New("bytes are no value of an experiment")
		}
	}
	if err != nil {
		r.bad = append(r.bad, mistake(n.origin, v.Path().String(), strings.Join(strings.Fields(err.Error()), " "), "")...)
	}
}
