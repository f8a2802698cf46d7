package fields

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/schema/source"
)

// UnknownFields takes out every key that the schema does not have, without CUE.
func (x Table) UnknownFields(root *source.Node) diag.Errors {
	var bad diag.Errors
	x.Unknown(root, root, x[""], "", "", &bad)
	return bad
}

func (x Table) Unknown(root, n *source.Node, l *Leaf, at, path string, bad *diag.Errors) {
	if n.Kind == source.Object && l.Lower == "" && !l.Has(IsObject|IsFree) {
		return // no object may stand here: its kind is what is wrong
	}
	for _, f := range slices.Clone(n.Fields) {
		name, sub := x.child(at, l, f.Name)
		if sub == nil || name == "*" {
			n.Pop(f.Name)
			*bad = append(*bad, &diag.Error{
				Path:  cmp.Or(f.Origin.Path, source.Join(root.Written(path), f.TypedName())),
				Place: f.Origin.Where, Message: "unknown field",
				Hint: cmp.Or(gone(versions, source.Join(at, f.Name)), suggest.Hint(f.Name, x.keys(at, l)),
					named(at, l, f)), Unknown: true,
			})
			continue
		}
		x.Unknown(root, f.Value, sub, source.Join(at, name), source.Join(path, f.Name), bad)
	}
	if sub := x[source.Join(at, "*")]; sub != nil {
		for i, it := range n.Items {
			x.Unknown(root, it, sub, source.Join(at, "*"), source.Join(path, strconv.Itoa(i)), bad)
		}
	}
}

// keys are the members that an object may have; those of the body may stand beside it.
func (x Table) keys(at string, l *Leaf) []string {
	if at == "" {
		return slices.Concat(l.Keys, x["benchmark"].Keys)
	}
	return l.Keys
}

// named is what to do about an object that stands under its name where there is a
// list of objects: the name is one of its fields.
func named(at string, l *Leaf, f source.Field) string {
	if at == "benchmark" && New()[f.Name] != nil {
		return "it belongs beside benchmark, not inside it"
	}
	list, last := source.Cut(at)
	if last != "*" || f.Value.Kind != source.Object || !slices.Contains(l.Keys, "name") {
		return ""
	}
	_, list = source.Cut(list)
	return fmt.Sprintf("the name stands inside: %s: [{name: %q, …}]", list, f.Name)
}
