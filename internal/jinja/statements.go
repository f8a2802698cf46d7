package jinja

import (
	"errors"
	"fmt"

	"aiperf.dev/aiperf/internal/words"
)

// statement is a part of a template that is run.
type statement interface {
	run(s *scope) error
}

type (
	data   string
	group  []statement
	output struct {
		line  int
		value expr
	}
	do struct {
		line  int
		value expr
	}
	jump        struct{ how error }
	ifStatement struct {
		line   int
		tests  []expr
		bodies [][]statement
		other  []statement
	}
	forStatement struct {
		line        int
		names       []string
		over        expr
		test        expr // nil for none
		recursive   bool
		body, other []statement
	}
	setStatement struct { // set with a value or a body, and filter
		line    int
		names   []string
		member  string // of a namespace
		value   expr
		body    []statement
		filters []*filterNode
		print   bool // what comes out is written
	}
	withStatement struct {
		line   int
		names  []string
		values []expr
		body   []statement
	}
	macroNode struct {
		line     int
		name     string
		params   []string
		defaults []expr // nil for none
		body     []statement
	}
	callStatement struct {
		line   int
		target *callNode
		caller *macroNode
	}
)

var (
	errBreak    = errors.New("break outside of a loop")
	errContinue = errors.New("continue outside of a loop")
)

func run(list []statement, s *scope) error {
	for _, one := range list {
		if err := s.state.step(1); err != nil {
			return err
		}
		if err := one.run(s); err != nil {
			return err
		}
	}
	return nil
}

func (n data) run(s *scope) error { return s.state.write(string(n)) }

func (n group) run(s *scope) error { return run(n, s) }

func (n *output) run(s *scope) error {
	v, err := n.value.eval(s)
	if err != nil {
		return err
	}
	text, err := str(v)
	if err == nil {
		err = s.state.write(text)
	}
	return at(n.line, err)
}

func (n *do) run(s *scope) error {
	_, err := n.value.eval(s)
	return err
}

func (n jump) run(*scope) error { return n.how }

// An if has no names of its own: what it sets stays set.
func (n *ifStatement) run(s *scope) error {
	for i, test := range n.tests {
		yes, err := holds(test, s, n.line)
		if err != nil {
			return err
		}
		if yes {
			return run(n.bodies[i], s)
		}
	}
	return run(n.other, s)
}

func (n *forStatement) run(s *scope) error {
	v, err := n.over.eval(s)
	if err != nil {
		return err
	}
	return n.loop(s, v, nil)
}

// loop runs over v; up is the loop it was called from, of recursive ones.
func (n *forStatement) loop(s *scope, v any, up *loop) error {
	if err := s.state.enter(); err != nil {
		return at(n.line, err)
	}
	defer s.state.leave()
	items, err := s.state.iterate(v)
	if err == nil && n.test != nil {
		items, err = n.chosen(s, items)
	}
	if err != nil {
		return at(n.line, err)
	}
	if len(items) == 0 {
		return run(n.other, s)
	}
	l := &loop{node: n, scope: s, items: items}
	if up != nil {
		l.depth = up.depth + 1
	}
	for l.i = range items {
		round := s.inside()
		round.vars["loop"] = l
		if err := assign(round, n.names, items[l.i]); err != nil {
			return at(n.line, err)
		}
		switch err := run(n.body, round); err {
		case nil, errContinue:
		case errBreak:
			return nil
		default:
			return err
		}
	}
	return nil
}

// chosen are the items for which the loop's if holds.
func (n *forStatement) chosen(s *scope, items []any) (out []any, err error) {
	for _, it := range items {
		round := s.inside()
		if err = assign(round, n.names, it); err != nil {
			return nil, err
		}
		yes, err := holds(n.test, round, n.line)
		if err != nil {
			return nil, err
		}
		if yes {
			out = append(out, it)
		}
	}
	return out, nil
}

// assign gives v to a name, or its elements to several.
func assign(s *scope, names []string, v any) error {
	if len(names) == 1 {
		s.vars[names[0]] = v
		return nil
	}
	parts, err := s.state.iterate(v)
	if err != nil {
		return err
	}
	if len(parts) != len(names) {
		return fmt.Errorf("%s for %s", words.Count(len(parts), "value"), words.Count(len(names), "name"))
	}
	for i, name := range names {
		s.vars[name] = parts[i]
	}
	return nil
}

// loop is the variable of that name.
type loop struct {
	node  *forStatement
	scope *scope
	items []any
	i     int
	depth int
	last  []any // what changed() was told
}

