package schema

import (
	"encoding/json"
	"slices"
)

// fillConditional fills the defaults that @default declares: those of fields
// that may be left out, and that hold for some types of the object only
// (entries is 100 for synthetic data; a file says itself how many it has). The
// defaults of all other fields come from CUE. It runs on normalized trees.
func (x index) fillConditional(n *node, l *leaf, at string) {
	if n == nil || l == nil {
		return
	}
	for _, it := range n.items {
		name, sub := x.child(at, l, "*")
		x.fillConditional(it, sub, join(at, name))
	}
	if n.kind != object {
		return
	}
	kind := n.typeWord()
	for _, key := range l.keys {
		sub := x[join(at, key)]
		if m := n.get(key); sub.has(isFilled) && (m == nil || m.kind == null) && sub.holdsFor(n, kind) {
			n.put(key, sub.filled(kind))
		}
	}
	for _, f := range n.fields {
		if name, sub := x.child(at, l, f.name); sub != nil {
			x.fillConditional(f.value, sub, join(at, name))
		}
	}
}

// holdsFor tells whether the default holds in an object of this type.
func (l *leaf) holdsFor(n *node, kind string) bool {
	for _, sibling := range l.unless {
		if n.get(sibling) != nil {
			return false
		}
	}
	return len(l.when) == 0 || slices.Contains(l.when, kind)
}

// filled is the default as a node; a number for a distribution is its value.
func (l *leaf) filled(kind string) *node {
	why := "default"
	if len(l.when) > 0 {
		why = "default: type " + kind
	}
	var v any
	if err := json.Unmarshal([]byte(l.def), &v); err != nil {
		panic("the default of " + l.path + " is not JSON: " + l.def) // generated: cannot happen
	}
	n := fromPlain(v, Origin{Source: "default", Where: why})
	if l.has(isShape) && n.kind == scalar {
		return wrap("value", n)
	}
	return n
}
