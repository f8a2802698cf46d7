package lower

import (
	"slices"
	"strconv"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/source"
)

// Lay sets an assignment on a tree, in the place of what says the same there.
// Objects and named members of lists on the way are made; where a path goes into a
// number that stands for a distribution, the number becomes its mean.
func Lay(x fields.Table, root *source.Node, a Assignment) diag.Errors {
	bad := set(x, root, a)
	if bad == nil && a.Origin.Source != source.ByDefault {
		replace(x, root, a.Path)
	}
	return bad
}

func set(x fields.Table, root *source.Node, a Assignment) diag.Errors {
	v := a.Value.Clone()
	parent, last := source.Cut(a.Path)
	n, bad := Reach(x, root, parent, a.Origin)
	if bad != nil {
		return bad
	}
	switch {
	case a.Path == "benchmark" || a.Path == "variables":
		if v.Kind != source.Object {
			return source.Mistake(a.Origin, a.Path, "expected an object, got "+v.KindName(), "")
		}
		if n.Get(last) == nil {
			n.Put(last, source.ObjectNode(a.Origin))
		}
		merge(n.Get(last), v)
		return nil
	case a.Path == "benchmark.model":
		last, v = "models", modelsNode(v)
	case a.Path == "benchmark.models":
		v = modelsNode(v)
	case a.Path == "benchmark.models.items":
		v = modelsNode(source.Wrap("items", source.ListNode(v))).Get("items")
	case a.Path == "benchmark.endpoint.urls":
		v = source.ListNode(v)
	case n.Kind == source.List:
		return setMember(n, parent, last, v, a)
	case v.Kind == source.Object:
		LowerValue(a.Path, v)
		// The endpoint, maps with the user's own keys and what has a label are
		// laid over what is there; a distribution is replaced.
		over := a.Path == fields.EndpointPath || x.At(a.Path).Has(fields.IsFree)
		if !over && a.Origin.Source != source.ByFile && x.At(a.Path).Has(fields.IsObject) {
			_, over = v.Pop("label")
			over = over && !x.At(a.Path).Has(fields.IsShape)
		}
		if old := n.Get(last); old != nil && old.Kind == source.Object && over {
			merge(old, v)
			return nil
		}
	}
	if n.Get("value") != nil && (last == "mean" || last == "stddev") {
		f, _ := n.Pop("value") // {value: n} is the number n
		if last == "stddev" {
			n.Put("mean", f.Value)
		}
	}
	n.Put(last, v)
	n.Field(last).Origin = a.Origin
	return nil
}

// LowerValue gives an object that an axis or --set puts at a path the form
// lowering gives the same object in a file.
func LowerValue(path string, v *source.Node) {
	if parent, _ := source.Cut(path); parent == "benchmark.datasets" {
		lowerDataset(v)
	} else if path == fields.EndpointPath || path == "benchmark.server_metrics" || path == "benchmark.gpu_telemetry" {
		lowerAddresses(v)
	}
}

// Reach finds the node at path and makes what is missing on the way.
func Reach(x fields.Table, root *source.Node, path string, at source.Origin) (*source.Node, diag.Errors) {
	n, so := root, ""
	if path == "" {
		return n, nil
	}
	for _, part := range source.SplitPath(path) {
		if n.Kind == source.List {
			m, bad := find(n, so, part, at)
			if bad != nil {
				return nil, bad
			}
			n, so = m, source.Join(so, part)
			continue
		}
		next := n.Get(part)
		so = source.Join(so, part)
		switch {
		case next == nil || next.Kind == source.Null:
			next = source.ObjectNode(at)
			if l := x.At(so); l.Has(fields.IsList) && !l.Has(fields.IsObject) {
				next.Kind = source.List
			}
			n.Put(part, next)
		case next.Kind == source.Scalar && x.At(so).Has(fields.IsShape):
			next = source.Wrap("mean", next)
			n.Put(part, next)
		case next.Kind == source.Scalar && x.At(so).Has(fields.IsRamp):
			next = source.Wrap("duration", next)
			n.Put(part, next)
		case next.Kind == source.Scalar:
			next = source.ObjectNode(at)
			n.Put(part, next)
		}
		n = next
	}
	return n, nil
}

