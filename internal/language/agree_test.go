package language

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/load"
	"cuelang.org/go/encoding/yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	yamlv3 "gopkg.in/yaml.v3"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// Three validators look at an experiment: this program, cue vet with the
// published package, and a JSON Schema validator with the published document.
// What the program takes, all take. What it refuses and another lets through is
// in letThrough, with the reason that docs/cue.md gives.
func TestThreeValidatorsAgree(t *testing.T) {
	t.Parallel()
	v := newValidators(t, documents(t))
	table, used := tally{}, make([]bool, len(letThrough))
	for i := range v.docs {
		d := &v.docs[i]
		d.ours, d.vet, d.json = validate(d.file), v.vet(d), v.schema(d)
		table.add(d)
		for i, l := range letThrough {
			used[i] = used[i] || d.ours != nil && l.is(d.ours)
		}
		if strings.HasPrefix(d.kind, "cases, ") {
			d.alike(t)
			continue
		}
		if d.ours == nil {
			for by, err := range map[string]error{"cue vet": d.vet, "JSON Schema": d.json} {
				if err != nil {
					t.Errorf("%s: %s is valid, %s says: %s", d.kind, d.name, by, firstLines(err))
				}
			}
			continue
		}
		cueMay, jsMay := letThroughBy(d.ours)
		if d.vet == nil && !cueMay || d.json == nil && !jsMay {
			t.Errorf("%s: %s is let through (by cue vet: %v, by JSON Schema: %v) and refused here: %v",
				d.kind, d.name, d.vet == nil, d.json == nil, d.ours)
		}
	}
	for i, l := range letThrough {
		if !used[i] {
			t.Errorf("nothing is let through because of: %s", l.why)
		}
	}
	v.command(t)
	t.Logf("%s", table)
}

// sides say who takes a case of testdata/alike.txtar, by its folder.
var sides = map[string]struct{ ours, vet, json bool }{
	"valid":       {true, true, true},
	"refused":     {false, false, false},
	"let-through": {false, true, true},
	"json-lets":   {false, false, true},
	"taken-here":  {true, false, false},
	"vet-refuses": {true, false, true},
}

// alike holds all three to what a case says about itself.
func (d *judged) alike(t *testing.T) {
	t.Helper()
	where := strings.TrimPrefix(d.kind, "cases, ")
	want, ok := sides[where]
	if !ok {
		t.Errorf("%s: nobody knows the folder %s", d.name, where)
	}
	for _, by := range []struct {
		name string
		err  error
		want bool
	}{{"aiperf validate", d.ours, want.ours}, {"cue vet", d.vet, want.vet}, {"JSON Schema", d.json, want.json}} {
		if by.want != (by.err == nil) {
			t.Errorf("%s: %s, %s says: %v", d.kind, d.name, by.name, by.err)
		}
	}
}

// validate is aiperf validate: every cell is expanded, nothing is sent.
func validate(file string) error {
	d, err := schema.Load(schema.Source{
		File: file, Command: "validate", Tags: metrics.Tags(),
		Env: func(string) (string, bool) { return "1", true },
	})
	if err != nil {
		return err
	}
	if u := d.Unsupported(); len(u) > 0 {
		return u
	}
	plan, err := sweep.Expand(d)
	if err != nil {
		return err
	}
	return decide.CheckGates(plan, metrics.Tags())
}

// notes are what is said of a file that may run.
func notes(file string) []string {
	d, err := schema.Load(schema.Source{
		File: file, Command: "validate",
		Env: func(string) (string, bool) { return "1", true },
	})
	if err != nil {
		return nil
	}
	return d.Notes()
}

// validators look at documents in folders of their own below one module.
type validators struct {
	dir  string // with the published schema
	docs []judged
	json *jsonschema.Schema
	cue  map[string]*build.Instance // of documents in CUE, by folder

	// A context keeps all that was ever evaluated in it, which came to gigabytes:
	// after each few documents there is a fresh one.
	ctx       *cue.Context
	published *build.Instance // the schema
	def       cue.Value       // its #Experiment
	vetted    int             // documents
}

// judged is a document with what each validator says.
type judged struct {
	document
	file            string
	ours, vet, json error
}

func newValidators(t *testing.T, docs []document) *validators {
	t.Helper()
	return validatorsIn(t, vendored(t), docs)
}

