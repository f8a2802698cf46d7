package jinja

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
)

// Values of templates are nil (None), bool, int64, float64, string, *list,
// *Dict, undefined, function, and what has members (namespace, loop, macro).

// listKind is what Python would call a list.
type listKind uint8

const (
	plainList listKind = iota
	tupleList
	viewList  // of a dict's keys, values or items: it has a length, and no elements
	lazyList  // what map, select and their like make: walked over once, true even when empty
	rangeList // of numbers
)

type list struct {
	items []any
	kind  listKind
	word  string // of a view: dict_items
	spent bool   // of a lazy one
}

// Dict is names and values in the order in which they were set.
type Dict struct {
	keys, values []any
	at           map[any]int
}

// Set gives a name a value.
func (d *Dict) Set(name string, value any) {
	if err := d.set(name, value); err != nil {
		panic(err) // a text is always a key
	}
}

// Get is the value of a name, false when there is none.
func (d *Dict) Get(name string) (any, bool) { return d.get(name) }

// Each calls f with every dict that a list holds; what is not a list holds none.
func Each(v any, f func(*Dict)) {
	l, _ := v.(*list)
	if l == nil {
		return
	}
	for _, it := range l.items {
		if d, ok := it.(*Dict); ok {
			f(d)
		}
	}
}

func (d *Dict) set(key, value any) error {
	k, ok := keyOf(key)
	if !ok {
		return fmt.Errorf("%s cannot be a key", typeName(key))
	}
	if i, ok := d.at[k]; ok {
		d.values[i] = value
		return nil
	}
	if d.at == nil {
		d.at = map[any]int{}
	}
	d.at[k] = len(d.keys)
	d.keys, d.values = append(d.keys, key), append(d.values, value)
	return nil
}

func (d *Dict) get(key any) (any, bool) {
	k, ok := keyOf(key)
	if !ok {
		return nil, false
	}
	i, ok := d.at[k]
	if !ok {
		return nil, false
	}
	return d.values[i], true
}

// keyOf is a key as it is compared: 1, 1.0 and True are one.
func keyOf(v any) (any, bool) {
	switch v := v.(type) {
	case nil:
		return struct{}{}, true
	case string:
		return v, true
	case bool, int64:
		return number(v), true
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<62 {
			return int64(v), true
		}
		return v, true
	}
	return nil, false
}

// undefined is the value of a name that there is not.
type undefined struct {
	name, text string
	strict     bool
}

// undefinedError says that something undefined was used.
type undefinedError struct{ undefined }

func (e *undefinedError) Error() string { return e.text }

func (u undefined) used() error { return &undefinedError{u} }

// hasMembers is a value with members of its own.
type hasMembers interface {
	member(name string) (any, bool)
}

// namespace is a value whose members a template may set from within a loop.
type namespace struct{ Dict }

func (n *namespace) member(name string) (any, bool) { return n.get(name) }

// import_ makes a value of what a caller gives.
func import_(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, int64, float64, string, *Dict, *list:
		return v, nil
	case int:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case json.Number:
		return numeral(string(v))
	case map[string]any:
		d := &Dict{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			got, err := import_(v[k])
			if err != nil {
				return nil, err
			}
			d.Set(k, got)
		}
		return d, nil
	}
	r := reflect.ValueOf(v)
	if r.Kind() != reflect.Slice {
		return nil, fmt.Errorf("a template cannot hold a %T", v)
	}
	l := &list{items: make([]any, 0, r.Len())}
	for i := range r.Len() {
		got, err := import_(r.Index(i).Interface())
		if err != nil {
			return nil, err
		}
		l.items = append(l.items, got)
	}
	return l, nil
}

// FromJSON reads a JSON value for use in a template. Members keep their order
// and numbers their kind, as in Python.
func FromJSON(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	v, err := fromTokens(d, 0)
	if err == nil {
		if _, err = d.Token(); err == io.EOF {
			return v, nil
		}
		err = errors.New("more than one JSON value")
	}
	return nil, err
}

// maxNested bounds how deep lists and objects go.
const maxNested = 500

func fromTokens(d *json.Decoder, deep int) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	if deep > maxNested {
		return nil, fmt.Errorf("JSON of more than %d levels", maxNested)
	}
	switch t := t.(type) {
	case json.Number:
		return numeral(string(t))
	case json.Delim:
		if t == '[' {
			l := &list{items: []any{}}
			for d.More() {
				v, err := fromTokens(d, deep+1)
				if err != nil {
					return nil, err
				}
				l.items = append(l.items, v)
			}
			_, err = d.Token()
			return l, err
		}
		o := &Dict{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := fromTokens(d, deep+1)
			if err != nil {
				return nil, err
			}
			o.Set(name.(string), v) // the decoder takes nothing else
		}
		_, err = d.Token()
		return o, err
	}
	return t, nil
}

// numeral is a number as it is written.
func numeral(s string) (any, error) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, nil
	}
	for _, c := range s {
		if c == '.' || c == 'e' || c == 'E' {
			return strconv.ParseFloat(s, 64)
		}
	}
	return nil, fmt.Errorf("the number %s has more than 64 bits", s)
}

