package aiperf

import (
	"bytes"
	"encoding/json"
	"strings"

	"aiperf.dev/aiperf/internal/pyrepr"
)

// JSON as AIPerf's readers know it: keys in a given order, floats that look
// like floats (12.0), no escaped HTML, absent instead of null.

// object is a JSON object whose members keep their order.
type object []member

type member struct {
	key   string
	value any
}

// with appends a member.
func (o object) with(key string, value any) object { return append(o, member{key, value}) }

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) { return o.append(nil) }

func (o object) append(b []byte) ([]byte, error) {
	b = append(b, '{')
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, m.key), ':')
		var err error
		if b, err = appendJSON(b, m.value); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// number is a float in the spelling of Python's repr.
type number float64

// MarshalJSON never gets NaN or Inf: callers leave those out or say null.
func (n number) MarshalJSON() ([]byte, error) { return appendNumber(nil, float64(n)), nil }

func appendJSON(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case object: // the encoder would look through it once more for each of its levels
		return v.append(b)
	case number:
		return appendNumber(b, float64(v)), nil
	case string:
		return appendString(b, v), nil
	}
	return encode(b, v)
}

func encode(b []byte, v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return append(b, bytes.TrimSuffix(buf.Bytes(), []byte{'\n'})...), nil
}

// indented is v with two spaces per level and no newline at the end.
func indented(v any) ([]byte, error) { return indentedAt(v, "") }

// indentedAt is indented for a value that stands at some depth already.
func indentedAt(v any, prefix string) ([]byte, error) {
	b, err := appendJSON(nil, v)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = json.Indent(&out, b, prefix, "  ")
	return out.Bytes(), err
}

// python is v as Python prints it, for the cells of AIPerf's CSV files.
func python(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case string:
		return pyrepr.Quote(v)
	case float64:
		return string(appendNumber(nil, v))
	case []string:
		parts := make([]string, len(v))
		for i, s := range v {
			parts[i] = python(s)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case object:
		parts := make([]string, len(v))
		for i, m := range v {
			parts[i] = python(m.key) + ": " + python(m.value)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	b, err := appendJSON(nil, v)
	if err != nil {
		return ""
	}
	return string(b)
}

// appendNumber appends f as Python's repr spells it; null when it is not a number.
func appendNumber(b []byte, f float64) []byte {
	if !isFinite(f) {
		return append(b, "null"...)
	}
	return pyrepr.AppendFloat(b, f)
}
