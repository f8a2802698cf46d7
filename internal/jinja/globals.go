package jinja

import (
	"errors"
	"fmt"
)

// globals are the functions that every template has.
var globals = map[string]any{
	"range": function(numbers),
	"dict": function(func(c *call) (any, error) {
		d := &Dict{}
		return d, c.fill(d)
	}),
	"namespace": function(func(c *call) (any, error) {
		n := &namespace{}
		return n, c.fill(&n.Dict)
	}),
	"cycler": function(func(c *call) (any, error) {
		if len(c.args) == 0 {
			return nil, errors.New("cycler: nothing to choose from")
		}
		return &cycler{items: c.args}, nil
	}),
	"joiner": function(func(c *call) (any, error) {
		by, err := c.text(0, "sep", ", ")
		used := false
		return function(func(*call) (any, error) {
			if !used {
				used = true
				return "", nil
			}
			return by, nil
		}), err
	}),
}

// fill puts a dict, or pairs, and the named arguments into d.
func (c *call) fill(d *Dict) error {
	if len(c.args) > 0 {
		if from, ok := c.args[0].(*Dict); ok {
			for i, k := range from.keys {
				if err := d.set(k, from.values[i]); err != nil {
					return err
				}
			}
		} else if err := c.fillPairs(d); err != nil {
			return err
		}
	}
	if c.named == nil {
		return nil
	}
	for i, k := range c.named.keys {
		if err := d.set(k, c.named.values[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) fillPairs(d *Dict) error {
	items, err := c.state.iterate(c.args[0])
	if err != nil {
		return err
	}
	for _, it := range items {
		pair, err := c.state.iterate(it)
		if err != nil {
			return err
		}
		if len(pair) != 2 {
			return errors.New("dict: want pairs")
		}
		if err := d.set(pair[0], pair[1]); err != nil {
			return err
		}
	}
	return nil
}

// numbers is range(stop), range(start, stop) and range(start, stop, step).
func numbers(c *call) (any, error) {
	bounds := [3]int64{0, 0, 1}
	if len(c.args) < 1 || len(c.args) > 3 {
		return nil, errors.New("range: want one to three numbers")
	}
	for i, v := range c.args {
		n, ok := number(v).(int64)
		if !ok {
			return nil, fmt.Errorf("range: want whole numbers, not %s", typeName(v))
		}
		if len(c.args) == 1 {
			i = 1
		}
		bounds[i] = n
	}
	start, stop, step := bounds[0], bounds[1], bounds[2]
	if step == 0 {
		return nil, errors.New("range: a step of 0")
	}
	out := &list{items: []any{}, kind: rangeList}
	for at := start; step > 0 && at < stop || step < 0 && at > stop; at += step {
		if len(out.items) == maxRange {
			return nil, fmt.Errorf("range: more than %d numbers", maxRange)
		}
		out.items = append(out.items, at)
	}
	return out, c.state.step(len(out.items))
}

// cycler gives its items in turn.
type cycler struct {
	items []any
	at    int
}

func (y *cycler) member(name string) (any, bool) {
	switch name {
	case "current":
		return y.items[y.at], true
	case "next":
		return function(func(*call) (any, error) {
			v := y.items[y.at]
			y.at = (y.at + 1) % len(y.items)
			return v, nil
		}), true
	case "reset":
		return function(func(*call) (any, error) { y.at = 0; return nil, nil }), true
	}
	return nil, false
}
