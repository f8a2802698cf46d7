package surface

import (
	"fmt"
	"strings"
)

// needed are the members that every cell must have. They stand in the body or
// beside it, or the sweep gives them.
var needed = []need{
	{[]string{"endpoint"}, `^(benchmark[.])?(endpoint([.].+)?|url)$`},
	{[]string{"model", "models"}, `^(benchmark[.])?models?([.].+)?$`},
	{[]string{"dataset", "datasets"}, `^(benchmark[.])?(datasets?([.].+)?|isl|osl)$`}, // a length makes a synthetic one
	{[]string{"phases", "profiling", "warmup"}, `.`},                                  // a field of a phase makes one; what it lacks is for the cells
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
	given := "#gives_" + n.keys[0]
	return fmt.Sprintf(`if sweep == _|_ %[1]s {%[2]s!: _}
if sweep != _|_ %[1]s {
	%[3]s: [
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
			out = append(out, object{"required": []any{k}, "properties": object{k: object{"not": object{"type": "null"}}}})
		}
		return out
	}
	within := func(key string, below any) object {
		return object{"required": []any{key}, "properties": object{key: below}}
	}
	has := object{"type": "object", "not": object{"propertyNames": object{"not": object{"pattern": n.paths}}}} // some name is such a path
	inBody := within("benchmark", object{"anyOf": said(n.keys)})
	given := []any{
		inBody,
		within("sweep", within("parameters", has)),
		within("sweep", within("axes", object{"contains": object{"anyOf": []any{within("grid", has), within("zip", has)}}})),
		within("sweep", within("dimensions", object{"contains": within("path", object{"pattern": n.paths})})),
		within("sweep", within("runs", object{"type": "array", "items": inBody})),
	}
	return object{"anyOf": append(said(n.keys), given...)}
}

// object is one of JSON.
type object = map[string]any
