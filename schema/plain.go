package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
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

func numberOf(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// jsonValue is JSON as plain data, whole numbers whole.
func jsonValue(s string) (any, error) {
	var v any
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if dec.More() {
		return nil, errors.New("more than one value")
	}
	return settleJSON(v), nil
}

func settleJSON(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, _ := v.Float64()
		return f
	case map[string]any:
		for k, x := range v {
			v[k] = settleJSON(x)
		}
	case []any:
		for i, x := range v {
			v[i] = settleJSON(x)
		}
	}
	return v
}
