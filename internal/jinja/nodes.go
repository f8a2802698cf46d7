package jinja

import (
	"errors"
	"fmt"
	"slices"
)

// expr is something that has a value.
type expr interface {
	eval(s *scope) (any, error)
}

type (
	constant struct{ value any }
	nameNode struct {
		line int
		name string
	}
	listNode struct {
		line int
		list []expr
		kind listKind
	}
	dictNode struct {
		line         int
		keys, values []expr
	}
	choice struct {
		line          int
		test, yes, no expr // no: nil for none
	}
	logic struct {
		line        int
		and         bool
		left, right expr
	}
	negation struct {
		line int
		of   expr
	}
	comparison struct {
		line  int
		first expr
		ops   []string
		rest  []expr
	}
	binary struct {
		line        int
		op          string
		left, right expr
	}
	sign struct {
		line  int
		minus bool
		of    expr
	}
	member struct { // a.name: the method of that name first, then the member
		line int
		of   expr
		name string
	}
	item struct { // a[index]: the member first
		line      int
		of, index expr
	}
	slice struct {
		line  int
		of    expr
		parts [3]expr // start, stop, step; nil for none
	}
	callNode struct {
		line int
		f    expr
		args *arguments
	}
	filterNode struct {
		line int
		name string
		f    filter
		of   expr
		args *arguments // nil for none
	}
	testNode struct {
		line int
		name string
		not  bool
		f    test
		of   expr
		args *arguments
	}
)

// arguments are what a call is given.
type arguments struct {
	list        []expr
	names       []string
	named       []expr
	spread      expr // *list
	spreadNamed expr // **dict
}

func (n constant) eval(*scope) (any, error) { return n.value, nil }

func (n *nameNode) eval(s *scope) (any, error) {
	if err := s.state.step(1); err != nil {
		return nil, at(n.line, err)
	}
	return s.get(n.name), nil
}

func (n *listNode) eval(s *scope) (any, error) {
	l := &list{kind: n.kind, items: make([]any, 0, len(n.list))}
	for _, e := range n.list {
		v, err := e.eval(s)
		if err != nil {
			return nil, err
		}
		l.items = append(l.items, v)
	}
	return l, at(n.line, s.state.step(len(n.list)))
}

func (n *dictNode) eval(s *scope) (any, error) {
	d := &Dict{}
	for i := range n.keys {
		k, err := n.keys[i].eval(s)
		if err != nil {
			return nil, err
		}
		v, err := n.values[i].eval(s)
		if err != nil {
			return nil, err
		}
		if err := d.set(k, v); err != nil {
			return nil, at(n.line, err)
		}
	}
	return d, nil
}

func (n *choice) eval(s *scope) (any, error) {
	yes, err := holds(n.test, s, n.line)
	switch {
	case err != nil:
		return nil, err
	case yes:
		return n.yes.eval(s)
	case n.no == nil:
		return undefined{text: "the else of an if without one is not defined"}, nil
	}
	return n.no.eval(s)
}

// holds reports whether an expression is true.
func holds(e expr, s *scope, line int) (bool, error) {
	v, err := e.eval(s)
	if err != nil {
		return false, err
	}
	yes, err := truth(v)
	return yes, at(line, err)
}

func (n *logic) eval(s *scope) (any, error) {
	left, err := n.left.eval(s)
	if err != nil {
		return nil, err
	}
	yes, err := truth(left)
	if err != nil {
		return nil, at(n.line, err)
	}
	if yes != n.and {
		return left, nil
	}
	return n.right.eval(s)
}

func (n *negation) eval(s *scope) (any, error) {
	yes, err := holds(n.of, s, n.line)
	return !yes, err
}

func (n *comparison) eval(s *scope) (any, error) {
	left, err := n.first.eval(s)
	if err != nil {
		return nil, err
	}
	for i, op := range n.ops {
		right, err := n.rest[i].eval(s)
		if err != nil {
			return nil, err
		}
		yes, err := compare(op, left, right)
		if err != nil || !yes {
			return false, at(n.line, err)
		}
		left = right
	}
	return true, nil
}