// validatorsIn look at documents below dir, a module with the published schema.
func validatorsIn(t *testing.T, dir string, docs []document) *validators {
	t.Helper()
	v := &validators{dir: dir, cue: map[string]*build.Instance{}}
	packages := []string{"aiperf.dev/schema"}
	for i, d := range docs {
		dir := "./" + d.folder(i)
		file := filepath.Join(v.dir, dir, d.name)
		write(t, file, d.text)
		v.docs = append(v.docs, judged{document: d, file: file})
		if d.ext == ".cue" {
			packages = append(packages, dir)
		}
	}
	js, err := jsonschema.NewCompiler().Compile(filepath.Join(v.dir, "experiment.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	v.json = js
	for _, inst := range load.Instances(packages, &load.Config{Dir: v.dir, Env: []string{"CUE_REGISTRY=none"}}) {
		v.cue[inst.Dir] = inst
		if inst.ImportPath == "aiperf.dev/schema" {
			v.published = inst
		}
	}
	return v
}

// folder is where the document of this number lies, below the module.
func (d *document) folder(number int) string { return fmt.Sprintf("%s%03d", d.ext[1:], number) }

// vet does what cue vet -c does, within this process; command asks the command
// itself.
func (v *validators) vet(d *judged) error {
	if v.vetted%25 == 0 {
		v.ctx = cuecontext.New()
		v.def = v.ctx.BuildInstance(v.published).LookupPath(cue.ParsePath("#Experiment"))
	}
	v.vetted++
	if err := v.evaluated(d); err != nil {
		return errors.New(err.Error()) // CUE's holds on to all that was evaluated
	}
	return nil
}

// evaluated is what CUE says about it.
func (v *validators) evaluated(d *judged) error {
	if d.ext == ".cue" {
		inst := v.cue[filepath.Dir(d.file)]
		if inst == nil {
			return fmt.Errorf("%s was not loaded", d.file)
		}
		if inst.Err != nil {
			return inst.Err
		}
		return v.ctx.BuildInstance(inst).Validate(cue.Concrete(true), cue.Attributes(true), cue.Definitions(true),
			cue.Hidden(true))
	}
	f, err := yaml.Extract(d.file, d.text)
	if err != nil {
		return err
	}
	return v.def.Unify(v.ctx.BuildFile(f)).Validate(cue.Concrete(true))
}

// schema is what a JSON Schema validator says about a file of YAML, or of what cue
// export makes of one in CUE. The same must be a file that this program takes.
func (v *validators) schema(d *judged) error {
	var js []byte
	var err error
	if d.ext == ".cue" {
		if inst := v.cue[filepath.Dir(d.file)]; inst == nil || inst.Err != nil || d.vet != nil {
			return errors.New("cannot be exported")
		} else if js, err = v.ctx.BuildInstance(inst).MarshalJSON(); err != nil {
			return err
		}
		exported := d.file + ".json"
		if err := os.WriteFile(exported, js, 0o600); err != nil {
			return err
		}
		if err := validate(exported); (err == nil) != (d.ours == nil) {
			return fmt.Errorf("what cue export makes of it is judged otherwise: %w", err)
		}
		if more := len(notes(exported)) - len(notes(d.file)); more > 0 {
			return fmt.Errorf("what cue export makes of it is told more: %v", notes(exported))
		}
	} else {
		var plain any
		if err := yamlv3.Unmarshal([]byte(d.text), &plain); err != nil {
			return err
		}
		if js, err = json.Marshal(plain); err != nil {
			return err
		}
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(js))
	if err != nil {
		return err
	}
	return v.json.Validate(doc)
}

// command gives the documents to the command itself: all that are valid in two
// calls, which must be silent, and some of the others one by one.
func (v *validators) command(t *testing.T) {
	t.Helper()
	yamls, cues := []string{"vet", "-c", "-d", "#Experiment", "aiperf.dev/schema"}, []string{"vet", "-c"}
	refused := 0
	for i := range v.docs {
		d := &v.docs[i]
		rel, err := filepath.Rel(v.dir, d.file)
		if err != nil {
			t.Fatal(err)
		}
		args := append(yamls[:5:5], rel)
		if d.ext == ".cue" {
			args = append(cues[:2:2], "./"+filepath.Dir(rel))
		}
		switch {
		case d.ours == nil && d.vet != nil:
			continue // said already
		case d.ours == nil && d.ext == ".cue":
			cues = append(cues, args[2])
		case d.ours == nil:
			yamls = append(yamls, args[5])
		case strings.Contains(d.ours.Error(), "a second document"):
			continue // the command looks at each document of a file by itself
		default:
			if refused++; refused%16 != 1 {
				continue
			}
			if _, said, err := cueCommand(t, v.dir, args...); (err == nil) != (d.vet == nil) {
				t.Errorf("cue %s: %v, want %v\n%s", strings.Join(args, " "), err, d.vet, said)
			}
		}
	}
	for _, args := range [][]string{yamls, cues} {
		if out, said, err := cueCommand(t, v.dir, args...); err != nil || out+said != "" {
			t.Errorf("cue %s…: %v\n%s%s", strings.Join(args[:6], " "), err, out, firstLines(errors.New(said)))
		}
	}
	t.Logf("the command took %d files of YAML and %d packages at once", len(yamls)-5, len(cues)-2)
}

// tally counts verdicts by the kind of document.
type tally map[string]*counts

type counts struct{ taken, refused, vetTaken, vetRefused, jsonTaken, jsonRefused int }

func (c tally) add(d *judged) {
	for _, k := range []string{d.kind, "~ all"} {
		if c[k] == nil {
			c[k] = &counts{}
		}
		n := c[k]
		is := func(to *int, cond bool) {
			if cond {
				*to++
			}
		}
		is(&n.taken, d.ours == nil)
		is(&n.refused, d.ours != nil)
		is(&n.vetTaken, d.ours == nil && d.vet == nil)
		is(&n.vetRefused, d.ours != nil && d.vet != nil)
		is(&n.jsonTaken, d.ours == nil && d.json == nil)
		is(&n.jsonRefused, d.ours != nil && d.json != nil)
	}
}

func (c tally) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%-28s %7s %8s %8s %8s %8s %8s\n", "documents", "valid", "cue vet", "JSON S.", "refused",
		"cue vet", "JSON S.")
	for _, k := range slices.Sorted(maps.Keys(c)) {
		n := c[k]
		fmt.Fprintf(&b, "%-28s %7d %8d %8d %8d %8d %8d\n", k, n.taken, n.vetTaken, n.jsonTaken, n.refused, n.vetRefused,
			n.jsonRefused)
	}
	return b.String()
}

func firstLines(err error) string {
	lines := strings.Split(err.Error(), "\n")
	return strings.Join(lines[:min(len(lines), 8)], "\n    ")
}
