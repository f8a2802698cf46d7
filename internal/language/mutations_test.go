package language

import (
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"
	"testing"

	"cuelang.org/go/cue/format"

	"aiperf.dev/aiperf/internal/race"
	"aiperf.dev/aiperf/schema/fields"
)

// Of the mutations one in this many is judged; with 1 all of them are, in some
// minutes: go test ./internal/language -run TestMutations -one-in 1
var oneIn = flag.Uint("one-in", 12, "judge one mutation in `N`")

// Every field there is takes a wrong value in turn, in the body and on an axis,
// in YAML and in CUE: the three validators say the same of it, but for what
// docs/cue.md lists.
func TestMutations(t *testing.T) {
	t.Parallel()
	var docs []document
	in, enough := *oneIn, 100
	if race.Enabled { // which costs seven times as much, and asks something else
		in, enough = 4*in, enough/4
	}
	for _, d := range mutations() {
		h := fnv.New32a()
		h.Write([]byte(d.name))
		if uint(h.Sum32())%in == 0 {
			docs = append(docs, d)
		}
	}
	v := newValidators(t, docs)
	refused := 0
	for i := range v.docs {
		d := &v.docs[i]
		d.ours, d.vet, d.json = validate(d.file), v.vet(d), v.schema(d)
		if d.ours != nil {
			refused++
		}
		if bad := d.disagree(); bad != "" {
			t.Errorf("%s\n    %s", bad, d.text)
		}
	}
	t.Logf("%d files with one mutation, %d of them refused", len(docs), refused)
	if len(docs) < enough || refused < len(docs)/2 {
		t.Errorf("%d mutations, of which %d are mistakes, show little", len(docs), refused)
	}
}

// nullSaid is what says nothing here and is a value for cue vet.
var nullSaid = regexp.MustCompile(`^base \S+ null`)

// kindOnAxis is the refusal of a value of another kind than its field takes, not
// of a member of it.
var kindOnAxis = regexp.MustCompile(`: expected a value|[^0-9z]: expected (a number|true or false|text|a list|an object), got`)

// disagree says how the verdicts on d differ where no reason is known, "" where
// they do not.
func (d *judged) disagree() string {
	words := func(err error) string {
		if err == nil {
			return "takes it"
		}
		return strings.Split(err.Error(), "\n")[0]
	}
	all := fmt.Sprintf("%s\n    aiperf: %s\n    cue vet: %s\n    JSON Schema: %s", d.name, words(d.ours), words(d.vet),
		words(d.json))
	unexported := d.ext == ".cue" && d.vet != nil // JSON Schema has nothing to look at
	if d.ours == nil {
		if d.json != nil && !unexported || d.vet != nil && !nullSaid.MatchString(d.name) {
			return all
		}
		return ""
	}
	cueMay, jsMay := letThroughBy(d.ours)
	if strings.HasPrefix(d.name, "axis") && !kindOnAxis.MatchString(d.ours.Error()) {
		return "" // what a sweep lays over the body is looked at in the cells
	}
	if d.vet == nil && !cueMay || d.json == nil && !jsMay {
		return all
	}
	return ""
}

// mutated is what an experiment looks like that has nothing wrong.
const mutated = `{"benchmark": {"model": "demo", "endpoint": {"url": "mock:"}, "dataset": {"isl": 8, "entries": 2}, "profiling": {"requests": 2}}}`

// mutations are experiments in which one field has a value of each of the kinds
// that are likely to be wrong; most are in YAML, one in six in CUE.
func mutations() (out []document) {
	index := fields.New()
	add := func(where, path, value string, doc any) {
		text, err := json.Marshal(doc)
		if err != nil {
			panic(err) // made of JSON
		}
		d := document{"mutations", where + " " + path + " " + value, ".yaml", string(text)}
		if len(out)%6 == 0 {
			asCUE, err := format.Source([]byte("package p\n\nimport \"aiperf.dev/schema\"\n\nschema.#Experiment & " +
				string(text) + "\n"))
			if err != nil {
				panic(err) // JSON is CUE
			}
			d.ext, d.text = ".cue", string(asCUE)
		}
		d.name += d.ext
		out = append(out, d)
	}
	for _, l := range fields.Leaves() {
		if l.Path == "" || strings.Contains(l.Path, "peaks") || shapeAbove(index, l.Path) &&
			!strings.HasPrefix(l.Path, "benchmark.datasets.*.prompts.isl") {
			continue // one distribution stands for all
		}
		path := strings.NewReplacer("benchmark.datasets.*", "benchmark.dataset",
			"benchmark.phases.*", "benchmark.profiling").Replace(l.Path)
		for _, value := range []string{`null`, `true`, `"x"`, `[]`, `{}`, `[null]`, `-1`, `1.5`, `{"zzz":1}`} {
			doc := copyOf(mutated)
			put(doc, strings.Split(path, "."), json.RawMessage(value))
			add("base", path, value, doc)
			if !fields.Sweepable(l.Path) || strings.ContainsAny(path, "*+") {
				continue
			}
			doc = copyOf(mutated)
			doc["sweep"] = map[string]any{"parameters": map[string]any{strings.TrimPrefix(path,
				"benchmark."): []any{json.RawMessage(value)}}}
			add("axis", path, value, doc)
		}
	}
	return out
}

func copyOf(text string) (doc map[string]any) {
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		panic(err) // above
	}
	return doc
}

// shapeAbove reports whether path is a field of a distribution.
func shapeAbove(index fields.Table, path string) bool {
	for {
		i := strings.LastIndex(path, ".")
		if i < 0 {
			return false
		}
		if path = path[:i]; index[path].Has(fields.IsShape) {
			return true
		}
	}
}

// put sets the value at a path in which * is the one member of a list and + any
// key; what is on the way is made.
func put(at map[string]any, path []string, v any) {
	name := strings.Replace(path[0], "+", "k", 1)
	switch {
	case len(path) == 1:
		at[name] = v
	case path[1] == "*" && len(path) == 2:
		at[name] = []any{v}
	default:
		next, ok := at[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			at[name] = next
		}
		if path = path[1:]; path[0] == "*" {
			at[name], path = []any{next}, path[1:]
		}
		put(next, path, v)
	}
}
