package jinja

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Filters over lists and dicts.

// path reads a member of an item by a name with dots, or a number. What is
// missing on the way is without, unless that is nil.
func (c *call) path(v, attribute, without any) (any, error) {
	if n, ok := number(attribute).(int64); ok {
		return c.state.itemOf(v, n)
	}
	name, ok := attribute.(string)
	if !ok {
		return nil, fmt.Errorf("attribute must be a name, not %s", typeName(attribute))
	}
	var err error
	for part := range strings.SplitSeq(name, ".") {
		var key any = part
		if n, bad := strconv.ParseInt(part, 10, 64); bad == nil {
			key = n
		}
		if v, err = c.state.itemOf(v, key); err != nil {
			return nil, err
		}
		if _, missing := v.(undefined); missing && without != nil {
			v = without
		}
	}
	return v, nil
}

// keyed makes the function that items are ordered and told apart by: a member
// of theirs where one is named, without regard to case unless asked.
func (c *call) keyed(attribute any, exact bool) func(v any) (any, error) {
	return func(v any) (any, error) {
		if attribute != nil {
			var err error
			if v, err = c.path(v, attribute, nil); err != nil {
				return nil, err
			}
		}
		if s, ok := v.(string); ok && !exact {
			return strings.ToLower(s), nil
		}
		return v, nil
	}
}

func first(v any, c *call) (any, error) {
	items, err := c.state.iterate(v)
	if err == nil && len(items) == 0 {
		return c.state.undefined("", "the first element of nothing"), nil
	}
	if err != nil {
		return nil, err
	}
	return items[0], nil
}

func last(v any, c *call) (any, error) {
	items, err := c.state.iterate(v)
	if err == nil && len(items) == 0 {
		return c.state.undefined("", "the last element of nothing"), nil
	}
	if err != nil {
		return nil, err
	}
	return items[len(items)-1], nil
}

func toList(v any, c *call) (any, error) {
	items, err := c.state.iterate(v)
	return &list{items: append([]any{}, items...)}, err
}

func itemsOf(v any, c *call) (any, error) {
	if _, ok := v.(undefined); ok {
		return &list{kind: lazyList}, nil
	}
	d, ok := v.(*Dict)
	if !ok {
		return nil, errors.New("only a dict has items")
	}
	return &list{items: d.pairs(), kind: lazyList}, c.state.step(len(d.keys))
}

// pairs are a dict's keys with their values.
func (d *Dict) pairs() []any {
	out := make([]any, len(d.keys))
	for i := range out {
		out[i] = &list{items: []any{d.keys[i], d.values[i]}, kind: tupleList}
	}
	return out
}

func join(v any, c *call) (any, error) {
	items, err := c.state.iterate(v)
	if err != nil {
		return nil, err
	}
	by, err := str(c.arg(0, "d", ""))
	if err != nil {
		return nil, err
	}
	key := c.keyed(c.arg(1, "attribute", nil), true)
	parts := make([]string, len(items))
	total := 0
	for i, it := range items {
		if it, err = key(it); err == nil {
			parts[i], err = str(it)
		}
		if err != nil {
			return nil, err
		}
		if total += len(parts[i]) + len(by); total > maxOutput {
			return nil, errTooLong
		}
	}
	return strings.Join(parts, by), nil
}

// mapped applies a filter to each item, or takes a member of each.
func mapped(v any, c *call) (any, error) {
	items, err := c.state.iterate(v)
	if err != nil {
		return nil, err
	}
	var change func(any) (any, error)
	if attribute := c.arg(len(c.args), "attribute", nil); attribute != nil {
		without := c.arg(len(c.args), "default", nil)
		change = func(v any) (any, error) { return c.path(v, attribute, without) }
	} else {
		name, err := c.text(0, "filter", "")
		if err != nil {
			return nil, err
		}
		f := c.state.dialect.filters[name]
		if f == nil {
			return nil, fmt.Errorf("there is no filter %s", name)
		}
		inner := &call{scope: c.scope, args: c.args[1:], named: c.named}
		c.takesAll()
		change = func(v any) (any, error) { return f(v, inner) }
	}
	out := &list{kind: lazyList}
	for _, it := range items {
		got, err := change(it)
		if err != nil {
			return nil, err
		}
		out.items = append(out.items, got)
	}
	return out, nil
}

