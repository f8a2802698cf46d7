package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"aiperf.dev/aiperf/internal/diag"
)

// Fields are the entries of one JSON object, taken by name and kind. Which ones
// were asked for is remembered, so that the rest can be reported. A null is as
// good as no entry.
type Fields struct {
	text   json.RawMessage // as it was written; nil for rows of tables
	values map[string]json.RawMessage
	used   map[string]bool
}

// New reads one JSON object.
func New(data []byte) (*Fields, error) {
	f := &Fields{used: map[string]bool{}, text: bytes.Clone(data)}
	if len(data) == 0 || data[0] != '{' {
		return nil, errors.New("not a JSON object")
	}
	if json.Valid(f.text) {
		f.values = members(f.text)
	} else if err := json.Unmarshal(f.text, &f.values); err != nil { // which says where
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, diag.Errorf("not a JSON object: %w at byte %d", err, syntax.Offset).
				Try("one record is one object in one line: is it written whole, and quoted?")
		}
		return nil, fmt.Errorf("not a JSON object: %w", err)
	}
	maps.DeleteFunc(f.values, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	return f, nil
}

// members are the entries of an object, as parts of it. text is valid JSON, so
// that there is nothing to do but to find where each value ends.
func members(text []byte) map[string]json.RawMessage {
	values := map[string]json.RawMessage{}
	for at := skip(text, 1); text[at] != '}'; {
		start := at
		at = end(text, at)
		quoted := text[start:at]
		at = skip(text, at)      // the colon
		start = skip(text, at+1) // behind it
		at = end(text, start)    // of the value
		key := string(quoted[1 : len(quoted)-1])
		if strings.Contains(key, `\`) || !utf8.ValidString(key) {
			_ = json.Unmarshal(quoted, &key)
		}
		values[key] = text[start:at:at]
		if at = skip(text, at); text[at] == ',' {
			at = skip(text, at+1)
		}
	}
	return values
}

// skip is the place of the next byte that is no white space.
func skip(text []byte, at int) int {
	for text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r' {
		at++
	}
	return at
}

// end is the place behind the value that begins at at.
func end(text []byte, at int) int {
	switch text[at] {
	case '"':
		for at++; text[at] != '"'; at++ {
			if text[at] == '\\' {
				at++
			}
		}
		return at + 1
	case '{', '[':
		for depth := 0; ; {
			switch text[at] {
			case '"':
				at = end(text, at)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return at + 1
				}
			}
			at++
		}
	}
	for at < len(text) && strings.IndexByte(" \t\r\n,]}", text[at]) < 0 {
		at++
	}
	return at
}

// Of are values that are JSON already.
func Of(values map[string]json.RawMessage) *Fields {
	maps.DeleteFunc(values, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	return &Fields{values: values, used: map[string]bool{}}
}

// Whole is the object itself, byte for byte where it came from one.
func (f *Fields) Whole() json.RawMessage {
	f.Pass()
	if f.text != nil {
		return f.text
	}
	b, err := json.Marshal(f.values)
	if err != nil {
		panic("dataset: fields are not JSON: " + err.Error())
	}
	return b
}

// First is the first of some names that there is.
func (f *Fields) First(names []string) string {
	for _, name := range names {
		if f.Has(name) {
			return name
		}
	}
	return ""
}

// Raw is an entry that begins with open, kept as it was written.
func (f *Fields) Raw(name string, open byte, want string) (json.RawMessage, error) {
	f.used[name] = true
	v, ok := f.values[name]
	if ok && v[0] != open {
		return nil, fmt.Errorf("%s: want %s", name, want)
	}
	return v, nil
}

// Strict reads an object in which unknown members are mistakes.
func Strict(raw json.RawMessage, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) && wrong.Field != "" {
		return fmt.Errorf("%s: want %s, got a %s", wrong.Field, jsonType(wrong.Type), wrong.Value)
	}
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// jsonType is a type in the words of JSON.
func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	}
	return "an object"
}

// Value is an entry as it was written; nil for none.
func (f *Fields) Value(name string) json.RawMessage { return f.values[name] }

// Set gives an entry a value of our own.
func (f *Fields) Set(name string, raw json.RawMessage) { f.values[name] = raw }

// Rename calls an entry by another name.
func (f *Fields) Rename(from, to string) {
	raw := f.values[from]
	delete(f.values, from)
	f.values[to] = raw
}

// Pass marks entries as known though nobody reads them; without names all.
func (f *Fields) Pass(names ...string) {
	if len(names) == 0 {
		names = f.Names()
	}
	for _, name := range names {
		f.used[name] = true
	}
}

// Ignored takes back that an entry was read: it is reported as unknown.
func (f *Fields) Ignored(name string) { f.used[name] = false }

// Probe is the same entries of which none has been read.
func (f *Fields) Probe() *Fields { return &Fields{values: f.values, used: map[string]bool{}} }

// Names are the names of all entries, sorted.
func (f *Fields) Names() []string { return slices.Sorted(maps.Keys(f.values)) }

// Unused are the names of entries that nobody asked for.
func (f *Fields) Unused() []string {
	var names []string
	for name := range f.values {
		if !f.used[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Known are the names that somebody asked for, whether the record has them or not, sorted.
func (f *Fields) Known() []string {
	var names []string
	for name, used := range f.used {
		if used {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Timed reports whether the record, or its first turn, says when it was sent.
func (f *Fields) Timed() bool {
	for _, name := range []string{"timestamp", "Timestamp", "TIMESTAMP"} {
		if f.Has(name) {
			return true
		}
	}
	var turns []map[string]json.RawMessage
	if json.Unmarshal(f.values["turns"], &turns) != nil || len(turns) == 0 {
		return false
	}
	_, ok := turns[0]["timestamp"]
	return ok
}

// Has reports whether there is such an entry.
func (f *Fields) Has(name string) bool { _, ok := f.values[name]; return ok }

// Decode reads an entry into v; it reports whether there is one.
func (f *Fields) Decode(name string, v any, want string) (bool, error) {
	f.used[name] = true
	raw, ok := f.values[name]
	if !ok {
		return false, nil
	}
	if err := decode(raw, v); err != nil {
		return false, fmt.Errorf("%s: want %s", name, want)
	}
	return true, nil
}

// decode reads raw, which is JSON, into v. Numbers of traces come by the
// million: they take no decoder.
func decode(raw json.RawMessage, v any) (err error) {
	switch v := v.(type) {
	case *int64:
		*v, err = strconv.ParseInt(string(raw), 10, 64)
	case *float64:
		*v, err = strconv.ParseFloat(string(raw), 64)
	case json.Unmarshaler:
		err = v.UnmarshalJSON(raw)
	default:
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		err = d.Decode(v)
	}
	return err
}

// Str is a text; "" if there is none.
func (f *Fields) Str(name string) (s string, err error) {
	_, err = f.Decode(name, &s, "a string")
	return s, err
}

// Millis is a time in ms, not negative; nil if there is none.
func (f *Fields) Millis(name string) (*time.Duration, error) {
	var ms float64
	said, err := f.Decode(name, &ms, "a number of milliseconds")
	if err != nil || !said {
		return nil, err
	}
	if ms < 0 || ms > MaxMillis {
		return nil, fmt.Errorf("%s: %g ms is out of range", name, ms)
	}
	d := Scale(time.Millisecond, ms)
	return &d, nil
}

// MaxMillis keeps times inside a time.Duration: 292 years.
const MaxMillis = 9.2e12

// Scale is d times by, to the nearest ns, saturating instead of overflowing.
func Scale(d time.Duration, by float64) time.Duration {
	if v := float64(d) * by; v < 1<<63-1024 {
		return time.Duration(v + 0.5)
	}
	return 1<<63 - 1
}

// Seconds is a time in s.
func (f *Fields) Seconds(name string) (time.Duration, bool, error) {
	var s float64
	said, err := f.Decode(name, &s, "a number of seconds")
	if err == nil && said && (s < 0 || s > MaxMillis/1000) {
		err = fmt.Errorf("%s: %g s is out of range", name, s)
	}
	return Scale(time.Second, s), said, err
}

// Count is a whole number from 1; 0 if there is none.
func (f *Fields) Count(name string) (int64, error) {
	var n int64
	said, err := f.Decode(name, &n, "a whole number")
	if err != nil || !said {
		return 0, err
	}
	if n < 1 {
		return 0, fmt.Errorf("%s: %d is not above 0", name, n)
	}
	return n, nil
}

// List is an array; its elements are still to be read.
func (f *Fields) List(name string) (l []json.RawMessage, err error) {
	_, err = f.Decode(name, &l, "a list")
	return l, err
}

// OneOf refuses two names of one thing.
func (f *Fields) OneOf(a, b string) error {
	if f.Has(a) && f.Has(b) {
		return fmt.Errorf("%s and %s: only one of them can be given", a, b)
	}
	return nil
}
