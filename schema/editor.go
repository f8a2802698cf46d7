package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/source"
	"aiperf.dev/aiperf/schema/surface"
)

// copiedBy begins a copy of the schema.
const copiedBy = "// Copied by "

// published is the schema that others read: what may be written, by file name.
var published = sync.OnceValues(func() (surface.Files, error) {
	return surface.Published(sourceText(), beside())
})

// sourceText are the embedded files by name.
func sourceText() surface.Files {
	out := surface.Files{}
	for _, name := range sourceFiles() {
		out[name] = sourceFile(name)
	}
	return out
}

// beside is what the published schema says that the sources do not.
func beside() surface.Beside {
	return surface.Beside{
		Gone: absentByName(), Axes: fields.AxisDefinition(), AxisNames: fields.AxisNames(),
		Idle: idleFields(),
	}
}

// idleFields are fields that are absent here, with AIPerf's values that ask for
// nothing.
func idleFields() surface.Idle {
	out := surface.Idle{}
	for _, row := range fields.Absents() {
		if row.Words != nil {
			continue
		}
		for _, path := range row.Paths {
			out[path] = row.Idle
		}
	}
	return out
}

// absentByName are the words that are known and not built by the definition, or
// its field, that has them.
func absentByName() map[string][]string {
	return map[string][]string{
		"#EndpointType":       fields.AbsentWords("benchmark.endpoint.type"),
		"#DatasetFormat":      fields.AbsentWords("benchmark.datasets.*.format"),
		"#SweepType":          fields.AbsentWords("sweep.type"),
		"#Sweep.optimization": fields.AbsentWords("sweep.optimization"),
		"#Dataset.type":       fields.AbsentWords("benchmark.datasets.*.type"),
	}
}

// CUE is the published schema as one text: all files of the package, in order.
func CUE() ([]byte, error) {
	files, err := published()
	if err != nil {
		return nil, err
	}
	const clause, math = "\npackage schema\n", "\nimport \"math\"\n"
	var b bytes.Buffer
	for i, name := range slices.Sorted(maps.Keys(files)) {
		src := append([]byte{'\n'}, files[name]...)
		before, rest, _ := bytes.Cut(src, []byte(clause))
		if i == 0 { // one import for all
			b.Write(bytes.TrimPrefix(before, []byte("\n")))
			b.WriteString(clause[1:] + math)
		}
		b.Write(bytes.Replace(rest, []byte(math), nil, 1))
	}
	return b.Bytes(), nil
}

// JSONSchema is the published schema for editors of YAML and JSON, with the
// default of every field beside its type.
func JSONSchema() ([]byte, error) {
	doc, err := surface.JSONSchema(sourceText(), beside())
	if err != nil {
		return nil, err
	}
	fillDefaults(doc, doc, fields.New(), "")
	doc["$id"] = "https://" + source.ImportPath + "/experiment.schema.json"
	doc["title"] = "aiperf experiment"
	return json.MarshalIndent(doc, "", "  ")
}

// ReferenceJSON is the structure of an experiment for documentation, as JSON
// Schema with defaults.
func ReferenceJSON() ([]byte, error) {
	doc, err := surface.Reference(sourceText(), absentByName())
	if err != nil {
		return nil, err
	}
	fillDefaults(doc, doc, fields.New(), "")
	return json.MarshalIndent(doc, "", "  ")
}

// fillDefaults writes the default of every field below path beside its type.
func fillDefaults(doc, v map[string]any, x fields.Table, path string) {
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
		fillDefaults(doc, items, x, source.Join(path, "*"))
	}
	props, _ := v["properties"].(map[string]any)
	for k, p := range props {
		prop, ok := p.(map[string]any)
		l := x[source.Join(path, k)]
		if !ok || l == nil || l.Lower != "" {
			continue
		}
		if _, has := prop["default"]; !has && l.Def != "" && len(l.When) == 0 {
			prop["default"] = json.RawMessage(l.Def)
		}
		fillDefaults(doc, prop, x, source.Join(path, k))
	}
}

// jsonSchemaName is the JSON Schema beside experiments: the first lines of the
// YAML templates name it.
const jsonSchemaName = "experiment.schema.json"

// EditorLine is what a file in YAML says for editors to check it with the JSON
// Schema beside it.
const EditorLine = "# yaml-language-server: $schema=" + jsonSchemaName