// chosen is select, reject, selectattr and rejectattr.
func chosen(keep, member bool) filter {
	return func(v any, c *call) (any, error) {
		items, err := c.state.iterate(v)
		if err != nil {
			return nil, err
		}
		args := c.args
		var attribute any
		if member {
			if len(args) == 0 {
				return nil, errors.New("want the name of a member")
			}
			attribute, args = args[0], args[1:]
		}
		is := func(v any, _ *call) (bool, error) { return truth(v) }
		if len(args) > 0 {
			name, _ := args[0].(string)
			if is = tests[name]; is == nil {
				return nil, fmt.Errorf("there is no test %v", args[0])
			}
			args = args[1:]
		}
		inner := &call{scope: c.scope, args: args, named: c.named}
		c.takesAll()
		out := &list{kind: lazyList}
		for _, it := range items {
			asked := it
			if member {
				if asked, err = c.path(it, attribute, nil); err != nil {
					return nil, err
				}
			}
			yes, err := is(asked, inner)
			if err != nil {
				return nil, err
			}
			if yes == keep {
				out.items = append(out.items, it)
			}
		}
		return out, nil
	}
}

func reverse(v any, c *call) (any, error) {
	items, err := c.state.iterate(v)
	if err != nil {
		return nil, err
	}
	items = append([]any{}, items...)
	slices.Reverse(items)
	if !isText(v) {
		return &list{items: items, kind: lazyList}, nil
	}
	return join(&list{items: items}, &call{scope: c.scope})
}

// inOrder sorts items by a key, keeping equal ones as they are.
func inOrder(items []any, key func(any) (any, error), down bool) ([]any, error) {
	type one struct{ key, item any }
	all := make([]one, len(items))
	for i, it := range items {
		k, err := key(it)
		if err != nil {
			return nil, err
		}
		all[i] = one{k, it}
	}
	var bad error
	slices.SortStableFunc(all, func(a, b one) int {
		n, err := order(a.key, b.key)
		bad = cmp.Or(bad, err)
		if down {
			return -n
		}
		return n
	})
	out := make([]any, len(all))
	for i := range all {
		out[i] = all[i].item
	}
	return out, bad
}

func sorted(v any, c *call) (any, error) {
	items, err := c.state.iterate(v)
	if err != nil {
		return nil, err
	}
	down, err := c.bool(0, "reverse", false)
	if err != nil {
		return nil, err
	}
	exact, err := c.bool(1, "case_sensitive", false)
	if err != nil {
		return nil, err
	}
	out, err := inOrder(items, c.keyed(c.arg(2, "attribute", nil), exact), down)
	return &list{items: out}, err
}

// sortedPlaces are the places of keys in their order.
func sortedPlaces(keys []any) ([]int, error) {
	at := make([]any, len(keys))
	for i := range at {
		at[i] = i
	}
	got, err := inOrder(at, func(i any) (any, error) { return keys[i.(int)], nil }, false)
	out := make([]int, len(got))
	for i := range got {
		out[i] = got[i].(int)
	}
	return out, err
}

func dictSort(v any, c *call) (any, error) {
	d, ok := v.(*Dict)
	if !ok {
		return nil, fmt.Errorf("want a dict, not %s", typeName(v))
	}
	exact, err := c.bool(0, "case_sensitive", false)
	if err != nil {
		return nil, err
	}
	by, err := c.text(1, "by", "key")
	if err != nil {
		return nil, err
	}
	down, err := c.bool(2, "reverse", false)
	if err != nil {
		return nil, err
	}
	part := int64(0)
	if by == "value" {
		part = 1
	} else if by != "key" {
		return nil, errors.New("by must be key or value")
	}
	out, err := inOrder(d.pairs(), c.keyed(part, exact), down)
	return &list{items: out}, err
}

// extreme is min and max.
func extreme(sign int) filter {
	return func(v any, c *call) (any, error) {
		items, err := c.state.iterate(v)
		if err != nil {
			return nil, err
		}
		exact, err := c.bool(0, "case_sensitive", false)
		if err != nil {
			return nil, err
		}
		if len(items) == 0 {
			return c.state.undefined("", "the largest and smallest of nothing"), nil
		}
		key := c.keyed(c.arg(1, "attribute", nil), exact)
		best := items[0]
		bestKey, err := key(best)
		for _, it := range items[1:] {
			var k any
			var n int
			if err == nil {
				k, err = key(it)
			}
			if err == nil {
				n, err = order(k, bestKey)
			}
			if n*sign > 0 {
				best, bestKey = it, k
			}
		}
		return best, err
	}
}

