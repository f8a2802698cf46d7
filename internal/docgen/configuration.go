package docgen

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/schema"
)

// jsonSchema is a JSON Schema that is walked by path.
type jsonSchema struct {
	root, defs map[string]any
	flags      map[string][]string // "Definition.field" → flags
	unbuilt    map[string]bool
	words      map[string]string // defaults among words, which JSON Schema has lost
}

// Setting is one field of an object of an experiment.
type Setting struct {
	Object  string // the definition it belongs to; "" is the experiment itself
	Key     string
	Type    string   // with its bounds or words
	Default string   // as JSON; "required" where there is none and one is needed
	Flags   []string // with their dashes, sorted
	Doc     string
}

// Settings are the fields of every object of an experiment, the experiment's
// own first, then the objects in the order in which they are met.
func Settings(schemaJSON []byte, options []schema.Option) ([]Setting, error) {
	var out []Setting
	err := walkObjects(schemaJSON, options, func(s *jsonSchema, name string, def map[string]any) {
		out = append(out, s.settings(name, def)...)
	})
	return out, err
}

// Configuration is docs/configuration.md: a section for every object of an
// experiment, a row for every field, and what settings need.
func Configuration(schemaJSON []byte, options []schema.Option, needs []schema.Need) (string, error) {
	var b strings.Builder
	b.WriteString(Mark("the CUE schema"))
	b.WriteString("# Configuration\n\n")
	b.WriteString("An experiment is one tree, written in CUE, YAML or JSON, or as flags. Keys may be written in camelCase; a value may be\n" +
		"`${VAR}`, `${VAR:default}` or, in YAML, a `{{ template }}`. Paths in `--set`, `sweep.parameters` and messages are\n" +
		"the keys joined by dots: `endpoint.timeout`, `dataset.prompts.isl`, `phases.profiling.rate`; `benchmark.` may be left out.\n" +
		"`dataset:` stands for a list of one, `warmup:` and `profiling:` for phases of these names, `concurrency`, `rate`,\n" +
		"`requests`, `duration`, `sessions` and `users` for fields of the measured phase. `aiperf explain setting NAME` prints one row.\n\n")
	err := walkObjects(schemaJSON, options, func(s *jsonSchema, name string, def map[string]any) {
		title := name
		if name == "" {
			title = "Experiment"
		}
		fmt.Fprintf(&b, "## %s\n\n", title)
		if doc, _ := def["description"].(string); doc != "" && name != "" {
			b.WriteString(strings.ReplaceAll(doc, "\n", " ") + "\n\n")
		}
		b.WriteString(s.section(name, def))
	})
	b.WriteString(effects(needs))
	return b.String(), err
}

// effects is the section about which setting has an effect when.
func effects(needs []schema.Need) string {
	var rows [][]string
	for _, n := range needs {
		rows = append(rows, []string{codes(n.Settings), n.Words})
	}
	return "## Which setting has an effect when\n\n" +
		"A setting that would change nothing is a mistake, in a file, in flags, in `--set` and on an axis. `run`, `validate` and\n" +
		"`plan` refuse it with its place and exit code 2, before anything is opened; `--lenient` warns instead. A value that repeats\n" +
		"its default is never refused. `profile` and `config expand`, which AIPerf has too, only warn of settings that AIPerf accepts\n" +
		"and ignores (`--strict` refuses them). They refuse settings that only this program has, and every such setting in a CUE file.\n" +
		"All commands warn of settings that are accepted only because AIPerf has them. Warnings about a run are in its `run.json`.\n\n" +
		"In a sweep, a setting is refused if it has no effect in any cell. If it has an effect in some cells, a warning says in how many\n" +
		"it has none: there two values of an axis measure the same load twice. If a flag takes away the effect of a setting in the file,\n" +
		"as `--concurrency 4` in place of an axis does to `cooldown_seconds`, a note says so and nothing is refused.\n\n" +
		"A value can be given in one place only: `isl` beside `prompts.isl`, `system_prompt` beside `system_prompt_file` or `rate` beside\n" +
		"`rate_series` in one file is refused, with both places. Flags, `--set` and axes replace what the file says.\n\n" +
		table([]string{"settings", "need"}, rows)
}