func (n *binary) eval(s *scope) (any, error) {
	left, err := n.left.eval(s)
	if err != nil {
		return nil, err
	}
	right, err := n.right.eval(s)
	if err != nil {
		return nil, err
	}
	v, err := operate(n.op, left, right)
	if t, ok := v.(string); ok { // a text that doubles in a loop is work too
		err = errors.Join(err, s.state.step(len(t)>>8))
	}
	return v, at(n.line, err)
}

func (n *sign) eval(s *scope) (any, error) {
	v, err := n.of.eval(s)
	if err != nil {
		return nil, err
	}
	switch v := number(v).(type) {
	case int64:
		if n.minus {
			return -v, nil
		}
		return v, nil
	case float64:
		if n.minus {
			return -v, nil
		}
		return v, nil
	}
	return nil, at(n.line, fmt.Errorf("a sign before %s", typeName(v)))
}

func (n *member) eval(s *scope) (any, error) {
	v, err := n.of.eval(s)
	if err != nil {
		return nil, err
	}
	got, err := s.state.memberOf(v, n.name)
	if u, missing := got.(undefined); missing {
		u.text = shown(n.of, v) + " has no member " + n.name
		got = u
	}
	return got, at(n.line, err)
}

func (n *item) eval(s *scope) (any, error) {
	v, err := n.of.eval(s)
	if err != nil {
		return nil, err
	}
	index, err := n.index.eval(s)
	if err != nil {
		return nil, err
	}
	got, err := s.state.itemOf(v, index)
	return got, at(n.line, err)
}

// shown is an expression as a mistake names it: its names, or what kind of
// value it has.
func shown(e expr, v any) string {
	switch e := e.(type) {
	case *nameNode:
		return e.name
	case *member:
		if of := shown(e.of, nil); of != "None" {
			return of + "." + e.name
		}
	}
	return typeName(v)
}

// memberOf is v.name: a method, else a member of that name.
func (s *state) memberOf(v any, name string) (any, error) {
	if u, ok := v.(undefined); ok {
		return nil, u.used()
	}
	if m := method(v, name); m != nil {
		return m, nil
	}
	if got, ok := index(v, name); ok {
		return got, nil
	}
	return s.undefined("", fmt.Sprintf("%s has no member %s", typeName(v), name)), nil
}

// itemOf is v[key]: a member, else a method of that name.
func (s *state) itemOf(v, key any) (any, error) {
	if u, ok := v.(undefined); ok {
		return nil, u.used()
	}
	if u, ok := key.(undefined); ok && u.strict {
		return nil, u.used()
	}
	if got, ok := index(v, key); ok {
		return got, nil
	}
	name, ok := key.(string)
	if m := method(v, name); ok && m != nil {
		return m, nil
	}
	return s.undefined("", fmt.Sprintf("%s has no element %s", typeName(v), repr(key))), nil
}

func (n *slice) eval(s *scope) (any, error) {
	v, err := n.of.eval(s)
	if err != nil {
		return nil, err
	}
	var parts [3]any
	for i, e := range n.parts {
		if e == nil {
			continue
		}
		if parts[i], err = e.eval(s); err != nil {
			return nil, err
		}
	}
	got, err := sliceOf(v, parts)
	return got, at(n.line, err)
}

// call is what a function, a filter, a test or a method is given.
type call struct {
	*scope
	args  []any
	named *Dict    // by name, in order
	asked []string // names that were asked for
}

// function is anything that can be called.
type function func(c *call) (any, error)