func unique(v any, c *call) (any, error) {
	items, err := c.state.iterate(v)
	if err != nil {
		return nil, err
	}
	exact, err := c.bool(0, "case_sensitive", false)
	if err != nil {
		return nil, err
	}
	key := c.keyed(c.arg(1, "attribute", nil), exact)
	seen := &Dict{}
	out := &list{kind: lazyList}
	for _, it := range items {
		k, err := key(it)
		if err != nil {
			return nil, err
		}
		if _, known := seen.get(k); known {
			continue
		}
		if err := seen.set(k, nil); err != nil {
			return nil, err
		}
		out.items = append(out.items, it)
	}
	return out, nil
}

func sum(v any, c *call) (any, error) {
	items, err := c.state.iterate(v)
	if err != nil {
		return nil, err
	}
	key := c.keyed(c.arg(0, "attribute", nil), true)
	total := c.arg(1, "start", int64(0))
	for _, it := range items {
		if it, err = key(it); err == nil {
			total, err = operate("+", total, it)
		}
		if err != nil {
			return nil, err
		}
	}
	return total, nil
}

func groupBy(v any, c *call) (any, error) {
	items, err := c.state.iterate(v)
	if err != nil {
		return nil, err
	}
	attribute := c.arg(0, "attribute", nil)
	without := c.arg(1, "default", nil)
	plain := func(v any) (any, error) { return c.path(v, attribute, without) }
	folded := func(v any) (any, error) {
		k, err := plain(v)
		if s, ok := k.(string); ok {
			k = strings.ToLower(s)
		}
		return k, err
	}
	if items, err = inOrder(items, folded, false); err != nil {
		return nil, err
	}
	out := &list{items: []any{}}
	var lastKey any
	var group *groupOf
	for _, it := range items {
		k, err := folded(it)
		if err != nil {
			return nil, err
		}
		if group == nil || !equal(k, lastKey) {
			shown, err := plain(it)
			if err != nil {
				return nil, err
			}
			group, lastKey = &groupOf{grouper: shown, members: &list{items: []any{}}}, k
			out.items = append(out.items, &list{kind: tupleList, items: []any{group.grouper, group.members}})
		}
		group.members.items = append(group.members.items, it)
	}
	return out, nil
}

// groupOf is a value with the items that have it.
type groupOf struct {
	grouper any
	members *list
}

// batch cuts a list into lists of n, the last filled up where asked.
func batch(v any, c *call) (any, error) {
	items, n, err := parts(v, c, "linecount")
	if err != nil {
		return nil, err
	}
	fill := c.arg(1, "fill_with", nil)
	out := &list{kind: lazyList}
	for part := range slices.Chunk(items, n) {
		part = append([]any{}, part...)
		for fill != nil && len(part) < n {
			part = append(part, fill)
		}
		out.items = append(out.items, &list{items: part})
	}
	return out, nil
}

// columns cuts a list into n lists of nearly equal length.
func columns(v any, c *call) (any, error) {
	items, n, err := parts(v, c, "slices")
	if err != nil {
		return nil, err
	}
	fill := c.arg(1, "fill_with", nil)
	each, more := len(items)/n, len(items)%n
	out := &list{kind: lazyList}
	for i := range n {
		k := each
		if i < more {
			k++
		}
		part := append([]any{}, items[:k]...)
		items = items[k:]
		if fill != nil && i >= more {
			part = append(part, fill)
		}
		out.items = append(out.items, &list{items: part})
	}
	return out, nil
}

func parts(v any, c *call, name string) ([]any, int, error) {
	items, err := c.state.iterate(v)
	if err != nil {
		return nil, 0, err
	}
	n, err := c.int(0, name, 0)
	if err == nil && (n < 1 || n > maxRange) {
		err = fmt.Errorf("%s must be from 1 to %d", name, maxRange)
	}
	return items, n, err
}
