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
	values map[string]json.RawMessage
	used   map[string]bool
}

func newFields(data []byte) (*fields, error) {
	f := &fields{used: map[string]bool{}}
	if len(data) == 0 || data[0] != '{' {
		return nil, errors.New("not a JSON object")
	}
	if err := json.Unmarshal(data, &f.values); err != nil {
		return nil, fmt.Errorf("not a JSON object: %w", err)
	}
	maps.DeleteFunc(f.values, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	return f, nil
}

func (f *fields) names() []string { return slices.Sorted(maps.Keys(f.values)) }

func (f *fields) unused() []string {
	return slices.DeleteFunc(f.names(), func(name string) bool { return f.used[name] })
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
