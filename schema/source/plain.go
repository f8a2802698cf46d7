package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Plain is n as Go data: nil, bool, int64, float64, string, []any,
// map[string]any.
func (n *Node) Plain() any {
	switch {
	case n == nil || n.Kind == Null:
		return nil
	case n.Kind == Object:
		m := make(map[string]any, len(n.Fields))
		for _, f := range n.Fields {
			m[f.Name] = f.Value.Plain()
		}
		return m
	case n.Kind == List:
		l := make([]any, len(n.Items))
		for i, it := range n.Items {
			l[i] = it.Plain()
		}
		return l
	}
	return n.Value
}

// FromPlain makes a tree of Go data; every node gets the one origin.
func FromPlain(v any, at Origin) *Node {
	switch v := v.(type) {
	case nil:
		return &Node{Origin: at}
	case map[string]any:
		n := ObjectNode(at)
		for _, k := range slices.Sorted(maps.Keys(v)) {
			n.Fields = append(n.Fields, Field{Name: k, Value: FromPlain(v[k], at), Origin: at})
		}
		return n
	case []any:
		n := &Node{Kind: List, Origin: at}
		for _, it := range v {
			n.Items = append(n.Items, FromPlain(it, at))
		}
		return n
	case bool, string, int64, float64:
		return LeafNode(v, at)
	case int:
		return LeafNode(int64(v), at)
	case float32:
		return LeafNode(float64(v), at)
	}
	return LeafNode(fmt.Sprint(v), at)
}

func NumberOf(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// JsonValue is JSON as plain data, whole numbers whole.
func JsonValue(s string) (any, error) {
	var v any
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if dec.More() {
		return nil, errors.New("more than one value")
	}
	return plainNumbers(v)
}

func plainNumbers(v any) (_ any, err error) {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i, nil
		}
		if !strings.ContainsAny(v.String(), ".eE") {
			return nil, errors.New("whole number " + Short(v.String()) + " is out of range")
		}
		return v.Float64()
	case map[string]any:
		for k, x := range v {
			if v[k], err = plainNumbers(x); err != nil {
				return nil, err
			}
		}
	case []any:
		for i, x := range v {
			if v[i], err = plainNumbers(x); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