// typeName is Python's name of a value's type.
func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return "bool"
	case int64:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case *Dict:
		return "dict"
	case *list:
		switch v.kind {
		case tupleList:
			return "tuple"
		case viewList:
			return v.word
		case lazyList:
			return "generator"
		case rangeList:
			return "range"
		}
		return "list"
	case undefined:
		return "undefined"
	case *namespace:
		return "namespace"
	case *macro:
		return "macro"
	case *loop:
		return "loop"
	case function:
		return "function"
	}
	return fmt.Sprintf("%T", v)
}

// truth is whether Python takes v for true.
func truth(v any) (bool, error) {
	switch v := v.(type) {
	case nil:
		return false, nil
	case bool:
		return v, nil
	case int64:
		return v != 0, nil
	case float64:
		return v != 0, nil
	case string:
		return v != "", nil
	case *Dict:
		return len(v.keys) > 0, nil
	case *list:
		return v.kind == lazyList || len(v.items) > 0, nil
	case undefined:
		if v.strict {
			return false, v.used()
		}
		return false, nil
	}
	return true, nil
}

// number is a bool as the number it is in Python; other values are themselves.
func number(v any) any {
	if b, ok := v.(bool); ok {
		if b {
			return int64(1)
		}
		return int64(0)
	}
	return v
}

// float is a number as a float.
func float(v any) (float64, bool) {
	switch v := number(v).(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// iterate is what a loop over v walks over.
func (s *state) iterate(v any) ([]any, error) {
	var items []any
	switch v := v.(type) {
	case *list:
		if v.kind == lazyList {
			if v.spent {
				return nil, nil
			}
			v.spent = true
		}
		items = v.items
	case *Dict:
		items = v.keys
	case string:
		for _, r := range v {
			items = append(items, string(r))
		}
	case undefined:
		if v.strict {
			return nil, v.used()
		}
	case *loop: // a loop is what is left of it
		items = v.items[v.i+1:]
	default:
		return nil, fmt.Errorf("%s cannot be walked over", typeName(v))
	}
	return items, s.step(len(items))
}

// length is Python's len.
func length(v any) (int, error) {
	switch v := v.(type) {
	case string:
		return len([]rune(v)), nil
	case *list:
		if v.kind != lazyList {
			return len(v.items), nil
		}
	case *Dict:
		return len(v.keys), nil
	case undefined:
		if v.strict {
			return 0, v.used()
		}
		return 0, nil
	}
	return 0, fmt.Errorf("%s has no length", typeName(v))
}

// index is v[key], false when there is none.
func index(v, key any) (any, bool) {
	switch v := v.(type) {
	case *Dict:
		return v.get(key)
	case hasMembers:
		if name, ok := key.(string); ok {
			return v.member(name)
		}
	case *list:
		if i, ok := number(key).(int64); ok && v.kind != viewList && v.kind != lazyList {
			if i = fromEnd(i, len(v.items)); i >= 0 && i < int64(len(v.items)) {
				return v.items[i], true
			}
		}
	case string:
		if i, ok := number(key).(int64); ok {
			r := []rune(v)
			if i = fromEnd(i, len(r)); i >= 0 && i < int64(len(r)) {
				return string(r[i]), true
			}
		}
	}
	return nil, false
}

// fromEnd is an index of which negative ones count from the end.
func fromEnd(i int64, n int) int64 {
	if i < 0 {
		return i + int64(n)
	}
	return i
}

// sliceOf is v[start:stop:step].
func sliceOf(v any, parts [3]any) (any, error) {
	var bounds [3]*int64
	for i, p := range parts {
		if p == nil {
			continue
		}
		n, ok := number(p).(int64)
		if !ok {
			return nil, fmt.Errorf("a slice needs whole numbers, not %s", typeName(p))
		}
		bounds[i] = &n
	}
	if bounds[2] != nil && *bounds[2] == 0 {
		return nil, errors.New("the step of a slice is 0")
	}
	switch v := v.(type) {
	case string:
		r := []rune(v)
		var out []rune
		for _, i := range places(bounds, len(r)) {
			out = append(out, r[i])
		}
		return string(out), nil
	case *list:
		if v.kind == viewList || v.kind == lazyList {
			break
		}
		out := &list{kind: v.kind, items: []any{}}
		for _, i := range places(bounds, len(v.items)) {
			out.items = append(out.items, v.items[i])
		}
		return out, nil
	case undefined:
		return nil, v.used()
	}
	return nil, fmt.Errorf("%s cannot be sliced", typeName(v))
}

// places are the indices that a slice of n elements takes.
func places(bounds [3]*int64, n int) (out []int) {
	step := int64(1)
	if bounds[2] != nil {
		step = *bounds[2]
	}
	low, high := int64(0), int64(n)
	if step < 0 {
		low, high = -1, int64(n)-1
	}
	clamp := func(b *int64, without int64) int64 {
		if b == nil {
			return without
		}
		return min(max(fromEnd(*b, n), low), high)
	}
	start, stop := clamp(bounds[0], low), clamp(bounds[1], high)
	if step < 0 {
		start, stop = clamp(bounds[0], high), clamp(bounds[1], low)
		for i := start; i > stop; i += step {
			out = append(out, int(i))
		}
		return out
	}
	for i := start; i < stop; i += step {
		out = append(out, int(i))
	}
	return out
}