func (l *loop) member(name string) (any, bool) {
	n := len(l.items)
	switch name {
	case "index":
		return int64(l.i + 1), true
	case "index0":
		return int64(l.i), true
	case "revindex":
		return int64(n - l.i), true
	case "revindex0":
		return int64(n - l.i - 1), true
	case "first":
		return l.i == 0, true
	case "last":
		return l.i == n-1, true
	case "length":
		return int64(n), true
	case "depth":
		return int64(l.depth + 1), true
	case "depth0":
		return int64(l.depth), true
	case "previtem":
		if l.i > 0 {
			return l.items[l.i-1], true
		}
		return l.scope.state.undefined("previtem", "there is no previous item"), true
	case "nextitem":
		if l.i+1 < n {
			return l.items[l.i+1], true
		}
		return l.scope.state.undefined("nextitem", "there is no next item"), true
	case "cycle":
		return function(func(c *call) (any, error) {
			if len(c.args) == 0 {
				return nil, errors.New("cycle: nothing to choose from")
			}
			return c.args[l.i%len(c.args)], nil
		}), true
	case "changed":
		return function(func(c *call) (any, error) {
			same := l.last != nil && equal(&list{items: l.last}, &list{items: c.args})
			l.last = append([]any{}, c.args...)
			return !same, nil
		}), true
	}
	return nil, false
}

// call runs a recursive loop over what is inside an item.
func (l *loop) call(c *call) (any, error) {
	if !l.node.recursive {
		return nil, errors.New("the loop is not marked recursive")
	}
	return c.state.capture(func() error { return l.node.loop(l.scope, c.arg(0, "", &list{}), l) })
}

func (n *setStatement) run(s *scope) error {
	var v any
	var err error
	if n.value != nil {
		v, err = n.value.eval(s)
	} else {
		v, err = s.state.capture(func() error { return run(n.body, s.inside()) })
	}
	for _, f := range n.filters {
		if err == nil {
			v, err = f.apply(v, s)
		}
	}
	if err != nil {
		return err
	}
	switch {
	case n.print:
		text, err := str(v)
		if err == nil {
			err = s.state.write(text)
		}
		return at(n.line, err)
	case n.member != "":
		space, ok := s.get(n.names[0]).(*namespace)
		if !ok {
			return at(n.line, fmt.Errorf("%s is not a namespace: its members cannot be set", n.names[0]))
		}
		return at(n.line, space.set(n.member, v))
	}
	return at(n.line, assign(s, n.names, v))
}

func (n *withStatement) run(s *scope) error {
	inner := s.inside()
	for i, name := range n.names {
		v, err := n.values[i].eval(s)
		if err != nil {
			return err
		}
		inner.vars[name] = v
	}
	return run(n.body, inner)
}

// macro is a macro with the names that it sees.
type macro struct {
	*macroNode
	scope *scope
}

func (n *macroNode) run(s *scope) error {
	s.vars[n.name] = &macro{n, s}
	return nil
}

func (m *macro) member(name string) (any, bool) {
	if name == "name" {
		return m.name, true
	}
	return nil, false
}

func (m *macro) call(c *call) (any, error) {
	if err := c.state.enter(); err != nil {
		return nil, err
	}
	defer c.state.leave()
	inner := m.scope.inside()
	if len(c.args) > len(m.params) {
		return nil, fmt.Errorf("macro %s takes %s, not %d", m.name, words.Count(len(m.params), "argument"), len(c.args))
	}
	known := map[string]bool{"caller": true}
	for i, name := range m.params {
		known[name] = true
		switch {
		case i < len(c.args):
			inner.vars[name] = c.args[i]
			continue
		case c.named != nil:
			if v, ok := c.named.get(name); ok {
				inner.vars[name] = v
				continue
			}
		}
		if m.defaults[i] == nil {
			inner.vars[name] = c.state.undefined(name, fmt.Sprintf("%s of macro %s is not given", name, m.name))
			continue
		}
		v, err := m.defaults[i].eval(inner)
		if err != nil {
			return nil, err
		}
		inner.vars[name] = v
	}
	if c.named != nil {
		for i, k := range c.named.keys {
			if name, _ := k.(string); !known[name] {
				return nil, fmt.Errorf("macro %s takes no argument %s", m.name, name)
			} else if name == "caller" {
				inner.vars[name] = c.named.values[i]
			}
		}
	}
	return c.state.capture(func() error { return run(m.body, inner) })
}

func (n *callStatement) run(s *scope) error {
	f, err := n.target.f.eval(s)
	if err != nil {
		return err
	}
	c, err := n.target.args.given(s)
	if err != nil {
		return at(n.line, err)
	}
	if c.named == nil {
		c.named = &Dict{}
	}
	if err := c.named.set("caller", &macro{n.caller, s}); err != nil {
		return at(n.line, err)
	}
	v, err := invoke(f, c)
	if err != nil {
		return at(n.line, err)
	}
	text, err := str(v)
	if err == nil {
		err = s.state.write(text)
	}
	return at(n.line, err)
}
