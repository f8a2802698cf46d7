package schema

import (
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/source"
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
	Origin source.Origin
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
	root := *d.cells.asideOn(d.cells.root)
	root.Fields = slices.Clone(root.Fields)
	if root.Get("search").Get("where") != nil { // its limits were laid over the slos
		for i, f := range root.Fields {
			if f.Name == "benchmark" {
				body := *f.Value
				body.Fields = slices.DeleteFunc(slices.Clone(body.Fields),
					func(f source.Field) bool { return f.Name == "slos" })
				root.Fields[i].Value = &body
			}
		}
	}
	if block := d.sweepSaid(); len(block.Fields) > 0 {
		root.Fields = append(root.Fields, source.Field{Name: "sweep", Value: block, Origin: block.Origin})
	}
	return d.said("", "", &root)
}

// sweepSaid is the sweep block with the axes that hold after flags.
func (d *Document) sweepSaid() *source.Node {
	block := d.block.Clone()
	block.Pop("parameters")
	block.Pop("axes")
	if len(d.cells.axes.All) == 0 || d.envelope.Search != nil { // the axis of a search stands in search
		return block
	}
	if block.Get("type") == nil {
		block.Put("type", source.TextNode(fields.SweepTaking("parameters", false).Name, source.Usually()))
	}
	parameters, axes := source.ObjectNode(d.cells.axes.All[0].Origin),
		&source.Node{Kind: source.List, Origin: d.cells.axes.All[0].Origin}
	zips := map[int]*source.Node{}
	for _, a := range d.cells.axes.All {
		values := &source.Node{Kind: source.List, Items: a.Values, Origin: a.Origin}
		into := parameters
		if a.Group > 0 {
			if zips[a.Group] == nil {
				zips[a.Group] = source.ObjectNode(a.Origin)
				axes.Items = append(axes.Items, source.Wrap(fields.SweepTaking("parameters", true).Name, zips[a.Group]))
			}
			into = zips[a.Group]
		}
		into.Put(strings.TrimPrefix(a.Path, "benchmark."), values)
	}
	if len(axes.Items) == 0 {
		block.Put("parameters", parameters)
		return block
	}
	if len(parameters.Fields) > 0 {
		axes.Items = append(axes.Items, source.Wrap(fields.SweepTaking("parameters", false).Name, parameters))
	}
	block.Put("axes", axes)
	return block
}

func (d *Document) said(name, path string, n *source.Node) Said {
	s := Said{Name: name, Kind: SaidLeaf, Value: n.Value, Origin: n.Origin}
	switch n.Kind {
	case source.Object:
		s.Kind = SaidObject
		for _, f := range n.Fields {
			m := d.said(f.Name, source.Join(path, f.Name), f.Value)
			m.Secret = m.Secret || m.Kind == SaidLeaf && credential(f.Name, m.Value,
				d.cells.index.At(path), d.cells.index.At(source.Join(path, f.Name)))
			s.Fields = append(s.Fields, m)
		}
	case source.List:
		s.Kind = SaidList
		for i, it := range n.Items {
			m := d.said("", source.Join(path, fmt.Sprint(i)), it)
			m.Secret = m.Kind == SaidLeaf && credential("", m.Value, nil,
				d.cells.index.At(source.Join(path, fmt.Sprint(i))))
			s.Items = append(s.Items, m)
		}
	}
	return s
}

// credential reports whether a value is known to be a credential, by its place or by
// the look of it.
func credential(key string, v any, parent, l *fields.Leaf) bool {
	text, ok := v.(string)
	return ok && text != "" && (fields.Credential(key, text, parent, l) != text || secret.Shapes(text) != text)
}
