package schema

import "encoding/json"

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
