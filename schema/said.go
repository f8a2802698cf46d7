package schema

import (
	"fmt"
	"slices"
	"strings"
)

// Said is one value an experiment says, with all below it: the tree after
// shorthands were lowered and flags laid over, before the schema's defaults.
// At most one of Fields and Items is used; a leaf has Value.
type Said struct {
	Name   string // key in its object, "" for a member of a list
	Fields []Said
	Items  []Said
	Value  any // bool, int64, float64, string; nil for null
	Kind   string
	Origin Origin
	Secret bool // the value is never to be printed
}

// The kinds of a Said.
const (
	SaidObject = "object"
	SaidList   = "list"
	SaidLeaf   = "leaf"
)

// Said is what the experiment says, in the order it was said; its axes stand
// in the sweep block. A value with the origin "default" follows from others
// that were said, such as the type of a phase from its rate.
func (d *Document) Said() Said {
	root := *d.root
	root.fields = slices.Clone(root.fields)
	if block := d.sweepSaid(); len(block.fields) > 0 {
		root.fields = append(root.fields, field{name: "sweep", value: block, origin: block.origin})
	}
	return d.said("", "", &root)
}

// sweepSaid is the sweep block with the axes that hold after flags.
func (d *Document) sweepSaid() *node {
	block := d.block.clone()
	block.take("parameters")
	block.take("axes")
	if len(d.axes) == 0 {
		return block
	}
	if block.get("type") == nil {
		block.put("type", textNode("grid", Origin{Source: "default", Where: "default"}))
	}
	parameters, axes := objectNode(d.axes[0].origin), &node{kind: list, origin: d.axes[0].origin}
	zips := map[int]*node{}
	for _, a := range d.axes {
		values := &node{kind: list, items: a.values, origin: a.origin}
		into := parameters
		if a.group > 0 {
			if zips[a.group] == nil {
				zips[a.group] = objectNode(a.origin)
				axes.items = append(axes.items, wrap("zip", zips[a.group]))
			}
			into = zips[a.group]
		}
		into.put(strings.TrimPrefix(a.path, "benchmark."), values)
	}
	if len(axes.items) == 0 {
		block.put("parameters", parameters)
		return block
	}
	if len(parameters.fields) > 0 {
		axes.items = append(axes.items, wrap("grid", parameters))
	}
	block.put("axes", axes)
	return block
}

func (d *Document) said(name, path string, n *node) Said {
	s := Said{Name: name, Kind: SaidLeaf, Value: n.value, Origin: n.origin}
	switch n.kind {
	case object:
		s.Kind = SaidObject
		for _, f := range n.fields {
			m := d.said(f.name, join(path, f.name), f.value)
			m.Secret = m.Secret || m.Kind == SaidLeaf && masked(f.name, m.Value, d.index.at(path), d.index.at(join(path, f.name))) != m.Value
			s.Fields = append(s.Fields, m)
		}
	case list:
		s.Kind = SaidList
		for i, it := range n.items {
			m := d.said("", join(path, fmt.Sprint(i)), it)
			m.Secret = m.Kind == SaidLeaf && masked("", m.Value, nil, d.index.at(join(path, fmt.Sprint(i)))) != m.Value
			s.Items = append(s.Items, m)
		}
	}
	return s
}
