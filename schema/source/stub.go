package source

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
)

// OpenSchema is the schema package with every definition open, so that any key gets
// through to our own messages. Objects keep the objects within them: a team's
// definition closes what it says, and must leave room for what it does not.
func OpenSchema(sources map[string][]byte) []byte {
	s := stub{}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		f, err := parser.ParseFile(name, sources[name])
		if err != nil {
			panic(err) // embedded: a test compiles it
		}
		for _, d := range f.Decls {
			if def, ok := d.(*ast.Field); ok {
				if name, _, err := ast.LabelName(def.Label); err == nil && strings.HasPrefix(name, "#") {
					s[name] = def.Value
				}
			}
		}
	}
	var b strings.Builder
	b.WriteString("package schema\n#Plain: null | bool | number | string | bytes\n")
	for _, def := range slices.Sorted(maps.Keys(s)) {
		object, ok := s[def].(*ast.StructLit)
		if !ok {
			fmt.Fprintf(&b, "%s: _\n", def)
			continue
		}
		fmt.Fprintf(&b, "%s: {\n", def)
		for _, d := range object.Elts {
			s.field(&b, d)
		}
		b.WriteString("\t...\n}\n")
	}
	return []byte(b.String())
}

// stub are the definitions of the schema by name.
type stub map[string]ast.Expr

// field writes a field that may hold an object, or a list of them. Beside one that may
// also be something else it takes everything: a wrong kind is for our own messages.
func (s stub) field(b *strings.Builder, d ast.Decl) {
	f, ok := d.(*ast.Field)
	if !ok {
		return
	}
	name, _, err := ast.LabelName(f.Label)
	if err != nil || strings.HasPrefix(name, "#") {
		return
	}
	open := s.open(f.Value)
	switch {
	case len(open.objects) == 0 && len(open.members) == 0:
	case len(open.objects) == 1 && !open.other:
		fmt.Fprintf(b, "\t%s?: #Plain | [...] | %s\n", name, open.objects[0])
	default:
		fmt.Fprintf(b, "\t%s?: %s\n", name, open)
	}
}

// opened is what a field may hold: objects by their definitions, members of a list
// that are objects, and other things.
type opened struct {
	objects, members []string
	other            bool
}

func (o opened) String() string {
	return "#Plain | [...(#Plain | [...] | " + one(o.members) + ")] | " + one(o.objects)
}

// one is the only definition, or any object where there are several or none.
func one(defs []string) string {
	if len(defs) == 1 {
		return defs[0]
	}
	return "{...}"
}

func (s stub) open(e ast.Expr) (o opened) {
	switch x := e.(type) {
	case *ast.Ident:
		switch def := s[x.Name].(type) {
		case nil:
			o.other = true
		case *ast.StructLit:
			o.objects = []string{x.Name}
		default:
			return s.open(def)
		}
	case *ast.StructLit:
		o.objects = []string{"{...}"}
	case *ast.ParenExpr:
		return s.open(x.X)
	case *ast.UnaryExpr:
		return s.open(x.X)
	case *ast.ListLit:
		o.other = true
		for _, m := range x.Elts {
			if rest, ok := m.(*ast.Ellipsis); ok {
				m = rest.Type
			}
			o.members = s.open(m).objects
		}
	case *ast.BinaryExpr:
		l, r := s.open(x.X), s.open(x.Y)
		if x.Op == token.AND { // {...} & #X, #X & {…}
			if named := slices.Concat(l.named(), r.named()); len(named) > 0 {
				return opened{objects: named}
			}
			if len(l.objects) > 0 {
				return l
			}
			return r
		}
		return opened{append(l.objects, r.objects...), append(l.members, r.members...), l.other || r.other}
	default:
		o.other = true
	}
	return o
}

// named are the objects that have a definition.
func (o opened) named() []string {
	return slices.DeleteFunc(slices.Clone(o.objects), func(def string) bool { return def == "{...}" })
}

var definition = regexp.MustCompile(`(?m)^#\w+:`)

// withoutChoices is an open schema in which every definition takes everything.
func withoutChoices(open []byte) []byte {
	out := []byte("package schema\n")
	for _, def := range definition.FindAll(open, -1) {
		out = append(append(out, def...), " _\n"...)
	}
	return out
}
