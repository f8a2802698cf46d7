package schema_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/encoding/yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	yamlv3 "gopkg.in/yaml.v3"

	"aiperf.dev/aiperf/schema"
)

// Three validators look at an experiment: this program, cue vet with the
// published package, and a JSON Schema validator with the published document.
type validators struct {
	cue  cue.Value // #Experiment
	json *jsonschema.Schema
}

func published(t *testing.T) validators {
	t.Helper()
	dir := t.TempDir()
	if _, err := schema.Vendor(dir); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "cue.mod/pkg/aiperf.dev/schema/*.cue"))
	if err != nil {
		t.Fatal(err)
	}
	inst := build.NewContext().NewInstance("aiperf.dev/schema", nil)
	inst.PkgName = "schema"
	for _, name := range files {
		f, err := parser.ParseFile(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := inst.AddSyntax(f); err != nil {
			t.Fatal(err)
		}
	}
	v := cuecontext.New().BuildInstance(inst)
	if err := v.Err(); err != nil {
		t.Fatal(err)
	}
	text, err := schema.JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("experiment.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	js, err := c.Compile("experiment.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return validators{v.LookupPath(cue.ParsePath("#Experiment")), js}
}

// ours is what aiperf validate says about a file, cells of the first point
// included.
func (validators) ours(file string) error {
	d, err := schema.Load(schema.Source{
		File: file, Command: "validate",
		Env: func(string) (string, bool) { return "1", true },
	})
	if err != nil {
		return err
	}
	return everyCell(d)
}

// vet is what cue vet -c -d '#Experiment' says about a file of YAML.
func (v validators) vet(file string) error {
	src, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	f, err := yaml.Extract(file, src)
	if err != nil {
		return err
	}
	data := cuecontext.New().BuildFile(f)
	return v.cue.Unify(data).Validate(cue.Concrete(true), cue.Final())
}

func (v validators) schema(file string) error {
	src, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var plain any
	if err := yamlv3.Unmarshal(src, &plain); err != nil {
		return err
	}
	js, err := json.Marshal(plain)
	if err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(js))
	if err != nil {
		return err
	}
	return v.json.Validate(doc)
}

// A key that is not there, a value of another kind and a word that is none are
// refused by all three, in every object and field there is.
func TestValidatorsRefuseAlike(t *testing.T) {
	t.Parallel()
	v := published(t)
	base := func() map[string]any {
		var m map[string]any
		const text = `{benchmark: {model: m, endpoint: {url: "mock:"}, dataset: {type: synthetic, isl: 8, entries: 2}, profiling: {type: concurrency, concurrency: 1, requests: 2},
  artifacts: {}, tokenizer: {}, runtime: {}, logging: {}}, multi_run: {}, tables: {}}`
		if err := yamlv3.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	dir, tried := t.TempDir(), 0
	for _, c := range schema.Wrong() {
		doc := base()
		if !put(doc, strings.Split(c.Path, "."), c.Value) {
			continue
		}
		text, err := yamlv3.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "x.yaml")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		tried++
		for by, err := range map[string]error{
			"aiperf":  v.ours(file),
			"cue vet": v.vet(file), "JSON Schema": v.schema(file),
		} {
			if err == nil {
				t.Errorf("%s takes %s: %v", by, c.Path, c.Value)
			}
		}
	}
	t.Logf("%d files with one mistake", tried)
	if tried < 100 {
		t.Errorf("only %d files with a mistake", tried)
	}
}

// put sets a value where the objects on the way are.
func put(doc map[string]any, path []string, v any) bool {
	for _, part := range path[:len(path)-1] {
		sub, ok := doc[part].(map[string]any)
		if !ok {
			return false
		}
		doc = sub
	}
	doc[path[len(path)-1]] = v
	return true
}
