package fields

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/schema/source"
)

// UnbuiltFields calls note for the topmost set fields that are not built, and
// for values that are not. A field that repeats its default asks for nothing.
func (x Table) UnbuiltFields(
	n *source.Node, l *Leaf, at, path string, note func(path, what, instead string, at source.Origin),
) {
	for _, f := range n.Fields {
		name, sub := x.child(at, l, f.Name)
		if sub == nil || f.Value.Kind == source.Null {
			continue
		}
		p := source.Join(path, f.Name)
		switch {
		case sub.Has(IsUnsupported):
			if where, asked := x.asksFor(f.Value, sub, source.Join(at, name)); asked {
				note(p, "", sub.Instead, where)
			}
		case sub.UnbuiltWord(f.Value) && (f.Value.Origin.Source != source.ByDefault || !RepeatsDefault(sub, f.Value)):
			what := f.Value.String() + ": "
			if f.Value.Value == true {
				what = "" // being on is all there is to it
			}
			note(p, what, Instead(sub.Path, fmt.Sprint(f.Value.Value)), f.Value.Origin)
		default:
			x.UnbuiltFields(f.Value, sub, source.Join(at, name), p, note)
		}
	}
	if sub := x[source.Join(at, "*")]; sub != nil {
		for i, it := range n.Items {
			x.UnbuiltFields(it, sub, source.Join(at, "*"), source.Join(path, fmt.Sprint(i)), note)
		}
	}
}

// asksFor reports whether something below n differs from its default, and where.
func (x Table) asksFor(n *source.Node, l *Leaf, at string) (source.Origin, bool) {
	if n.Origin.Source == source.ByDefault && n.Kind != source.Object {
		return source.Origin{}, false
	}
	if n.Kind != source.Object {
		return n.Origin, n.Kind != source.Null && !RepeatsDefault(l, n)
	}
	for _, f := range n.Fields {
		name, sub := x.child(at, l, f.Name)
		if where, asked := x.asksFor(f.Value, sub, source.Join(at, name)); asked {
			return where, true
		}
	}
	return n.Origin, len(n.Fields) == 0 && !l.Has(IsFree) && n.Origin.Source != source.ByDefault
}

// UnbuiltWord reports whether n is one of the values that are not built yet.
func (l *Leaf) UnbuiltWord(n *source.Node) bool {
	if l == nil || n.Kind != source.Scalar {
		return false
	}
	word := suggest.Fold(fmt.Sprint(n.Value))
	return slices.ContainsFunc(l.Unbuilt, func(w string) bool { return suggest.Fold(w) == word })
}

func RepeatsDefault(l *Leaf, n *source.Node) bool {
	if l == nil || l.Def == "" {
		return n.Value == false
	}
	js, err := json.Marshal(n.Plain())
	if err != nil {
		return false
	}
	var a, b any
	return json.Unmarshal(js, &a) == nil && json.Unmarshal([]byte(l.Def), &b) == nil &&
		(reflect.DeepEqual(a, b) || suggest.Fold(fmt.Sprint(a)) == suggest.Fold(fmt.Sprint(b)))
}
