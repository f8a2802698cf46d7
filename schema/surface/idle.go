package surface

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
)

// Idle are fields that the sources lack and that a file may repeat as long as
// they ask for nothing: the path of a field, where * is any member of a list,
// with the values that are usual at it or below it, as JSON by path.
type Idle map[string]map[string]string

// noneForm is a value that asks for nothing.
const noneForm = `
// What asks for nothing.
#None: null | false | [] | {[string]: #None}
`

// idle is a file that lets definitions have the fields of gone. They are
// patterns: an editor offers none of them.
func (p *pass) idle(gone Idle) ([]byte, error) {
	byDef := map[string][]string{}
	for _, path := range slices.Sorted(maps.Keys(gone)) {
		def, own, err := p.owner(path)
		if err != nil {
			return nil, err
		}
		value, err := idleValue(path, gone[path])
		if err != nil {
			return nil, err
		}
		byDef[def] = append(byDef[def], fmt.Sprintf("\t[=~%q]: %s\n", "^("+eitherCase(own)+")$", value))
	}
	var b strings.Builder
	b.WriteString("package schema\n\n// Fields of AIPerf's that are not here: a file may repeat what is usual, and ask\n// for nothing with them.\n")
	b.WriteString(noneForm)
	for _, def := range slices.Sorted(maps.Keys(byDef)) {
		fmt.Fprintf(&b, "%s: {\n%s}\n", def, strings.Join(byDef[def], ""))
	}
	return []byte(b.String()), nil
}

// owner is the definition that a path's last field belongs to.
func (p *pass) owner(path string) (def, own string, err error) {
	candidates := []string{"#Experiment"}
	// the field before it names what its members are
	parts := slices.DeleteFunc(strings.Split(path, "."), func(part string) bool { return part == "*" })
	for _, part := range parts[:len(parts)-1] {
		var next []string
		for _, def := range candidates {
			for _, f := range p.fields(def) {
				if name, _, err := ast.LabelName(f.Label); err == nil && name == part {
					next = append(next, p.objects(f.Value)...)
				}
			}
		}
		if len(next) == 0 {
			return "", "", fmt.Errorf("%s: none of %v has an object %s", path, candidates, part)
		}
		candidates = next
	}
	return candidates[0], parts[len(parts)-1], nil
}

// fields are those of a definition in the sources.
func (p *pass) fields(def string) (out []*ast.Field) {
	for _, d := range p.defs {
		name, _, _ := ast.LabelName(d.Label)
		s, ok := d.Value.(*ast.StructLit)
		if !ok || name != def {
			continue
		}
		for _, e := range s.Elts {
			if f, ok := e.(*ast.Field); ok {
				out = append(out, f)
			}
		}
	}
	return out
}

// objects are the definitions of objects that e names.
func (p *pass) objects(e ast.Expr) (defs []string) {
	ast.Walk(e, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || !strings.HasPrefix(id.Name, "#") {
			return true
		}
		if p.fields(id.Name) != nil {
			defs = append(defs, id.Name)
			return true
		}
		for _, d := range p.defs { // a name for a choice
			if name, _, _ := ast.LabelName(d.Label); name == id.Name {
				defs = append(defs, p.objects(d.Value)...)
			}
		}
		return true
	}, nil)
	return defs
}

// idleValue are the values at path that ask for nothing, as CUE.
func idleValue(path string, usual map[string]string) (string, error) {
	if js, ok := usual[path]; ok {
		return literals(js)
	}
	below := map[string][]string{}
	for _, full := range slices.Sorted(maps.Keys(usual)) {
		if rest, ok := strings.CutPrefix(full, path+"."); ok {
			name, _, _ := strings.Cut(rest, ".")
			below[name] = append(below[name], full)
		}
	}
	if len(below) == 0 {
		return "#None", nil
	}
	var names []string
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(below)) {
		value, err := idleValue(path+"."+name, usual)
		if err != nil {
			return "", err
		}
		names = append(names, eitherCase(name))
		fmt.Fprintf(&b, "[=~%q]: %s, ", "^("+eitherCase(name)+")$", value)
	}
	return fmt.Sprintf("null | false | [] | {%s[!~%q]: #None}", b.String(), "^("+strings.Join(names, "|")+")$"), nil
}

// literals are a usual value, words in any case, and what asks for nothing.
func literals(js string) (string, error) {
	var v any
	if err := json.Unmarshal([]byte(js), &v); err != nil {
		return "", fmt.Errorf("%s: %w", js, err)
	}
	if s, ok := v.(string); ok {
		return fmt.Sprintf("=~%q | #None", "^"+alternatives([]any{s})+"$"), nil
	}
	return js + " | #None", nil
}

// eitherCase is a key in snake_case or camelCase, as a pattern.
func eitherCase(key string) string {
	if camel := camelCase(key); camel != key {
		return regexp.QuoteMeta(key) + "|" + camel
	}
	return regexp.QuoteMeta(key)
}
