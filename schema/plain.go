package schema

import (
	"fmt"
	"maps"
	"slices"
)

// plain is n as Go data: nil, bool, int64, float64, string, []any,
// map[string]any.
func (n *node) plain() any {
	switch {
	case n == nil || n.kind == null:
		return nil
	case n.kind == object:
		m := make(map[string]any, len(n.fields))
		for _, f := range n.fields {
			m[f.name] = f.value.plain()
		}
		return m
	case n.kind == list:
		l := make([]any, len(n.items))
		for i, it := range n.items {
			l[i] = it.plain()
		}
		return l
	}
	return n.value
}

// fromPlain makes a tree of Go data; every node gets the one origin.
func fromPlain(v any, at Origin) *node {
	switch v := v.(type) {
	case nil:
		return &node{origin: at}
	case map[string]any:
		n := objectNode(at)
		for _, k := range slices.Sorted(maps.Keys(v)) {
			n.fields = append(n.fields, field{name: k, value: fromPlain(v[k], at), origin: at})
		}
		return n
	case []any:
		n := &node{kind: list, origin: at}
		for _, it := range v {
			n.items = append(n.items, fromPlain(it, at))
		}
		return n
	case bool, string, int64, float64:
		return leafNode(v, at)
	case int:
		return leafNode(int64(v), at)
	case float32:
		return leafNode(float64(v), at)
	}
	return leafNode(fmt.Sprint(v), at)
}