// walkObjects visits the experiment and every object that a field of it holds.
func walkObjects(
	schemaJSON []byte, options []schema.Option, visit func(s *jsonSchema, name string, def map[string]any),
) error {
	s := &jsonSchema{flags: map[string][]string{}, unbuilt: map[string]bool{}, words: map[string]string{}}
	if err := json.Unmarshal(schemaJSON, &s.root); err != nil {
		return err
	}
	s.defs, _ = s.root["$defs"].(map[string]any)
	for _, o := range options {
		if o.Path == "benchmark" || o.Instead != "" { // --config names a file; what is absent has no field
			continue
		}
		key, ok := s.owner(o.Path)
		if !ok {
			return fmt.Errorf("--%s: no field %s in the JSON Schema", o.Names[0], o.Path)
		}
		s.flags[key] = append(s.flags[key], "--"+o.Names[0])
		if len(o.Enum) > 0 && o.Do == "" && o.Default != "" {
			s.words[key] = strconv.Quote(o.Default)
		}
		if o.Unsupported && o.At == "" {
			s.unbuilt[key] = true
		}
	}
	visit(s, "", s.root)
	queue, seen := s.links(s.root), map[string]bool{}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		def := s.defs[name].(map[string]any)
		visit(s, name, def)
		queue = append(queue, s.links(def)...)
	}
	return nil
}

// section is the table of one object.
func (s *jsonSchema) section(name string, def map[string]any) string {
	var rows [][]string
	for _, f := range s.settings(name, def) {
		value := f.Default
		if value != "required" {
			value = code(value)
		}
		rows = append(rows, []string{code(f.Key), f.Type, value, codes(f.Flags), f.Doc})
	}
	return table([]string{"field", "type", "default", "flags", "what it is"}, rows)
}

// settings are the fields of one object.
func (s *jsonSchema) settings(name string, def map[string]any) (out []Setting) {
	required := map[string]bool{}
	list, _ := def["required"].([]any)
	for _, r := range list {
		required[fmt.Sprint(r)] = true
	}
	for _, key := range s.keys(def) {
		field := def["properties"].(map[string]any)[key].(map[string]any)
		row := Setting{
			Object: name, Key: key, Type: s.describe(field),
			Flags: slices.Compact(slices.Sorted(slices.Values(s.flags[name+"."+key]))),
		}
		row.Doc, _ = field["description"].(string)
		if s.unbuilt[name+"."+key] {
			row.Doc += " *Not supported yet.*"
		}
		if d, ok := field["default"]; ok {
			js, _ := json.Marshal(d) // read from JSON
			row.Default = string(js)
		} else if required[key] {
			row.Default = "required"
		} else {
			row.Default = s.words[name+"."+key]
		}
		out = append(out, row)
	}
	return out
}

// keys are the fields of an object, camelCase twins left out.
func (s *jsonSchema) keys(def map[string]any) []string {
	props, _ := def["properties"].(map[string]any)
	var out []string
	for _, k := range slices.Sorted(maps.Keys(props)) {
		if strings.ToLower(k) == k {
			out = append(out, k)
		}
	}
	return out
}

// describe is the type of a value with its bounds.
func (s *jsonSchema) describe(n map[string]any) string {
	if ref, ok := n["$ref"].(string); ok {
		name := ref[strings.LastIndexByte(ref, '/')+1:]
		def := s.defs[name].(map[string]any)
		if def["properties"] != nil {
			return "[" + name + "](#" + strings.ToLower(name) + ")"
		}
		return s.describe(def)
	}
	if arms, ok := n["anyOf"].([]any); ok {
		return s.oneOf(arms)
	}
	if arms, ok := n["allOf"].([]any); ok {
		return s.allOf(arms)
	}
	switch n["type"] {
	case "array":
		return s.list(n)
	case "object":
		if more, ok := n["additionalProperties"].(map[string]any); ok {
			return "map of " + s.describe(more)
		}
		return "map"
	case "string":
		if p, _ := n["pattern"].(string); strings.HasPrefix(p, "^[0-9]+") {
			return "text such as `30s`"
		}
		return "text"
	case "number", "integer", "boolean":
		return strings.TrimSpace(fmt.Sprint(n["type"]) + " " + bounds(n))
	}
	if words, ok := n["enum"].([]any); ok {
		return literals(words)
	}
	if word, ok := n["const"]; ok {
		return literals([]any{word})
	}
	return "anything"
}

