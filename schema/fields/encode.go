package fields

import (
	"bytes"
	"encoding/json"
	"slices"

	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/schema/source"
)

// Encode writes JSON with the keys in schema order, free keys sorted, and
// secrets masked.
func (x Table) Encode(raw []byte, path string) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := encoder{index: x, out: &b}
	if err := e.value(v, x[path], path); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

type encoder struct {
	index Table
	out   *bytes.Buffer
}

func (e encoder) value(v any, l *Leaf, path string) error {
	switch v := v.(type) {
	case map[string]any:
		e.out.WriteByte('{')
		for i, k := range KeyOrder(v, l) {
			if i > 0 {
				e.out.WriteByte(',')
			}
			e.text(k)
			e.out.WriteByte(':')
			name, sub := e.index.child(path, l, k)
			if err := e.value(Masked(k, v[k], l, sub), sub, source.Join(path, name)); err != nil {
				return err
			}
		}
		e.out.WriteByte('}')
		return nil
	case []any:
		e.out.WriteByte('[')
		name, sub := e.index.child(path, l, "*")
		for i, it := range v {
			if i > 0 {
				e.out.WriteByte(',')
			}
			if err := e.value(Masked("", it, l, sub), sub, source.Join(path, name)); err != nil {
				return err
			}
		}
		e.out.WriteByte(']')
		return nil
	case string:
		e.text(v)
		return nil
	}
	js, err := json.Marshal(v)
	e.out.Write(js)
	return err
}

func (e encoder) text(s string) {
	enc := json.NewEncoder(e.out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string cannot fail
	e.out.Truncate(e.out.Len() - 1)
}

// KeyOrder is the schema's order, then the user's own keys sorted.
func KeyOrder(m map[string]any, l *Leaf) []string {
	keys := make([]string, 0, len(m))
	if l != nil {
		for _, k := range l.Keys {
			if _, ok := m[k]; ok {
				keys = append(keys, k)
			}
		}
	}
	if len(keys) == len(m) {
		return keys
	}
	known := len(keys)
	for k := range m {
		if l == nil || !slices.Contains(l.Keys, k) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys[known:])
	return keys
}

// Masked is v, or the mask: for a secret field, for a header or free key that
// names a credential, and in the user part and query of a URL.
func Masked(key string, v any, parent, l *Leaf) any {
	s, ok := v.(string)
	if !ok || s == "" {
		return v
	}
	if l.Has(IsSecret) || parent.Has(IsFree) && secret.Name(key) {
		return secret.Mask
	}
	return secret.URL(s)
}
