package schema

import (
	"strings"

	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/source"
)

// WrongValue is a value that its field does not take.
type WrongValue struct {
	Path  string
	Value any
}

// Wrong has a value of the wrong kind for every field, a word that is none for
// every choice, and a key that is not there for every object.
func Wrong() (out []WrongValue) {
	for i := range fields.Leaves() {
		l := &fields.Leaves()[i]
		path := strings.NewReplacer("benchmark.phases.*", "benchmark.profiling",
			"benchmark.datasets.*", "benchmark.dataset").Replace(l.Path)
		if path == "" || strings.ContainsAny(path, "*+") || l.Lower != "" || l.Has(fields.IsUnsupported) {
			continue
		}
		switch {
		case l.Has(fields.IsObject) && !l.Has(fields.IsFree):
			out = append(out, WrongValue{source.Join(path, "no_such_key"), 1})
		case !l.Has(fields.IsObject) && !l.Has(fields.IsFree):
			out = append(out, WrongValue{path, map[string]any{"zzz": 1}})
		}
		if len(l.Enum) > 0 && !l.Has(fields.IsList) {
			out = append(out, WrongValue{path, "no such word"})
		}
		if l.Has(fields.IsBool) && !l.Has(fields.IsText|fields.IsObject|fields.IsList|fields.IsNumber) {
			out = append(out, WrongValue{path, 7})
		}
	}
	return out
}

// Effect is a setting with the name of what it needs to have an effect, "" for
// nothing.
type Effect struct{ Path, Need string }

// Effects is the table of effects, setting by setting.
func Effects() (out []Effect) {
	for _, e := range effects {
		for name := range strings.FieldsSeq(e.settings) {
			row := Effect{Path: source.Join(e.in, name)}
			if e.needs != nil {
				row.Need = e.needs.name
			}
			out = append(out, row)
		}
	}
	return out
}
