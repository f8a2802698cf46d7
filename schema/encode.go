package schema

import (
	"bytes"
	"encoding/json"
	"slices"

	"aiperf.dev/aiperf/internal/secret"
)

// encode writes JSON with the keys in schema order, free keys sorted, and
// secrets masked.
func (x index) encode(raw []byte, path string) ([]byte, error) {
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
	index index
	out   *bytes.Buffer
}

func (e encoder) value(v any, l *leaf, path string) error {
	switch v := v.(type) {
	case map[string]any:
		e.out.WriteByte('{')
		for i, k := range keyOrder(v, l) {
			if i > 0 {
				e.out.WriteByte(',')
			}
			e.text(k)
			e.out.WriteByte(':')
			name, sub := e.index.child(path, l, k)
			if err := e.value(masked(k, v[k], l, sub), sub, join(path, name)); err != nil {
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
			if err := e.value(masked("", it, l, sub), sub, join(path, name)); err != nil {
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

// keyOrder is the schema's order, then the user's own keys sorted.
func keyOrder(m map[string]any, l *leaf) []string {
	keys := make([]string, 0, len(m))
	if l != nil {
		for _, k := range l.keys {
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
		if l == nil || !slices.Contains(l.keys, k) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys[known:])
	return keys
}

// masked is v, or the mask: for a secret field, for a header or free key that
// names a credential, and in the user part and query of a URL.
func masked(key string, v any, parent, l *leaf) any {
	s, ok := v.(string)
	if !ok || s == "" {
		return v
	}
	if l.has(isSecret) || parent.has(isFree) && secret.Name(key) {
		return secret.Mask
	}
	return secret.URL(s)
}
