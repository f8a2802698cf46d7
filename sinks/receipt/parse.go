package receipt

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// quotedUnknown is unknown as JSON has it.
const quotedUnknown = `"` + unknown + `"`

// FromText reads a receipt. It takes the canonical form apart itself: a history has thousands of
// them, and reading it would else be most of what opening it takes. Any other form of JSON is
// read as UnmarshalJSON does.
func FromText(text string) (*Receipt, error) {
	if r, ok := canonical(text); ok {
		return r, nil
	}
	r := New()
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, err
	}
	return r, nil
}

// UnmarshalJSON reads a receipt. Fields that this program does not know, those of a newer
// one, are left out; what has the wrong type is refused.
func (r *Receipt) UnmarshalJSON(b []byte) error {
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(b, &doc); err != nil {
		return err
	}
	*r = *New()
	for name, raw := range doc {
		if string(raw) == quotedUnknown {
			continue
		}
		f, known := byName[name]
		var err error
		switch {
		case name == askedKey:
			var asked map[string]string
			if err = json.Unmarshal(raw, &asked); err == nil {
				for _, k := range slices.Sorted(maps.Keys(asked)) {
					r.Asked = append(r.Asked, Fact{k, asked[k]})
				}
			}
		case !known:
		case f.Kind == Numeric:
			var v float64
			if err = json.Unmarshal(raw, &v); err == nil {
				r.Number(name, v)
			}
		default:
			var v string
			if err = json.Unmarshal(raw, &v); err == nil {
				r.Text(name, v)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// canonical reads what MarshalJSON writes: one object of numbers and texts, with one of texts
// in it, without spaces. It is false for anything else, escapes and repeated names included.
func canonical(text string) (*Receipt, bool) {
	r, s := New(), scanner{text: text}
	last := ""
	ok := utf8.ValidString(text) && s.object(func(name string) bool {
		if name <= last {
			return false
		}
		last = name
		if name == askedKey {
			return s.skip(quotedUnknown) || s.object(func(name string) bool {
				v, ok := s.str()
				if n := len(r.Asked); n > 0 && r.Asked[n-1].Name >= name {
					return false
				}
				r.Asked = append(r.Asked, Fact{name, v})
				return ok
			})
		}
		if v, ok := s.str(); ok {
			f := byName[name]
			if f != nil && v != unknown {
				if f.Kind != Textual {
					return false
				}
				r.values[name] = value{math.NaN(), v}
			}
			return v != ""
		}
		v, ok := s.number()
		if f := byName[name]; ok && f != nil {
			if f.Kind != Numeric {
				return false
			}
			r.Number(name, v)
		}
		return ok
	})
	return r, ok && s.at == len(text)
}

// scanner goes through a text.
type scanner struct {
	text string
	at   int
}

// skip goes on behind what stands here, if it does.
func (s *scanner) skip(what string) bool {
	if len(s.text)-s.at < len(what) || s.text[s.at:s.at+len(what)] != what {
		return false
	}
	s.at += len(what)
	return true
}

// object goes through one that has members; member reads the value of each.
func (s *scanner) object(member func(name string) bool) bool {
	for more := s.skip("{"); more; more = s.skip(",") {
		name, ok := s.str()
		if !ok || !s.skip(":") || !member(name) {
			return false
		}
	}
	return s.skip("}")
}

// str is a text without escapes.
func (s *scanner) str() (string, bool) {
	if s.at >= len(s.text) || s.text[s.at] != '"' {
		return "", false
	}
	for i := s.at + 1; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"':
			v := s.text[s.at+1 : i]
			s.at = i + 1
			return v, true
		case c == '\\' || c < ' ':
			return "", false
		}
	}
	return "", false
}

// number is one that JSON knows.
func (s *scanner) number() (float64, bool) {
	end := s.at
	for end < len(s.text) && s.text[end] != ',' && s.text[end] != '}' {
		end++
	}
	word := s.text[s.at:end]
	if !json.Valid([]byte(word)) {
		return 0, false
	}
	v, err := strconv.ParseFloat(word, 64)
	s.at = end
	return v, err == nil
}
