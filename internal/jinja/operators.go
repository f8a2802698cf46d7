package jinja

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// equal is Python's ==.
func equal(a, b any) bool {
	if x, ok := float(a); ok {
		if i, whole := number(a).(int64); whole {
			if j, whole := number(b).(int64); whole {
				return i == j
			}
		}
		y, ok := float(b)
		return ok && x == y
	}
	switch a := a.(type) {
	case nil:
		return b == nil
	case string:
		t, ok := b.(string)
		return ok && a == t
	case undefined:
		_, ok := b.(undefined)
		return ok
	case *list:
		l, ok := b.(*list)
		if !ok || a.kind != l.kind || len(a.items) != len(l.items) || a.kind == lazyList {
			return ok && a == l
		}
		for i := range a.items {
			if !equal(a.items[i], l.items[i]) {
				return false
			}
		}
		return true
	case *Dict:
		d, ok := b.(*Dict)
		if !ok || len(a.keys) != len(d.keys) {
			return false
		}
		for i, k := range a.keys {
			v, ok := d.get(k)
			if !ok || !equal(a.values[i], v) {
				return false
			}
		}
		return true
	case function:
		return false
	}
	if _, ok := b.(function); ok {
		return false
	}
	return a == b
}

// compare is a op b.
func compare(op string, a, b any) (bool, error) {
	for _, v := range []any{a, b} {
		if u, ok := v.(undefined); ok && u.strict {
			return false, u.used()
		}
	}
	switch op {
	case "==":
		return equal(a, b), nil
	case "!=":
		return !equal(a, b), nil
	case "in":
		return contains(b, a)
	case "not in":
		yes, err := contains(b, a)
		return !yes, err
	}
	n, err := order(a, b)
	if err != nil {
		return false, err
	}
	switch op {
	case "<":
		return n < 0, nil
	case "<=":
		return n <= 0, nil
	case ">":
		return n > 0, nil
	}
	return n >= 0, nil
}

// order is below 0 when a comes before b, above when after it.
func order(a, b any) (int, error) {
	x, okX := float(a)
	y, okY := float(b)
	switch {
	case okX && okY:
		switch {
		case x < y:
			return -1, nil
		case x > y:
			return 1, nil
		case x == y:
			return 0, nil
		}
		return 0, errors.New("NaN has no order")
	}
	if s, ok := a.(string); ok {
		if t, ok := b.(string); ok {
			return strings.Compare(s, t), nil
		}
	}
	l, okL := a.(*list)
	m, okM := b.(*list)
	if okL && okM && l.kind == m.kind && (l.kind == plainList || l.kind == tupleList) {
		for i := range min(len(l.items), len(m.items)) {
			if !equal(l.items[i], m.items[i]) {
				return order(l.items[i], m.items[i])
			}
		}
		return len(l.items) - len(m.items), nil
	}
	for _, v := range []any{a, b} {
		if u, ok := v.(undefined); ok {
			return 0, u.used()
		}
	}
	return 0, fmt.Errorf("%s and %s have no order", typeName(a), typeName(b))
}

// contains is Python's in.
func contains(in, v any) (bool, error) {
	switch in := in.(type) {
	case string:
		s, ok := v.(string)
		if !ok {
			return false, fmt.Errorf("%s is never part of a str", typeName(v))
		}
		return strings.Contains(in, s), nil
	case *Dict:
		if _, ok := keyOf(v); !ok {
			return false, fmt.Errorf("%s cannot be a key", typeName(v))
		}
		_, ok := in.get(v)
		return ok, nil
	case *list:
		if in.kind == lazyList {
			in.spent = true
		}
		for _, it := range in.items {
			if equal(it, v) {
				return true, nil
			}
		}
		return false, nil
	case undefined:
		return false, nil
	}
	return false, fmt.Errorf("%s cannot be searched", typeName(in))
}

// operate is a op b.
func operate(op string, a, b any) (any, error) {
	for _, v := range []any{a, b} {
		if u, ok := v.(undefined); ok && (u.strict || op != "~") {
			return nil, u.used()
		}
	}
	if op == "~" {
		return concat(a, b)
	}
	if s, ok := a.(string); ok && op == "%" {
		return percent(s, b)
	}
	if v, ok, err := sequences(op, a, b); ok {
		return v, err
	}
	i, okI := number(a).(int64)
	j, okJ := number(b).(int64)
	if okI && okJ {
		return integers(op, i, j)
	}
	x, okX := float(a)
	y, okY := float(b)
	if okX && okY {
		return floats(op, x, y)
	}
	return nil, fmt.Errorf("%s %s %s is not possible", typeName(a), op, typeName(b))
}

