package lower

import (
	"reflect"
	"slices"
	"strings"

	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/source"
)

// Axis is a swept path with its values and the places where they stand.
type Axis struct {
	Path   string
	Values []*source.Node
	Origin source.Origin
	Group  int // axes of one group move together; 0 is a group of its own
}

// Name is the path of the axis as it was written.
func (a *Axis) Name() string {
	if a.Origin.Path == "" {
		return strings.TrimPrefix(a.Path, "benchmark.")
	}
	return strings.TrimPrefix(a.Origin.Path, "sweep.parameters.")
}

// Assignment is value i of the axis, laid over a cell.
func (a *Axis) Assignment(i int) Assignment {
	return Assignment{Path: a.Path, Value: a.Values[i].From(source.ByAxis), Origin: a.Origin}
}

// Axes are the values that points of the sweep lay over the experiment, with the
// places where they stand.
type Axes struct {
	All    []Axis
	Unread []string // axes that could not be read, by the last words of their paths
	Pinned []string // paths of axes that were taken out, see Pin
}

// On is the axis on a path, nil without one.
func (x *Axes) On(path string) *Axis {
	for i := range x.All {
		if x.All[i].Path == path {
			return &x.All[i]
		}
	}
	return nil
}

// Set adds an axis, or replaces the one on the same path.
func (x *Axes) Set(a Axis) {
	if old := x.On(a.Path); old != nil {
		*old = a
		return
	}
	x.All = append(x.All, a)
}

// Drop takes the axis on a path away.
func (x *Axes) Drop(path string) {
	x.All = slices.DeleteFunc(x.All, func(a Axis) bool { return a.Path == path })
}

// Lose notes an axis that could not be read.
func (x *Axes) Lose(path string) {
	_, last := source.Cut(path)
	x.Unread = append(x.Unread, last)
}

// Pin takes a path out of the matrix: a single value from a flag or --set
// wins over an axis of the file. An axis of objects loses the field that was
// pinned; values that differ in nothing else become one, and an axis with
// nothing left to say is dropped. So -u replaces the URLs of labelled
// endpoints, and what else they differ in is still swept.
func (x *Axes) Pin(path string) {
	path = AxisKey(path)
	for i := range x.All {
		a := &x.All[i]
		own := AxisKey(a.Path)
		if rest, inside := strings.CutPrefix(path, own+"."); inside {
			a.Values = a.without(source.SplitPath(rest))
		} else if path == own {
			a.Values = nil
		}
	}
	x.All = slices.DeleteFunc(x.All, func(a Axis) bool {
		if len(a.Values) > 0 {
			return false
		}
		x.Pinned = append(x.Pinned, a.Path)
		return true
	})
}

// Lost reports whether the axis of this path was pinned and not given again.
func (x *Axes) Lost(path string) bool {
	is := func(other string) bool { return AxisKey(other) == AxisKey(path) }
	return slices.ContainsFunc(x.Pinned, is) && !slices.ContainsFunc(x.All, func(a Axis) bool { return is(a.Path) })
}

// AxisKey spells alike what means the same: the flags' name for the only data
// set and the files', a number and the mean of its distribution.
func AxisKey(path string) string {
	if rest, ok := strings.CutPrefix(path, fields.DatasetPath+"."); ok {
		path = "benchmark.datasets.default." + rest
	}
	return strings.TrimSuffix(path, ".mean")
}

// without is the values of the axis less the field at parts; the same values
// when none of them has it, none when nothing tells them apart any more.
func (a *Axis) without(parts []string) []*source.Node {
	var kept []*source.Node
	found := false
	for _, v := range a.Values {
		if v.Kind != source.Object {
			return a.Values
		}
		v = v.Clone()
		LowerValue(a.Path, v)
		found = v.Remove(parts) || found
		if !slices.ContainsFunc(kept, func(k *source.Node) bool { return sameButLabel(k, v) }) {
			kept = append(kept, v)
		}
	}
	switch {
	case !found:
		return a.Values
	case len(kept) == 1 && sameButLabel(kept[0], source.ObjectNode(a.Origin)):
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
