package fields

import (
	"encoding/json"
	"slices"

	"aiperf.dev/aiperf/schema/source"
)

// FillConditional fills the defaults that @default declares: those of fields
// that may be left out, and that hold for some types of the object only
// (entries is 100 for synthetic data; a file says itself how many it has). The
// defaults of all other fields come from CUE. It runs on normalized trees.
func (x Table) FillConditional(n *source.Node, l *Leaf, at string) {
	if n == nil || l == nil {
		return
	}
	for _, it := range n.Items {
		name, sub := x.child(at, l, "*")
		x.FillConditional(it, sub, source.Join(at, name))
	}
	if n.Kind != source.Object {
		return
	}
	kind := n.TypeWord()
	for _, key := range l.Keys {
		sub := x[source.Join(at, key)]
		if m := n.Get(key); sub.Has(IsFilled) && (m == nil || m.Kind == source.Null) && sub.holdsFor(n, kind) {
			n.Put(key, sub.Filled(kind))
		}
	}
	for _, f := range n.Fields {
		if name, sub := x.child(at, l, f.Name); sub != nil {
			x.FillConditional(f.Value, sub, source.Join(at, name))
		}
	}
}

// holdsFor reports whether the default holds in an object of this type.
func (l *Leaf) holdsFor(n *source.Node, kind string) bool {
	for _, sibling := range l.Unless {
		if n.Get(sibling) != nil {
			return false
		}
	}
	return len(l.When) == 0 || slices.Contains(l.When, kind)
}

// Filled is the default as a node; a number for a distribution is its value.
func (l *Leaf) Filled(kind string) *source.Node {
	at := source.Usually()
	if len(l.When) > 0 {
		at = source.Because(source.OfType, "type "+kind)
	}
	var v any
	if err := json.Unmarshal([]byte(l.Def), &v); err != nil {
		panic("the default of " + l.Path + " is not JSON: " + l.Def) // generated: cannot happen
	}
	n := source.FromPlain(v, at)
	if l.Has(IsShape) && n.Kind == source.Scalar {
		return source.Wrap("value", n)
	}
	return n
}
