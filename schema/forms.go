package schema

import (
	"bytes"
	"encoding/json"
	"strings"

	"aiperf.dev/aiperf/schema/source"
)

// Members are plain data of the user's own, sent as they are: a whole number
// that a float64 does not hold is a json.Number.
type Members map[string]any

// UnmarshalJSON reads an object.
func (m *Members) UnmarshalJSON(b []byte) error { return digits(b, (*map[string]any)(m)) }

// Values are a list of the same kind.
type Values []any

// UnmarshalJSON reads a list.
func (v *Values) UnmarshalJSON(b []byte) error { return digits(b, (*[]any)(v)) }

// digits decodes plain data without losing any.
func digits[T map[string]any | []any](b []byte, into *T) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		return err
	}
	floats(*into)
	return nil
}

// floats makes float64 of the numbers that are one.
func floats(v any) any {
	switch v := v.(type) {
	case json.Number:
		i, err := v.Int64()
		whole := !strings.ContainsAny(v.String(), ".eE")
		if whole && (err != nil || i > source.MaxWhole || i < -source.MaxWhole) {
			return v
		}
		f, err := v.Float64()
		if err != nil {
			return v
		}
		return f
	case map[string]any:
		for k, e := range v {
			v[k] = floats(e)
		}
	case []any:
		for i, e := range v {
			v[i] = floats(e)
		}
	}
	return v
}

// Exports are the formats a kind of file is written in; none: not written.
// In the tree, false is none.
type Exports []string

// UnmarshalJSON reads a list, one word, or false.
func (e *Exports) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '[':
		return json.Unmarshal(b, (*[]string)(e))
	case '"':
		*e = make(Exports, 1)
		return json.Unmarshal(b, &(*e)[0])
	}
	*e = nil
	return nil
}

// RateSeries is a piecewise linear rate; the tree wraps its knots in points.
type RateSeries []RatePoint

// UnmarshalJSON reads {"points": […]} or the list alone.
func (s *RateSeries) UnmarshalJSON(b []byte) error {
	if b[0] == '[' {
		return json.Unmarshal(b, (*[]RatePoint)(s))
	}
	var wrapped struct {
		Points []RatePoint `json:"points"`
	}
	err := json.Unmarshal(b, &wrapped)
	*s = wrapped.Points
	return err
}

// MarshalJSON writes the form of the tree.
func (s RateSeries) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"points": []RatePoint(s)})
}

// UnmarshalJSON reads a distribution; a peak of one has its own distribution
// in a member of that name, beside its weight.
func (s *Shape) UnmarshalJSON(b []byte) error {
	type plain Shape // without this method
	var in struct {
		plain
		Distribution *Shape `json:"distribution"`
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*s = Shape(in.plain)
	if in.Distribution != nil {
		weight := s.Weight
		*s = *in.Distribution
		s.Weight = weight
	}
	return nil
}
