package jinja

import (
	"fmt"
	"strings"
	"unicode"
)

// test is what stands behind "is".
type test func(v any, c *call) (bool, error)

// tests are those of Jinja2 that ask nothing about the environment.
var tests = newTests()

func newTests() map[string]test {
	all := map[string]test{
		"defined":   func(v any, _ *call) (bool, error) { _, un := v.(undefined); return !un, nil },
		"undefined": func(v any, _ *call) (bool, error) { _, un := v.(undefined); return un, nil },
		"none":      func(v any, _ *call) (bool, error) { return v == nil, nil },
		"true":      func(v any, _ *call) (bool, error) { return v == true, nil },
		"false":     func(v any, _ *call) (bool, error) { return v == false, nil },
		"boolean":   ofType[bool],
		"string":    ofType[string],
		"integer":   ofType[int64],
		"float":     ofType[float64],
		"mapping":   ofType[*Dict],
		"number":    func(v any, _ *call) (bool, error) { _, ok := float(v); return ok, nil },
		"sequence": func(v any, _ *call) (bool, error) {
			l, ok := v.(*list)
			return ok && l.kind != viewList && l.kind != lazyList || isText(v) || isDict(v), nil
		},
		"iterable": func(v any, _ *call) (bool, error) {
			_, ok := v.(*list)
			_, un := v.(undefined)
			return ok || un || isText(v) || isDict(v), nil
		},
		"callable": func(v any, _ *call) (bool, error) {
			_, f := v.(function)
			_, c := v.(callable)
			return f || c, nil
		},
		"odd":         func(v any, _ *call) (bool, error) { return remainder(v, 2, 1) },
		"even":        func(v any, _ *call) (bool, error) { return remainder(v, 2, 0) },
		"divisibleby": divisible,
		"lower":       func(v any, _ *call) (bool, error) { return cased(v, unicode.IsLower, unicode.IsUpper) },
		"upper":       func(v any, _ *call) (bool, error) { return cased(v, unicode.IsUpper, unicode.IsLower) },
		"in":          func(v any, c *call) (bool, error) { return contains(c.arg(0, "seq", nil), v) },
		"sameas":      func(v any, c *call) (bool, error) { return same(v, c.arg(0, "other", nil)), nil },
		"filter": func(v any, c *call) (bool, error) {
			s,
				_ := v.(string)
			return c.state.dialect.filters[s] != nil, nil
		},
		"escaped": func(any, *call) (bool, error) { return false, nil },
	}
	for op, names := range map[string]string{
		"==": "eq equalto ==", "!=": "ne !=", "<": "lt lessthan <", "<=": "le <=", ">": "gt greaterthan >",
		">=": "ge >=",
	} {
		for name := range strings.FieldsSeq(names) {
			all[name] = func(v any, c *call) (bool, error) { return compare(op, v, c.arg(0, "other", nil)) }
		}
	}
	return all
}

func ofType[T any](v any, _ *call) (bool, error) { _, ok := v.(T); return ok, nil }

func isText(v any) bool { _, ok := v.(string); return ok }
func isDict(v any) bool { _, ok := v.(*Dict); return ok }

func remainder(v any, by, want int64) (bool, error) {
	got, err := operate("%", v, by)
	return err == nil && equal(got, want), err
}

func divisible(v any, c *call) (bool, error) {
	by, ok := number(c.arg(0, "num", nil)).(int64)
	if !ok {
		return false, fmt.Errorf("divisibleby: want a whole number")
	}
	return remainder(v, by, 0)
}

// cased reports whether a text has letters of one case and none of the other.
func cased(v any, is, other func(rune) bool) (bool, error) {
	s, err := str(v)
	return strings.IndexFunc(s, is) >= 0 && strings.IndexFunc(s, other) < 0, err
}

// same reports whether two values are one.
func same(a, b any) bool {
	switch a.(type) {
	case undefined, function:
		return false
	}
	switch b.(type) {
	case undefined, function:
		return false
	}
	return a == b
}
