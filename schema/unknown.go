package schema

import (
	"slices"
	"strconv"

	"aiperf.dev/aiperf/internal/suggest"
)

// unknownFields takes out every key that the schema does not have, without CUE.
func (x index) unknownFields(root *node) Errors {
	var bad Errors
	x.unknown(root, root, x[""], "", "", &bad)
	return bad
}

func (x index) unknown(root, n *node, l *leaf, at, path string, bad *Errors) {
	for _, f := range slices.Clone(n.fields) {
		name, sub := x.child(at, l, f.name)
		if sub == nil || name == "*" {
			n.take(f.name)
			*bad = append(*bad, &Error{
				Path: join(root.shown(path), f.typedName()), Place: f.origin.Where, Message: "unknown field",
				Hint: suggest.Hint(f.name, l.keys), Unknown: true,
			})
			continue
		}
		x.unknown(root, f.value, sub, join(at, name), join(path, f.name), bad)
	}
	if sub := x[join(at, "*")]; sub != nil {
		for i, it := range n.items {
			x.unknown(root, it, sub, join(at, "*"), join(path, strconv.Itoa(i)), bad)
		}
	}
}