// given evaluates the arguments of a call.
func (a *arguments) given(s *scope) (*call, error) {
	c := &call{scope: s}
	if a == nil {
		return c, nil
	}
	for _, e := range a.list {
		v, err := e.eval(s)
		if err != nil {
			return nil, err
		}
		c.args = append(c.args, v)
	}
	if a.spread != nil {
		v, err := a.spread.eval(s)
		if err != nil {
			return nil, err
		}
		more, err := s.state.iterate(v)
		if err != nil {
			return nil, err
		}
		c.args = append(c.args, more...)
	}
	if len(a.named) > 0 || a.spreadNamed != nil {
		c.named = &Dict{}
	}
	for i, e := range a.named {
		v, err := e.eval(s)
		if err != nil {
			return nil, err
		}
		if err := c.named.set(a.names[i], v); err != nil {
			return nil, err
		}
	}
	if a.spreadNamed != nil {
		v, err := a.spreadNamed.eval(s)
		if err != nil {
			return nil, err
		}
		d, ok := v.(*Dict)
		if !ok {
			return nil, fmt.Errorf("** needs a dict, not %s", typeName(v))
		}
		for i, k := range d.keys {
			if err := c.named.set(k, d.values[i]); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

// arg is argument i, which may be given by its name; without when it is not
// given.
func (c *call) arg(i int, name string, without any) any {
	if i < len(c.args) {
		return c.args[i]
	}
	if c.named != nil {
		c.asked = append(c.asked, name)
		if v, ok := c.named.get(name); ok {
			return v
		}
	}
	return without
}

// takesAll says that no name is wrong.
func (c *call) takesAll() *call {
	c.named = nil
	return c
}

// unasked is a mistake when a name was given that nobody asked for.
func (c *call) unasked() error {
	if c.named == nil {
		return nil
	}
	for _, k := range c.named.keys {
		if name, _ := k.(string); !slices.Contains(c.asked, name) {
			return fmt.Errorf("there is no argument %s", name)
		}
	}
	return nil
}

func (c *call) text(i int, name, without string) (string, error) {
	v := c.arg(i, name, without)
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("%s must be a text, not %s", name, typeName(v))
	}
	return s, nil
}

func (c *call) int(i int, name string, without int) (int, error) {
	v := c.arg(i, name, int64(without))
	n, ok := number(v).(int64)
	if !ok || n != int64(int(n)) {
		return 0, fmt.Errorf("%s must be a whole number, not %s", name, typeName(v))
	}
	return int(n), nil
}

func (c *call) bool(i int, name string, without bool) (bool, error) {
	return truth(c.arg(i, name, without))
}

func (n *callNode) eval(s *scope) (any, error) {
	f, err := n.f.eval(s)
	if err != nil {
		return nil, err
	}
	if u, ok := f.(undefined); ok {
		return nil, at(n.line, u.used())
	}
	c, err := n.args.given(s)
	if err != nil {
		return nil, at(n.line, err)
	}
	v, err := invoke(f, c)
	return v, at(n.line, err)
}

// invoke calls a value.
func invoke(f any, c *call) (any, error) {
	if err := c.state.step(1); err != nil {
		return nil, err
	}
	switch f := f.(type) {
	case function:
		return f(c)
	case callable:
		return f.call(c)
	}
	return nil, fmt.Errorf("%s cannot be called", typeName(f))
}

// callable is a value with members that can be called, too.
type callable interface {
	call(c *call) (any, error)
}

func (n *filterNode) eval(s *scope) (any, error) {
	v, err := n.of.eval(s)
	if err != nil {
		return nil, err
	}
	return n.apply(v, s)
}

// apply is the filter's value for v.
func (n *filterNode) apply(v any, s *scope) (any, error) {
	c, err := n.args.given(s)
	if err == nil {
		err = s.state.step(1)
	}
	if err != nil {
		return nil, at(n.line, err)
	}
	got, err := n.f(v, c)
	if err == nil {
		err = c.unasked()
	}
	if err != nil {
		var missing *undefinedError
		if !errors.As(err, &missing) {
			err = fmt.Errorf("%s: %w", n.name, err)
		}
		return nil, at(n.line, err)
	}
	return got, nil
}

func (n *testNode) eval(s *scope) (any, error) {
	v, err := n.of.eval(s)
	if err != nil {
		return nil, err
	}
	c, err := n.args.given(s)
	if err != nil {
		return nil, at(n.line, err)
	}
	yes, err := n.f(v, c)
	return yes != n.not, at(n.line, err)
}
