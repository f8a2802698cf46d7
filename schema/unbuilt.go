package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"aiperf.dev/aiperf/internal/suggest"
)

// unbuiltFields calls note for the topmost set fields that are not built, and
// for values that are not. A field that repeats its default asks for nothing.
func (x index) unbuiltFields(n *node, l *leaf, at, path string, note func(path, what, instead string, at Origin)) {
	for _, f := range n.fields {
		name, sub := x.child(at, l, f.name)
		if sub == nil || f.value.kind == null {
			continue
		}
		p := join(path, f.name)
		switch {
		case sub.has(isUnsupported):
			if where, asked := x.asksFor(f.value, sub, join(at, name)); asked {
				note(p, "", "leave it out", where)
			}
		case sub.unbuiltWord(f.value) && (f.value.origin.Source != "default" || !repeatsDefault(sub, f.value)):
			what := f.value.String() + ": "
			if f.value.value == true {
				what = "" // being on is all there is to it
			}
			note(p, what, instead(sub.path, fmt.Sprint(f.value.value)), f.value.origin)
		default:
			x.unbuiltFields(f.value, sub, join(at, name), p, note)
		}
	}
	if sub := x[join(at, "*")]; sub != nil {
		for i, it := range n.items {
			x.unbuiltFields(it, sub, join(at, "*"), join(path, fmt.Sprint(i)), note)
		}
	}
}

// asksFor tells whether something below n differs from its default, and where.
func (x index) asksFor(n *node, l *leaf, at string) (Origin, bool) {
	if n.origin.Source == "default" && n.kind != object {
		return Origin{}, false
	}
	if n.kind != object {
		return n.origin, n.kind != null && !repeatsDefault(l, n)
	}
	for _, f := range n.fields {
		name, sub := x.child(at, l, f.name)
		if where, asked := x.asksFor(f.value, sub, join(at, name)); asked {
			return where, true
		}
	}
	return n.origin, len(n.fields) == 0 && !l.has(isFree) && n.origin.Source != "default"
}

// unbuiltWord tells whether n is one of the values that are not built yet.
func (l *leaf) unbuiltWord(n *node) bool {
	if l == nil || n.kind != scalar {
		return false
	}
	word := suggest.Fold(fmt.Sprint(n.value))
	return slices.ContainsFunc(l.unbuilt, func(w string) bool { return suggest.Fold(w) == word })
}

func repeatsDefault(l *leaf, n *node) bool {
	if l == nil || l.def == "" {
		return n.value == false
	}
	js, err := json.Marshal(n.plain())
	if err != nil {
		return false
	}
	var a, b any
	return json.Unmarshal(js, &a) == nil && json.Unmarshal([]byte(l.def), &b) == nil &&
		(reflect.DeepEqual(a, b) || suggest.Fold(fmt.Sprint(a)) == suggest.Fold(fmt.Sprint(b)))
}