// Vendor writes the package so that cue vet and editors find it, and the JSON
// Schema for files of YAML. The second goes into dir; the package goes into the
// module that dir belongs to, whose folder is returned, or makes dir one. A copy
// carries the version it comes from.
func Vendor(dir string) (home string, err error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	home = dir
	if root := source.ModuleRoot(abs); root != abs {
		home = root
	}
	text, err := JSONSchema()
	if err != nil {
		return home, err
	}
	if err := writePackage(filepath.Join(home, filepath.FromSlash(source.VendorDir))); err != nil {
		return home, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return home, err
	}
	if err := os.WriteFile(filepath.Join(dir, jsonSchemaName), append(text, '\n'), 0o644); err != nil {
		return home, err
	}
	module := filepath.Join(home, "cue.mod", "module.cue")
	if _, err := os.Stat(module); err == nil {
		return home, nil
	}
	return home, os.WriteFile(module, []byte(source.ModuleFile), 0o644)
}

// WriteJSONSchema writes the JSON Schema into dir, where none may be, and
// returns its name.
func WriteJSONSchema(dir string) (name string, err error) {
	name = filepath.Join(dir, jsonSchemaName)
	text, err := JSONSchema()
	if err != nil {
		return name, err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return name, err
	}
	_, err = f.Write(append(text, '\n'))
	return name, errors.Join(err, f.Close())
}

// Publish writes the package as a CUE module of its own into dir: what cue mod
// publish pushes to a registry. It returns the version to push it as.
func Publish(dir string) (version string, err error) {
	if err := writePackage(dir); err != nil {
		return "", err
	}
	home := filepath.Join(dir, "cue.mod")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return "", err
	}
	text := fmt.Sprintf("module: %q\nlanguage: version: %q\nsource: kind: \"self\"\n", source.ModulePath,
		source.LanguageVersion)
	return source.ModuleVersion, os.WriteFile(filepath.Join(home, "module.cue"), []byte(text), 0o644)
}

// writePackage writes the files of the published package into dir and takes out
// those of an earlier copy that are no part of it any more.
func writePackage(dir string) error {
	files, err := published()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	old, _ := filepath.Glob(filepath.Join(dir, "*.cue")) // the pattern is a good one
	for _, path := range old {
		text, err := os.ReadFile(path)
		if err == nil && files[filepath.Base(path)] == nil && bytes.HasPrefix(text, []byte(copiedBy)) {
			err = os.Remove(path)
		}
		if err != nil {
			return err
		}
	}
	for name, src := range files {
		text := append([]byte(versionLine()), src...)
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// versionLine says from which program a vendored copy comes.
func versionLine() string {
	version := "devel"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		version = info.Main.Version
	}
	return fmt.Sprintf(copiedBy+"aiperf %s; do not edit.\n\n", version)
}

// staleCopy says that the package vendored in the module of file, or of a folder,
// is not this program's: editors and cue vet go by the copy, this program by its
// own. It is "" when there is none, or the same.
func staleCopy(file string) string {
	home := file
	if !IsPackage(file) {
		home = filepath.Dir(file)
	}
	if abs, err := filepath.Abs(home); err == nil {
		if root := source.ModuleRoot(abs); root != abs {
			home = source.ShownFile(root)
		}
	}
	pkg := filepath.Join(home, filepath.FromSlash(source.VendorDir))
	found, _ := filepath.Glob(filepath.Join(pkg, "*.cue")) // the pattern is a good one
	if len(found) == 0 {
		return ""
	}
	files, err := published()
	if err != nil {
		return ""
	}
	same, from := len(found) == len(files), ""
	for _, path := range found {
		text, err := os.ReadFile(path)
		first, rest, _ := strings.Cut(string(text), "\n")
		name := filepath.Base(path)
		if err == nil && files[name] != nil && strings.TrimLeft(rest, "\n") == string(files[name]) {
			continue
		}
		same = false
		if v, ok := strings.CutPrefix(first, copiedBy); ok {
			from = " by " + strings.TrimSuffix(v, "; do not edit.")
		}
	}
	if same {
		return ""
	}
	return fmt.Sprintf("%s: copied%s, and not the schema of this program, which is what counts; aiperf schema vendor %s renews it", pkg, from, home)
}
