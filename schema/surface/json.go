package surface

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/encoding/jsonschema"
)

// JSONSchema is the published schema for YAML and JSON, draft 2020-12. CUE's
// encoder does the structure; what it leaves out is added to its result: text
// that is read later, words in any case, camelCase keys.
func JSONSchema(sources Files, more Beside) (map[string]any, error) {
	p, files, err := rewrite(sources, more, true)
	if err != nil {
		return nil, err
	}
	doc, err := encode(files)
	if err != nil {
		return nil, err
	}
	defs, ok := doc["$defs"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the encoder wrote no $defs")
	}
	for def, names := range p.asked {
		if o, ok := defs[strings.TrimPrefix(def, "#")].(object); ok {
			o["required"] = toAny(names)
		}
	}
	none := defs["None"]
	delete(defs, "None") // as it is: no other spellings
	doc = loose(doc).(map[string]any)
	if none != nil {
		defs["None"] = none
	}
	// what it has may stand beside it, but it cannot say nothing
	all := []any{object{"properties": object{"benchmark": object{"not": object{"type": "null"}}}}}
	for _, n := range needed {
		all = append(all, n.schema())
	}
	doc["allOf"] = all
	defs["Late"] = map[string]any{
		"type": "string", "pattern": later + "|" + number,
		"description": "A template, a variable, or a number in quotes.",
	}
	for def, names := range p.oneNeeded() {
		if o, ok := defs[strings.TrimPrefix(def, "#")].(map[string]any); ok {
			o["anyOf"] = orRequired(names)
		}
	}
	truths := []any{"true", "false", "yes", "no", "on", "off", "y", "n", "t", "f", "1", "0"}
	defs["LateBool"] = map[string]any{"anyOf": []any{
		map[string]any{"type": "string", "pattern": later + `|^\s*(` + alternatives(truths) + `)\s*$`},
		map[string]any{"enum": []any{0, 1}},
	}}
	defs["LateFalse"] = map[string]any{"anyOf": []any{
		map[string]any{
			"type":    "string",
			"pattern": later + `|^\s*(` + alternatives([]any{"false", "no", "off", "n", "f", "0"}) + `)\s*$`,
		},
		map[string]any{"const": 0},
	}}
	return doc, nil
}

// Reference is the structure alone, for documentation: no other spellings, no
// other shape, no text in place of numbers.
func Reference(sources Files, gone map[string][]string) (map[string]any, error) {
	_, files, err := rewrite(sources, Beside{Gone: gone}, true)
	if err != nil {
		return nil, err
	}
	delete(files, "flat.cue")
	return encode(files)
}

func encode(files Files) (map[string]any, error) {
	inst := build.NewContext().NewInstance(path, nil)
	inst.ImportPath, inst.PkgName = path, "schema"
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := parser.ParseFile(name, files[name], parser.ParseComments)
		if err != nil {
			return nil, err
		}
		if err := inst.AddSyntax(f); err != nil {
			return nil, err
		}
	}
	ctx := cuecontext.New()
	v := ctx.BuildInstance(inst)
	if err := v.Err(); err != nil {
		return nil, err
	}
	expr, err := jsonschema.Generate(v.LookupPath(cue.ParsePath("#Experiment")),
		&jsonschema.GenerateConfig{Version: jsonschema.VersionDraft2020_12})
	if err != nil {
		return nil, err
	}
	js, err := ctx.BuildExpr(expr).MarshalJSON()
	if err != nil {
		return nil, err
	}
	var doc map[string]any
	return doc, json.Unmarshal(js, &doc)
}

func toAny(words []string) (out []any) {
	for _, w := range words {
		out = append(out, w)
	}
	return out
}

func ref(name string) any { return map[string]any{"$ref": "#/$defs/" + name} }

// loose rewrites one schema and all below it.
func loose(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = loose(v[i])
		}
	case map[string]any:
		for k, x := range v {
			if k == "$defs" || k == "properties" {
				for name, m := range x.(map[string]any) {
					x.(map[string]any)[name] = loose(m)
				}
			} else if k != "enum" && k != "const" && k != "required" {
				v[k] = loose(x)
			}
		}
		if props, ok := v["properties"].(map[string]any); ok {
			orNull(v, props)
			twins(v, props)
		}
		return arms(v)
	}
	return v
}

