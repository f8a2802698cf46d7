package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"cuelang.org/go/encoding/jsonschema"
)

const (
	vendorDir  = "cue.mod/pkg/" + importPath
	moduleFile = "module: \"local.invalid/experiments@v0\"\nlanguage: version: \"v0.17.0\"\n"
)

// CUE is the schema as one text: all files of the package, in order.
func CUE() []byte {
	var b bytes.Buffer
	for i, name := range sourceFiles() {
		src := sourceFile(name)
		if i > 0 {
			_, rest, _ := bytes.Cut(append([]byte{'\n'}, src...), []byte("\npackage schema\n"))
			src = rest
		}
		b.Write(src)
	}
	return b.Bytes()
}

// JSONSchema is the schema for editors of YAML and JSON: CUE's own
// translation, with what that leaves out: defaults, templates and ${VAR} in
// place of any value, and both spellings of keys.
func JSONSchema() ([]byte, error) {
	s, err := compile()
	if err != nil {
		return nil, err
	}
	expr, err := jsonschema.Generate(s.experiment, &jsonschema.GenerateConfig{Version: jsonschema.VersionDraft2020_12})
	if err != nil {
		return nil, err
	}
	js, err := s.ctx.BuildExpr(expr).MarshalJSON()
	if err != nil {
		return nil, err
	}
	var doc map[string]any
	if err := json.Unmarshal(js, &doc); err != nil {
		return nil, err
	}
	fillDefaults(doc, doc, newIndex(), "")
	doc = forEditors(doc).(map[string]any)
	doc["$id"] = "https://" + importPath + "/experiment.schema.json"
	doc["title"] = "aiperf experiment"
	return json.MarshalIndent(doc, "", "  ")
}

// fillDefaults writes the default of every field below path beside its type.
func fillDefaults(doc, v map[string]any, x index, path string) {
	if ref, ok := v["$ref"].(string); ok {
		defs, _ := doc["$defs"].(map[string]any)
		if target, ok := defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any); ok {
			fillDefaults(doc, target, x, path)
		}
	}
	for _, k := range []string{"anyOf", "oneOf", "allOf"} {
		arms, _ := v[k].([]any)
		for _, a := range arms {
			if m, ok := a.(map[string]any); ok {
				fillDefaults(doc, m, x, path)
			}
		}
	}
	if items, ok := v["items"].(map[string]any); ok {
		fillDefaults(doc, items, x, join(path, "*"))
	}
	props, _ := v["properties"].(map[string]any)
	for k, p := range props {
		prop, ok := p.(map[string]any)
		l := x[join(path, k)]
		if !ok || l == nil || l.lower != "" {
			continue
		}
		if _, has := prop["default"]; !has && l.def != "" && len(l.when) == 0 {
			prop["default"] = json.RawMessage(l.def)
		}
		fillDefaults(doc, prop, x, join(path, k))
	}
}

// placeholder is a value that is filled in later.
var placeholder = map[string]any{"type": "string", "pattern": `\{\{|\{%|\$\{`}

// forEditors rewrites one schema object and all below it.
func forEditors(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = forEditors(v[i])
		}
	case map[string]any:
		for k, x := range v {
			if k != "enum" && k != "const" && k != "default" && k != "required" {
				v[k] = forEditors(x)
			}
		}
		if props, ok := v["properties"].(map[string]any); ok {
			camelTwins(props)
		}
		return withPlaceholder(withDefault(v))
	}
	return v
}

// camelTwins adds the camelCase spelling of each key.
func camelTwins(props map[string]any) {
	for k, x := range props {
		if c := camelCase(k); c != k && props[c] == nil {
			props[c] = x
		}
	}
}

func camelCase(s string) string {
	parts := strings.Split(s, "_")
	for i := 1; i < len(parts); i++ {
		if parts[i] != "" {
			parts[i] = strings.ToUpper(parts[i][:1]) + parts[i][1:]
		}
	}
	return strings.Join(parts, "")
}

// withDefault turns anyOf [X, {const: d}], how CUE's defaults come out, into X
// with a default.
func withDefault(v map[string]any) map[string]any {
	arms, ok := v["anyOf"].([]any)
	if !ok || len(arms) != 2 {
		return v
	}
	for i, a := range arms {
		m, ok := a.(map[string]any)
		if d, isConst := m["const"]; ok && isConst && len(m) == 1 {
			other, _ := arms[1-i].(map[string]any)
			if other == nil || other["const"] != nil {
				return v
			}
			delete(v, "anyOf")
			if ref, ok := other["$ref"]; ok {
				v["allOf"] = []any{map[string]any{"$ref": ref}}
			} else {
				for k, x := range other {
					v[k] = x
				}
			}
			v["default"] = d
			return v
		}
	}
	return v
}

// withPlaceholder lets a template stand for a number or a boolean.
func withPlaceholder(v map[string]any) map[string]any {
	switch v["type"] {
	case "number", "integer", "boolean":
	default:
		return v
	}
	out := map[string]any{}
	for _, k := range []string{"description", "default", "deprecated"} {
		if x, ok := v[k]; ok {
			out[k] = x
			delete(v, k)
		}
	}
	out["anyOf"] = []any{v, placeholder}
	return out
}

// Vendor writes the package below dir so that cue vet and editors find it, and
// a module file if there is none. A copy carries the version it comes from.
func Vendor(dir string) error {
	pkg := filepath.Join(dir, filepath.FromSlash(vendorDir))
	if err := os.MkdirAll(pkg, 0o755); err != nil {
		return err
	}
	for _, name := range sourceFiles() {
		text := append([]byte(versionLine()), sourceFile(name)...)
		if err := os.WriteFile(filepath.Join(pkg, name), text, 0o644); err != nil {
			return err
		}
	}
	module := filepath.Join(dir, "cue.mod", "module.cue")
	if _, err := os.Stat(module); err == nil {
		return nil
	}
	return os.WriteFile(module, []byte(moduleFile), 0o644)
}

// versionLine says from which program a vendored copy comes.
func versionLine() string {
	version := "devel"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		version = info.Main.Version
	}
	return fmt.Sprintf("// Copied by aiperf %s; do not edit.\n\n", version)
}

// staleCopy says that the package vendored beside file is not this program's:
// editors and cue vet go by the copy, this program by its own. It is "" when
// there is none, or the same.
func staleCopy(file string) string {
	pkg := filepath.Join(filepath.Dir(file), filepath.FromSlash(vendorDir))
	found, _ := filepath.Glob(filepath.Join(pkg, "*.cue")) // the pattern is a good one
	if len(found) == 0 {
		return ""
	}
	same, from := len(found) == len(sourceFiles()), ""
	for _, path := range found {
		text, err := os.ReadFile(path)
		first, rest, _ := strings.Cut(string(text), "\n")
		name := filepath.Base(path)
		if err == nil && slices.Contains(sourceFiles(), name) && strings.TrimLeft(rest, "\n") == string(sourceFile(name)) {
			continue
		}
		same = false
		if v, ok := strings.CutPrefix(first, "// Copied by "); ok {
			from = " by " + strings.TrimSuffix(v, "; do not edit.")
		}
	}
	if same {
		return ""
	}
	return fmt.Sprintf("%s: copied%s, and not the schema of this program, which is what counts; aiperf schema vendor %s renews it", pkg, from, filepath.Dir(file))
}
