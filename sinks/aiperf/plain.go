package aiperf

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Plain is a value of an experiment. As JSON a float looks like one, 2.0, so that what
// is read back is printed as what was written.
type Plain struct{ V any }

// Plains are values as Plain.
func Plains(values []any) (out []Plain) {
	for _, v := range values {
		out = append(out, Plain{v})
	}
	return out
}

// bare are the values themselves.
func bare(values []Plain) []any {
	out := make([]any, len(values))
	for i, p := range values {
		out[i] = p.V
	}
	return out
}

// MarshalJSON writes the value.
func (p Plain) MarshalJSON() ([]byte, error) {
	switch v := p.V.(type) {
	case float64:
		return appendNumber(nil, v), nil
	case []any:
		return json.Marshal(Plains(v))
	case map[string]any:
		out := make(map[string]Plain, len(v))
		for k, x := range v {
			out[k] = Plain{x}
		}
		return json.Marshal(out)
	}
	return json.Marshal(p.V)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *Plain) UnmarshalJSON(b []byte) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return err
	}
	var err error
	p.V, err = typed(v)
	return err
}

// typed is v with the numbers in the type that they were written from.
func typed(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return v.Float64()
		}
		return v.Int64()
	case []any:
		for i := range v {
			if v[i], err = typed(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k := range v {
			if v[k], err = typed(v[k]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
