package source

import (
	"bytes"
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

// FromPlain makes a tree of Go data, whose nodes all get the one origin; a tree stays
// as it is.
func FromPlain(v any, at Origin) *Node {
	switch v := v.(type) {
	case *Node:
		return v
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

// Of is a copy of n of which every node comes from one place.
func (n *Node) Of(at Origin) *Node {
	c := &Node{Kind: n.Kind, Value: n.Value, Origin: at}
	for _, f := range n.Fields {
		c.Fields = append(c.Fields, Field{Name: f.Name, Typed: f.Typed, Value: f.Value.Of(at), Origin: at})
	}
	for _, it := range n.Items {
		c.Items = append(c.Items, it.Of(at))
	}
	return c
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
	n, err := JSONNode(s, Origin{})
	return n.Plain(), err
}

// JSONNode is JSON as a tree, whose nodes all come from at. Members keep their order. A
// name that is given twice is an error, and so is what is nested too deep.
func JSONNode(s string, at Origin) (*Node, error) {
	var text json.RawMessage
	dec := json.NewDecoder(strings.NewReader(s))
	if err := dec.Decode(&text); err != nil {
		return nil, err
	}
	if dec.More() {
		return nil, errors.New("more than one value")
	}
	r := jsonReader{dec: json.NewDecoder(bytes.NewReader(text)), at: at}
	r.dec.UseNumber()
	n := r.node(0)
	return n, r.err
}

// jsonReader reads JSON that is known to be some.
type jsonReader struct {
	dec *json.Decoder
	at  Origin
	err error
}

func (r *jsonReader) node(depth int) *Node {
	if depth > maxDepth {
		r.err = fmt.Errorf("nested deeper than %d levels", maxDepth)
		return &Node{Origin: r.at}
	}
	switch token, _ := r.dec.Token(); v := token.(type) {
	case nil:
		return &Node{Origin: r.at}
	case json.Number:
		return LeafNode(r.number(v), r.at)
	case json.Delim:
		n := &Node{Kind: List, Origin: r.at}
		if v == '{' {
			n.Kind = Object
		}
		for r.dec.More() {
			if r.err != nil {
				return n
			}
			if n.Kind == List {
				n.Items = append(n.Items, r.node(depth+1))
				continue
			}
			key, _ := r.dec.Token()
			if n.Get(key.(string)) != nil {
				r.err = fmt.Errorf("%s is given twice", key)
			}
			n.Put(key.(string), r.node(depth+1))
		}
		_, _ = r.dec.Token() // the end of it
		return n
	default:
		return LeafNode(v, r.at)
	}
}

func (r *jsonReader) number(v json.Number) any {
	if i, err := v.Int64(); err == nil {
		return i
	}
	f, err := v.Float64()
	switch {
	case !strings.ContainsAny(v.String(), ".eE"):
		r.err = errors.New("whole number " + Short(v.String()) + " is out of range")
	case err != nil:
		r.err = err
	}
	return f
}