func concat(a, b any) (any, error) {
	s, err := str(a)
	if err != nil {
		return nil, err
	}
	t, err := str(b)
	if err != nil {
		return nil, err
	}
	return joined(s, t)
}

// joined is s and t, unless that is too long.
func joined(s, t string) (any, error) {
	if len(s)+len(t) > maxOutput {
		return nil, errTooLong
	}
	return s + t, nil
}

// sequences adds and repeats texts and lists; ok when it is one of these.
func sequences(op string, a, b any) (v any, ok bool, err error) {
	if op == "*" {
		if _, number := number(a).(int64); number {
			a, b = b, a
		}
		n, number := number(b).(int64)
		if !number {
			return nil, false, nil
		}
		n = max(n, 0)
		switch a := a.(type) {
		case string:
			if n > 0 && int64(len(a)) > maxOutput/n {
				return nil, true, errTooLong
			}
			return strings.Repeat(a, int(n)), true, nil
		case *list:
			if n > 0 && int64(len(a.items)) > maxRange/n {
				return nil, true, fmt.Errorf("a list of more than %d elements", maxRange)
			}
			out := &list{kind: a.kind, items: []any{}}
			for range n {
				out.items = append(out.items, a.items...)
			}
			return out, true, nil
		}
		return nil, false, nil
	}
	if op != "+" {
		return nil, false, nil
	}
	if s, text := a.(string); text {
		if t, text := b.(string); text {
			v, err = joined(s, t)
			return v, true, err
		}
	}
	l, okL := a.(*list)
	m, okM := b.(*list)
	if okL && okM && l.kind == m.kind && (l.kind == plainList || l.kind == tupleList) {
		if len(l.items)+len(m.items) > 10*maxRange {
			return nil, true, fmt.Errorf("a list of more than %d elements", 10*maxRange)
		}
		return &list{kind: l.kind, items: append(append([]any{}, l.items...), m.items...)}, true, nil
	}
	return nil, false, nil
}

var (
	errZero     = errors.New("a division by zero")
	errTooLarge = errors.New("a number of more than 64 bits")
)

func integers(op string, i, j int64) (any, error) {
	switch op {
	case "+":
		if v := i + j; (v > i) == (j > 0) {
			return v, nil
		}
		return nil, errTooLarge
	case "-":
		if v := i - j; (v < i) == (j > 0) {
			return v, nil
		}
		return nil, errTooLarge
	case "*":
		v := i * j
		if i != 0 && (v/i != j || i == -1 && j == math.MinInt64) {
			return nil, errTooLarge
		}
		return v, nil
	case "//", "%":
		if j == 0 {
			return nil, errZero
		}
		if i == math.MinInt64 && j == -1 {
			return nil, errTooLarge
		}
		q, r := i/j, i%j
		if r != 0 && (r < 0) != (j < 0) {
			q, r = q-1, r+j
		}
		if op == "%" {
			return r, nil
		}
		return q, nil
	case "**":
		if j < 0 {
			return floats(op, float64(i), float64(j))
		}
		v := int64(1)
		for range j {
			next, err := integers("*", v, i)
			if err != nil {
				return nil, err
			}
			if v = next.(int64); v == 0 || v == 1 && i == 1 {
				break
			}
			if i == -1 {
				return 1 - 2*(j%2), nil
			}
		}
		return v, nil
	}
	return floats(op, float64(i), float64(j))
}

func floats(op string, x, y float64) (any, error) {
	switch op {
	case "+":
		return x + y, nil
	case "-":
		return x - y, nil
	case "*":
		return x * y, nil
	case "**":
		if x == 0 && y < 0 {
			return nil, errZero
		}
		v := math.Pow(x, y)
		if math.IsNaN(v) && !math.IsNaN(x) && !math.IsNaN(y) {
			return nil, errors.New("a root of a negative number")
		}
		return v, nil
	}
	if y == 0 {
		return nil, errZero
	}
	switch op {
	case "/":
		return x / y, nil
	case "//":
		return math.Floor(x / y), nil
	}
	r := math.Mod(x, y)
	if r != 0 && (r < 0) != (y < 0) {
		r += y
	}
	return r, nil
}