// named finds a member of a list by name, makes a phase or the data set that
// is meant, or says which names there are.
func find(n *source.Node, path, part string, at source.Origin) (*source.Node, diag.Errors) {
	if i := n.Index(part); i >= 0 {
		return n.Items[i], nil
	}
	switch {
	case path == "benchmark.datasets" && len(n.Items) > 0 && (part == "default" || part == "main"):
		return n.Items[0], nil
	case path == "benchmark.datasets" && len(n.Items) == 0,
		path == "benchmark.phases" && (part == "warmup" || part == "profiling"):
		return addMember(n, path, part, at), nil
	}
	if part == strconv.Itoa(len(n.Items)) && !fields.IsListPath(path) {
		n.Items = append(n.Items, source.ObjectNode(at))
		return n.Items[len(n.Items)-1], nil
	}
	var names []string
	for _, it := range n.Items {
		if s := it.Get("name").Text(); s != "" {
			names = append(names, s)
		}
	}
	return nil, source.Mistake(at, source.Join(path, part), "no member is called "+part, suggest.Hint(part, names))
}

// memberHint is for a setting of a member that was asked of the list itself.
func memberHint(n *source.Node, path, name string) string {
	for i, it := range n.Items {
		if m := it.Get("name").Text(); m != "" && (len(n.Items) == 1 || m == "profiling" || i == len(n.Items)-1) {
			return "did you mean " + path + "." + m + "." + name + "?"
		}
	}
	return ""
}

// addMember makes a phase or data set. Warmup comes before the rest.
func addMember(n *source.Node, path, name string, at source.Origin) *source.Node {
	m := named(source.ObjectNode(at), name)
	if path == "benchmark.phases" {
		m.Put("kind", source.TextNode(name, at))
	}
	if name == "warmup" {
		n.Items = slices.Insert(n.Items, 0, m)
	} else {
		n.Items = append(n.Items, m)
	}
	return m
}

// member sets a member of a list as a whole: an object is laid over it.
func setMember(n *source.Node, path, name string, v *source.Node, a Assignment) diag.Errors {
	if v.Kind != source.Object {
		if i := n.Index(name); i >= 0 {
			n.Items[i] = v
			return nil
		}
		return source.Mistake(a.Origin, a.Path, "no member is called "+name, memberHint(n, path, name))
	}
	m, bad := find(n, path, name, a.Origin)
	if bad != nil {
		return bad
	}
	if path == "benchmark.datasets" {
		v.Pop("label") // only endpoints keep theirs
		LowerValue(a.Path, v)
	}
	merge(m, v)
	return nil
}

// merge lays src over dst: objects member by member, lists of named members
// by name; anything else is replaced.
func merge(dst, src *source.Node) {
	for _, f := range src.Fields {
		old := dst.Get(f.Name)
		switch {
		case old != nil && old.Kind == source.Object && f.Value.Kind == source.Object && compatible(old, f.Value):
			merge(old, f.Value)
		case old != nil && old.Kind == source.List && f.Value.Kind == source.List && allNamed(f.Value):
			mergeLists(old, f.Value)
		default:
			dst.Put(f.Name, f.Value)
		}
	}
}

// compatible tells that two objects are not two kinds of distribution.
func compatible(a, b *source.Node) bool {
	for _, k := range []string{"value", "points", "peaks", "p50", "median"} {
		if (a.Get(k) != nil) != (b.Get(k) != nil) && isShapeNode(a) && isShapeNode(b) {
			return false
		}
	}
	return true
}

func isShapeNode(n *source.Node) bool {
	for _, k := range []string{"value", "mean", "points", "peaks", "p50", "median"} {
		if n.Get(k) != nil {
			return true
		}
	}
	return false
}

func allNamed(n *source.Node) bool {
	for _, it := range n.Items {
		if it.Get("name") == nil {
			return false
		}
	}
	return len(n.Items) > 0
}

func mergeLists(dst, src *source.Node) {
	for _, it := range src.Items {
		if i := dst.Index(it.Get("name").Text()); i >= 0 {
			merge(dst.Items[i], it)
		} else {
			dst.Items = append(dst.Items, it)
		}
	}
}

// Assignment sets one value: a flag, a --set, an environment value or a point
// of an axis.
type Assignment struct {
	Path   string
	Value  *source.Node // is never changed
	Axis   bool         // Value is a list: the values of an axis on Path
	Origin source.Origin
	Absent string // not built: what to do instead; Path is only shown
	Weak   bool   // of an absent flag: not where something else sets Path
}

// Assign is an assignment of plain data, or of a tree.
func Assign(path string, v any, at source.Origin) Assignment {
	return Assignment{Path: path, Value: source.FromPlain(v, at), Origin: at}
}