// orNull lets null stand for what may be left out.
func orNull(v, props map[string]any) {
	required, _ := v["required"].([]any)
	for k, x := range props {
		if k == "url" { // one member of a list, which null is not
			continue
		}
		if m, ok := x.(map[string]any); ok && !slices.Contains(required, any(k)) {
			out := map[string]any{"anyOf": []any{m, map[string]any{"type": "null"}}}
			for _, about := range []string{"description", "default", "deprecated"} {
				if text, ok := m[about]; ok {
					out[about] = text
					delete(m, about)
				}
			}
			props[k] = out
		}
	}
}

// twins adds the camelCase spelling of each key; a required key may be either.
func twins(v, props map[string]any) {
	for k, x := range props {
		if c := camelCase(k); c != k && props[c] == nil {
			props[c] = x
		}
	}
	req, _ := v["required"].([]any)
	var keep, either []any
	for _, r := range req {
		if c := camelCase(r.(string)); c != r {
			either = append(either, map[string]any{"anyOf": []any{
				map[string]any{"required": []any{r}},
				map[string]any{"required": []any{c}},
			}})
		} else {
			keep = append(keep, r)
		}
	}
	if len(either) > 0 {
		delete(v, "required")
		if keep != nil {
			v["required"] = keep
		}
		v["allOf"] = either
	}
}

// arms lets text stand for numbers, booleans and words in other case.
func arms(v map[string]any) any {
	var also any
	switch v["type"] {
	case "integer":
		if v["maximum"] == nil {
			v["maximum"] = json.Number(largest)
		}
		also = ref("Late")
	case "number":
		also = ref("Late")
	case "boolean":
		also = ref("LateBool")
	case "array": // one word stands for a list of one
		if m, ok := v["items"].(map[string]any); ok {
			also = oneText(m)
		}
	}
	if v["const"] == false {
		also = ref("LateFalse")
	}
	if _, ok := v["const"].(string); ok {
		v["type"] = "string" // some validators take the number 2 for the text "2.0"
	}
	if w, ok := v["const"].(string); ok && strings.ToLower(w) != strings.ToUpper(w) {
		also = map[string]any{"type": "string", "pattern": "^(" + alternatives([]any{w}) + ")$"}
	}
	if words, ok := v["enum"].([]any); ok && len(words) > 1 {
		if _, number := words[0].(float64); number {
			also = ref("Late")
		}
		if _, text := words[0].(string); text {
			also = map[string]any{"type": "string", "pattern": "^(" + alternatives(words) + ")$|" + later}
		}
	}
	if also == nil {
		return v
	}
	out := map[string]any{}
	for _, k := range []string{"description", "default", "deprecated"} {
		if x, ok := v[k]; ok {
			out[k] = x
			delete(v, k)
		}
	}
	out["anyOf"] = []any{v, also}
	return out
}

// oneText is the text that a member of a list may be; nil where it is none.
func oneText(member map[string]any) any {
	if member["type"] == "string" {
		word := maps.Clone(member)
		word["minLength"] = 1 // no text is no list of one
		return word
	}
	if arms, ok := member["anyOf"].([]any); ok { // words, with their other spellings
		for _, a := range arms {
			if m, ok := a.(map[string]any); ok && m["enum"] != nil {
				return member
			}
		}
	}
	return nil
}

// alternatives are words in any case, without flags, which ECMA patterns lack.
func alternatives(words []any) string {
	var out []string
	for _, w := range words {
		var b strings.Builder
		for _, r := range fmt.Sprint(w) {
			switch {
			case unicode.IsLetter(r):
				fmt.Fprintf(&b, "[%c%c]", unicode.ToUpper(r), unicode.ToLower(r))
			case r == '-' || r == '_':
				b.WriteString("[-_]")
			default:
				b.WriteString(regexp.QuoteMeta(string(r)))
			}
		}
		out = append(out, b.String())
	}
	return strings.Join(out, "|")
}
