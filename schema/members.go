package schema

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// Members are plain data of the user's own that requests carry, in the user's order.
// They are shared by all requests and never changed in place.
type Members []Member

// Member is one of them. Its value is compact JSON, so that a number keeps its digits
// and its fraction.
type Member struct {
	Name  string
	Value json.RawMessage
}

// MembersOf makes members of pairs of a name and a value.
func MembersOf(pairs ...any) (m Members) {
	for i := 0; i+1 < len(pairs); i += 2 {
		text, err := json.Marshal(pairs[i+1])
		if err != nil {
			panic("not plain data: " + err.Error())
		}
		m = append(m, Member{pairs[i].(string), text})
	}
	return m
}

// UnmarshalJSON reads an object; of two members with one name the last counts, in the
// place of the first.
func (m *Members) UnmarshalJSON(b []byte) error {
	*m = nil
	if string(b) == "null" {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	if token, err := dec.Token(); err != nil || token != json.Delim('{') {
		return &json.UnmarshalTypeError{Value: "a value that is not an object"}
	}
	*m = Members{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		var text bytes.Buffer
		if err := json.Compact(&text, value); err != nil {
			return err
		}
		m.put(Member{name.(string), text.Bytes()})
	}
	return nil
}

func (m *Members) put(x Member) {
	if i := m.index(x.Name); i >= 0 {
		(*m)[i] = x
		return
	}
	*m = append(*m, x)
}

// MarshalJSON writes the object.
func (m Members) MarshalJSON() ([]byte, error) {
	if m == nil {
		return []byte("null"), nil
	}
	b := []byte{'{'}
	for i, x := range m {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := json.Marshal(x.Name)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, name...), ':'), x.Value...)
	}
	return append(b, '}'), nil
}

// String is the object as JSON.
func (m Members) String() string {
	text, _ := m.MarshalJSON() // names and JSON cannot fail
	return string(text)
}

func (m Members) index(name string) int {
	return slices.IndexFunc(m, func(x Member) bool { return x.Name == name })
}

// Has reports whether there is a member of a name.
func (m Members) Has(name string) bool { return m.index(name) >= 0 }

// Raw is the value of a member as JSON, nil without one.
func (m Members) Raw(name string) json.RawMessage {
	if i := m.index(name); i >= 0 {
		return m[i].Value
	}
	return nil
}

// Get is the value of a member as plain data, its numbers as json.Number; nil without one.
func (m Members) Get(name string) (v any) {
	if i := m.index(name); i >= 0 {
		dec := json.NewDecoder(bytes.NewReader(m[i].Value))
		dec.UseNumber()
		_ = dec.Decode(&v) // it was read as JSON
	}
	return v
}

// With is m with more laid over it: a member of the same name keeps its place.
func (m Members) With(more Members) Members {
	if len(more) == 0 {
		return m
	}
	all := slices.Clone(m)
	for _, x := range more {
		all.put(x)
	}
	return all
}

// Without is m without a member.
func (m Members) Without(name string) Members {
	return slices.DeleteFunc(slices.Clone(m), func(x Member) bool { return x.Name == name })
}

// Plain are the members as plain data.
func (m Members) Plain() map[string]any {
	if m == nil {
		return nil
	}
	out := make(map[string]any, len(m))
	for _, x := range m {
		out[x.Name] = m.Get(x.Name)
	}
	return out
}

// Headers are lines of a request's header, in the user's order.
type Headers []Header

// Header is one of them.
type Header struct{ Name, Value string }

// UnmarshalJSON reads an object of texts.
func (h *Headers) UnmarshalJSON(b []byte) error {
	var m Members
	if err := m.UnmarshalJSON(b); err != nil {
		return err
	}
	*h = make(Headers, len(m))
	for i, x := range m {
		(*h)[i].Name = x.Name
		if err := json.Unmarshal(x.Value, &(*h)[i].Value); err != nil {
			return err
		}
	}
	return nil
}

// MarshalJSON writes the object.
func (h Headers) MarshalJSON() ([]byte, error) {
	m := make(Members, len(h))
	for i, x := range h {
		text, err := json.Marshal(x.Value)
		if err != nil {
			return nil, err
		}
		m[i] = Member{x.Name, text}
	}
	return m.MarshalJSON()
}

// With is h with more laid over it: one of the same name keeps its place.
func (h Headers) With(more Headers) Headers {
	all := slices.Clone(h)
	for _, x := range more {
		if i := slices.IndexFunc(all, func(y Header) bool { return y.Name == x.Name }); i >= 0 {
			all[i] = x
		} else {
			all = append(all, x)
		}
	}
	return all
}

// Plain are the values by name.
func (h Headers) Plain() map[string]string {
	return maps.Collect(func(yield func(string, string) bool) {
		for _, x := range h {
			if !yield(x.Name, x.Value) {
				return
			}
		}
	})
}
