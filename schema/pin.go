package schema

import (
	"reflect"
	"slices"
	"strings"

	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// pin takes a path out of the matrix: a single value from a flag or --set
// wins over an axis of the file. An axis of objects loses the field that was
// pinned; values that differ in nothing else become one, and an axis with
// nothing left to say is dropped. So -u replaces the URLs of labelled
// endpoints, and what else they differ in is still swept.
func (d *draft) pin(path string) {
	path = axisKey(path)
	for i := range d.axes {
		a := &d.axes[i]
		own := axisKey(a.path)
		if rest, inside := strings.CutPrefix(path, own+"."); inside {
			a.values = d.without(*a, source.SplitPath(rest))
		} else if path == own {
			a.values = nil
		}
	}
	d.axes = slices.DeleteFunc(d.axes, func(a axisNodes) bool { return len(a.values) == 0 })
}

// axisKey spells alike what means the same: the flags' name for the only data
// set and the files', a number and the mean of its distribution.
func axisKey(path string) string {
	if rest, ok := strings.CutPrefix(path, fields.DatasetPath+"."); ok {
		path = "benchmark.datasets.default." + rest
	}
	return strings.TrimSuffix(path, ".mean")
}

// without is the values of an axis less the field at parts; the same values
// when none of them has it, none when nothing tells them apart any more.
func (d *draft) without(a axisNodes, parts []string) []*source.Node {
	var kept []*source.Node
	found := false
	for _, v := range a.values {
		if v.Kind != source.Object {
			return a.values
		}
		v = v.Clone()
		lower.LowerValue(a.path, v)
		found = v.Remove(parts) || found
		if !slices.ContainsFunc(kept, func(k *source.Node) bool { return sameButLabel(k, v) }) {
			kept = append(kept, v)
		}
	}
	switch {
	case !found:
		return a.values
	case len(kept) == 1 && sameButLabel(kept[0], source.ObjectNode(a.origin)):
		return nil
	}
	return kept
}

func sameButLabel(a, b *source.Node) bool {
	plain := func(n *source.Node) any {
		c := n.Clone()
		c.Pop("label")
		return c.Plain()
	}
	return reflect.DeepEqual(plain(a), plain(b))
}

// setSweep lays --set sweep.… over the sweep block, before its axes are taken
// out of it. An axis that is given again is replaced, however it was spelled.
func (d *draft) setSweep(root *source.Node) (bad Errors) {
	for _, a := range d.src.Assignments {
		name, axis := strings.CutPrefix(a.Path, "sweep.parameters.")
		switch {
		case axis:
			ps, errs := d.layer.Reach(root, "sweep.parameters", a.Origin)
			if errs != nil {
				return append(bad, errs...)
			}
			ps.Fields = slices.DeleteFunc(ps.Fields, func(f source.Field) bool { return fields.Canonical(f.Name) == fields.Canonical(name) })
			ps.Put(name, d.layer.Value(a))
			ps.Field(name).Origin = a.Origin
		case a.Path == "sweep" || strings.HasPrefix(a.Path, "sweep."):
			bad = append(bad, d.layer.Lay(root, a)...)
		}
	}
	return bad
}
