package schema

import "strings"

// WrongValue is a value that its field does not take.
type WrongValue struct {
	Path  string
	Value any
}

// Wrong has a value of the wrong kind for every field, a word that is none for
// every choice, and a key that is not there for every object.
func Wrong() (out []WrongValue) {
	for i := range leaves {
		l := &leaves[i]
		path := strings.NewReplacer("benchmark.phases.*", "benchmark.profiling", "benchmark.datasets.*", "benchmark.dataset").Replace(l.path)
		if path == "" || strings.ContainsAny(path, "*+") || l.lower != "" || l.has(isUnsupported) {
			continue
		}
		switch {
		case l.has(isObject) && !l.has(isFree):
			out = append(out, WrongValue{join(path, "no_such_key"), 1})
		case !l.has(isObject) && !l.has(isFree):
			out = append(out, WrongValue{path, map[string]any{"zzz": 1}})
		}
		if len(l.enum) > 0 && !l.has(isList) {
			out = append(out, WrongValue{path, "no such word"})
		}
		if l.has(isBool) && !l.has(isText|isObject|isList|isNumber) {
			out = append(out, WrongValue{path, 7})
		}
	}
	return out
}
