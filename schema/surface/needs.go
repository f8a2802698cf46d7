package surface

import (
	"fmt"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// needed are the members that every cell must have. They stand in the body or
// beside it, or the sweep gives them.
var needed = []need{
	{[]string{"endpoint"}, `^(benchmark[.])?(endpoint([.].+)?|url)$`},
	{[]string{"model", "models"}, `^(benchmark[.])?models?([.].+)?$`},
	{[]string{"dataset", "datasets"}, `^(benchmark[.])?(datasets?([.].+)?|isl|osl)$`}, // a length makes a synthetic one
	// a field of a phase makes one; what it lacks is for the cells
	{[]string{"phases", "profiling", "warmup"}, `.`},
}

// need is what is asked for, under any of its keys, and the paths of a sweep that
// give it.
type need struct {
	keys  []string
	paths string
}

// guard asks for the first key, as CUE, where nothing gives any of them.
func (n need) guard() string {
	var here, below, runs []string
	for _, k := range n.keys {
		here = append(here, fmt.Sprintf("if %s == _|_", k))
		below = append(below, fmt.Sprintf("if benchmark.%s == _|_", k))
		runs = append(runs, fmt.Sprintf("if r.benchmark.%s == _|_", k))
	}
	missing := strings.Join(here, " ") + " " + strings.Join(below, " ")
	given := "given_" + n.keys[0]
	return fmt.Sprintf(`if sweep == _|_ %[1]s {%[2]s!: _}
if sweep != _|_ %[1]s {
	let %[3]s = [
		if sweep.parameters != _|_ for k, _ in sweep.parameters if k =~ #"%[4]s"# {k},
		if sweep.axes != _|_ for a in sweep.axes for _, values in a for k, _ in values if k =~ #"%[4]s"# {k},
		if sweep.dimensions != _|_ for d in sweep.dimensions if (d.path & =~#"%[4]s"#) != _|_ {d.path},
	]
	if len(%[3]s) == 0 if sweep.runs == _|_ {%[2]s!: _}
	if sweep.runs != _|_ for r in sweep.runs %[5]s {%[2]s!: _}
}
`, missing, n.keys[0], given, n.paths, strings.Join(runs, " "))
}

// schema is the same as JSON Schema.
func (n need) schema() any {
	said := func(keys []string) (out []any) {
		for _, k := range keys {
			out = append(out, object{
				"required":   []any{k},
				"properties": object{k: object{"not": object{"type": "null"}}},
			})
		}
		return out
	}
	within := func(key string, below any) object {
		return object{"required": []any{key}, "properties": object{key: below}}
	}
	// some name is such a path
	has := object{"type": "object", "not": object{"propertyNames": object{"not": object{"pattern": n.paths}}}}
	inBody := within("benchmark", object{"anyOf": said(n.keys)})
	given := []any{
		inBody,
		within("sweep", within("parameters", has)),
		within("sweep", within("axes",
			object{"contains": object{"anyOf": []any{within("grid", has), within("zip", has)}}})),
		within("sweep", within("dimensions", object{"contains": within("path", object{"pattern": n.paths})})),
		within("sweep", within("runs", object{"type": "array", "items": inBody})),
	}
	return object{"anyOf": append(said(n.keys), given...)}
}

// anyOf are the fields of which an object must have one: @anyof in its definition.
func anyOf(s *ast.StructLit) (names []string) {
	for _, d := range s.Elts {
		if a, ok := d.(*ast.Attribute); ok {
			if name, body := a.Split(); name == "anyof" {
				for word := range strings.SplitSeq(body, ",") {
					names = append(names, strings.TrimSpace(word))
				}
			}
		}
	}
	return names
}

// oneNeeded are the demands of all definitions.
func (p *pass) oneNeeded() map[string][]string {
	out := map[string][]string{}
	for _, def := range p.defs {
		if s, ok := def.Value.(*ast.StructLit); ok && anyOf(s) != nil {
			name, _, _ := ast.LabelName(def.Label)
			out[name] = anyOf(s)
		}
	}
	return out
}

// relax takes the demands out of a definition that has fields by pattern: the
// encoder drops all fields of an object that has both (CUE 0.17.1). They are added
// to its result.
func (p *pass) relax(def string, s *ast.StructLit) {
	if !p.patterns[def] {
		return
	}
	for _, d := range s.Elts {
		if f, ok := d.(*ast.Field); ok && f.Constraint == token.NOT {
			name, _, _ := ast.LabelName(f.Label)
			f.Constraint = token.OPTION
			p.asked[def] = append(p.asked[def], name)
		}
	}
}

// orGuard asks for the first of names where none of them is there.
func orGuard(names []string) ast.Decl {
	var missing []string
	for _, name := range names {
		missing = append(missing, "("+name+" & !=null) == _|_")
	}
	return guard(strings.Join(missing, " if "), names[0])
}

// orRequired is the same as JSON Schema.
func orRequired(names []string) (out []any) {
	for _, name := range names {
		out = append(out, object{"required": []any{name}})
	}
	return out
}

// object is one of JSON.
type object = map[string]any