func (s *jsonSchema) list(n map[string]any) string {
	first, ok := n["items"].(map[string]any)
	if prefix, _ := n["prefixItems"].([]any); !ok && len(prefix) > 0 {
		first, ok = prefix[0].(map[string]any)
	}
	if !ok {
		return "list"
	}
	return "list of " + s.describe(first)
}

// oneOf joins the arms; the one that stands for a template is left out.
func (s *jsonSchema) oneOf(arms []any) string {
	var out []string
	for _, a := range arms {
		m := a.(map[string]any)
		if p, _ := m["pattern"].(string); strings.HasPrefix(p, `\{\{`) {
			continue
		}
		if d := s.describe(m); !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return strings.Join(out, " or ")
}

// allOf is the narrowest arm: "number" beside "integer ≥ 1" says nothing.
func (s *jsonSchema) allOf(arms []any) string {
	best := ""
	for _, a := range arms {
		if d := s.describe(a.(map[string]any)); len(d) > len(best) {
			best = d
		}
	}
	return best
}

func bounds(n map[string]any) string {
	var out []string
	for _, b := range []struct{ key, sign string }{
		{"minimum", "≥"},
		{"exclusiveMinimum", ">"},
		{"maximum", "≤"},
		{"exclusiveMaximum", "<"},
	} {
		const exact = 1<<53 - 1 // the largest whole number of JSON: no bound of ours
		if v, ok := n[b.key].(float64); ok && v != exact {
			out = append(out, b.sign+" "+strconv.FormatFloat(v, 'g', -1, 64))
		}
	}
	return strings.Join(out, ", ")
}

func literals(words []any) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = fmt.Sprint(w)
	}
	return codes(out)
}

// links are the objects that the fields of n lead to, in order.
func (s *jsonSchema) links(n any) (out []string) {
	switch n := n.(type) {
	case map[string]any:
		if ref, ok := n["$ref"].(string); ok {
			name := ref[strings.LastIndexByte(ref, '/')+1:]
			if s.defs[name].(map[string]any)["properties"] != nil {
				return []string{name}
			}
			return s.links(s.defs[name])
		}
		for _, k := range slices.Sorted(maps.Keys(n)) {
			if k != "$defs" {
				out = append(out, s.links(n[k])...)
			}
		}
	case []any:
		for _, it := range n {
			out = append(out, s.links(it)...)
		}
	}
	return out
}

// owner is the field at a path as "Definition.field"; names of list members are
// passed over.
func (s *jsonSchema) owner(path string) (string, bool) {
	at, name, key := s.root, "", ""
	for part := range strings.SplitSeq(path, ".") {
		props, _ := at["properties"].(map[string]any)
		if field, ok := props[part].(map[string]any); ok {
			key = name + "." + part
			at, name = s.object(field)
		}
	}
	return key, key != ""
}

// object finds the object a field holds, through references, lists and arms.
func (s *jsonSchema) object(n map[string]any) (def map[string]any, name string) {
	if ref, ok := n["$ref"].(string); ok {
		name = ref[strings.LastIndexByte(ref, '/')+1:]
		def = s.defs[name].(map[string]any)
		if def["properties"] != nil {
			return def, name
		}
		return s.object(def)
	}
	var arms []any
	for _, k := range []string{"anyOf", "allOf", "prefixItems"} {
		list, _ := n[k].([]any)
		arms = append(arms, list...)
	}
	if it, ok := n["items"]; ok {
		arms = append(arms, it)
	}
	for _, a := range arms {
		if d, n := s.object(a.(map[string]any)); d != nil {
			return d, n
		}
	}
	return nil, ""
}
