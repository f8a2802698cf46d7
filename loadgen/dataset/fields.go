package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// fields are the entries of one JSON object, taken by name and kind. Which ones
// were asked for is remembered, so that the rest can be reported. A null is as
// good as no entry.
type fields struct {
	text   json.RawMessage // as it was written; nil for rows of tables
	values map[string]json.RawMessage
	used   map[string]bool
}

func newFields(data []byte) (*fields, error) {
	f := &fields{used: map[string]bool{}, text: bytes.Clone(data)}
	if len(data) == 0 || data[0] != '{' {
		return nil, errors.New("not a JSON object")
	}
	if err := json.Unmarshal(f.text, &f.values); err != nil {
		return nil, fmt.Errorf("not a JSON object: %w", err)
	}
	maps.DeleteFunc(f.values, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	return f, nil
}

// fieldsOf are values that are JSON already.
func fieldsOf(values map[string]json.RawMessage) *fields {
	maps.DeleteFunc(values, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	return &fields{values: values, used: map[string]bool{}}
}

// whole is the object itself, byte for byte where it came from one.
func (f *fields) whole() json.RawMessage {
	for name := range f.values {
		f.used[name] = true
	}
	if f.text != nil {
		return f.text
	}
	b, err := json.Marshal(f.values)
	if err != nil {
		panic("dataset: fields are not JSON: " + err.Error())
	}
	return b
}

// first is the first of some names that there is.
func (f *fields) first(names []string) string {
	for _, name := range names {
		if f.has(name) {
			return name
		}
	}
	return ""
}

// raw is an entry that begins with open, kept as it was written.
func (f *fields) raw(name string, open byte, want string) (json.RawMessage, error) {
	f.used[name] = true
	v, ok := f.values[name]
	if ok && v[0] != open {
		return nil, fmt.Errorf("%s: want %s", name, want)
	}
	return v, nil
}

// strict reads an object in which unknown members are mistakes.
func strict(raw json.RawMessage, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

func (f *fields) names() []string { return slices.Sorted(maps.Keys(f.values)) }

func (f *fields) unused() []string {
	return slices.DeleteFunc(f.names(), func(name string) bool { return f.used[name] })
}

// timed tells whether the record, or its first turn, says when it was sent.
func (f *fields) timed() bool {
	for _, name := range []string{"timestamp", "Timestamp", "TIMESTAMP"} {
		if f.has(name) {
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

func (f *fields) has(name string) bool { _, ok := f.values[name]; return ok }

// decode reads an entry into v; it reports whether there is one.
func (f *fields) decode(name string, v any, want string) (bool, error) {
	f.used[name] = true
	raw, ok := f.values[name]
	if !ok {
		return false, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return false, fmt.Errorf("%s: want %s", name, want)
	}
	return true, nil
}

func (f *fields) str(name string) (s string, err error) {
	_, err = f.decode(name, &s, "a string")
	return s, err
}

// millis is a time in ms, not negative; nil if there is none.
func (f *fields) millis(name string) (*time.Duration, error) {
	var ms float64
	said, err := f.decode(name, &ms, "a number of milliseconds")
	if err != nil || !said {
		return nil, err
	}
	if ms < 0 || ms > maxMillis {
		return nil, fmt.Errorf("%s: %g ms is out of range", name, ms)
	}
	d := scale(time.Millisecond, ms)
	return &d, nil
}

// maxMillis keeps times inside a time.Duration: 292 years.
const maxMillis = 9.2e12

// scale is d times by, to the nearest ns, saturating instead of overflowing.
func scale(d time.Duration, by float64) time.Duration {
	if v := float64(d) * by; v < 1<<63-1024 {
		return time.Duration(v + 0.5)
	}
	return 1<<63 - 1
}

// count is a whole number from 1; 0 if there is none.
func (f *fields) count(name string) (int64, error) {
	var n int64
	said, err := f.decode(name, &n, "a whole number")
	if err != nil || !said {
		return 0, err
	}
	if n < 1 {
		return 0, fmt.Errorf("%s: %d is not above 0", name, n)
	}
	return n, nil
}

func (f *fields) object(name string) (m map[string]any, err error) {
	_, err = f.decode(name, &m, "an object")
	return m, err
}

// list is an array; its elements are still to be read.
func (f *fields) list(name string) (l []json.RawMessage, err error) {
	_, err = f.decode(name, &l, "a list")
	return l, err
}

// oneOf refuses two names of one thing.
func (f *fields) oneOf(a, b string) error {
	if f.has(a) && f.has(b) {
		return fmt.Errorf("%s and %s: only one of them can be given", a, b)
	}
	return nil
}
