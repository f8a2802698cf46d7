package schema

import (
	"slices"
	"strconv"

	"aiperf.dev/aiperf/internal/suggest"
)

// layer lays assignments over a tree. valueOf, where there is one, is the value of
// an assignment with the places it has in a file.
type layer struct {
	index   index
	valueOf func(Assignment) *node
}

// lay sets an assignment on a tree. Objects and named members of lists on
// the way are made; where a path goes into a number that stands for a
// distribution, the number becomes its mean.
func (y layer) lay(root *node, a Assignment) Errors {
	v := y.value(a)
	parent, last := cut(a.Path)
	n, bad := y.reach(root, parent, a.Origin)
	if bad != nil {
		return bad
	}
	switch {
	case a.Path == "benchmark" || a.Path == "variables":
		if v.kind != object {
			return mistake(a.Origin, a.Path, "expected an object, got "+v.kindName(), "")
		}
		if n.get(last) == nil {
			n.put(last, objectNode(a.Origin))
		}
		merge(n.get(last), v)
		return nil
	case a.Path == "benchmark.model":
		last, v = "models", modelsNode(v)
	case a.Path == "benchmark.models":
		v = modelsNode(v)
	case a.Path == "benchmark.models.items":
		v = modelsNode(wrap("items", listNode(v))).get("items")
	case a.Path == "benchmark.endpoint.urls":
		v = listNode(v)
	case n.kind == list:
		return y.member(n, parent, last, v, a)
	case v.kind == object:
		lowerValue(a.Path, v)
		// The endpoint, maps with the user's own keys and what has a label are
		// laid over what is there; a distribution is replaced.
		over := a.Path == endpointPath || y.index.at(a.Path).has(isFree)
		if !over && a.Origin.Source != "file" && y.index.at(a.Path).has(isObject) {
			_, over = v.take("label")
			over = over && !y.index.at(a.Path).has(isShape)
		}
		if old := n.get(last); old != nil && old.kind == object && over {
			merge(old, v)
			return nil
		}
	}
	if n.get("value") != nil && (last == "mean" || last == "stddev") {
		f, _ := n.take("value") // {value: n} is the number n
		if last == "stddev" {
			n.put("mean", f.value)
		}
	}
	n.put(last, v)
	n.field(last).origin = a.Origin
	return nil
}

// value is the value of an assignment as a tree.
func (y layer) value(a Assignment) *node {
	if y.valueOf != nil {
		if v := y.valueOf(a); v != nil {
			return v
		}
	}
	return fromPlain(a.Value, a.Origin)
}

// lowerValue gives an object that an axis or --set puts at a path the form
// lowering gives the same object in a file.
func lowerValue(path string, v *node) {
	if parent, _ := cut(path); parent == "benchmark.datasets" {
		lowerDataset(v)
	} else if path == endpointPath {
		lowerEndpoint(v)
	}
}

// reach finds the node at path and makes what is missing on the way.
func (y layer) reach(root *node, path string, at Origin) (*node, Errors) {
	n, so := root, ""
	if path == "" {
		return n, nil
	}
	for _, part := range splitPath(path) {
		if n.kind == list {
			m, bad := y.named(n, so, part, at)
			if bad != nil {
				return nil, bad
			}
			n, so = m, join(so, part)
			continue
		}
		next := n.get(part)
		so = join(so, part)
		switch {
		case next == nil || next.kind == null:
			next = objectNode(at)
			if l := y.index.at(so); l.has(isList) && !l.has(isObject) {
				next.kind = list
			}
			n.put(part, next)
		case next.kind == scalar && y.index.at(so).has(isShape):
			next = wrap("mean", next)
			n.put(part, next)
		case next.kind == scalar && y.index.at(so).has(isRamp):
			next = wrap("duration", next)
			n.put(part, next)
		case next.kind == scalar:
			next = objectNode(at)
			n.put(part, next)
		}
		n = next
	}
	return n, nil
}

// named finds a member of a list by name, makes a phase or the data set that
// is meant, or says which names there are.
func (y layer) named(n *node, path, part string, at Origin) (*node, Errors) {
	if i := n.index(part); i >= 0 {
		return n.items[i], nil
	}
	switch {
	case path == "benchmark.datasets" && len(n.items) > 0 && (part == "default" || part == "main"):
		return n.items[0], nil
	case path == "benchmark.datasets" && len(n.items) == 0,
		path == "benchmark.phases" && (part == "warmup" || part == "profiling"):
		return addMember(n, path, part, at), nil
	}
	if part == strconv.Itoa(len(n.items)) && !isListPath(path) {
		n.items = append(n.items, objectNode(at))
		return n.items[len(n.items)-1], nil
	}
	var names []string
	for _, it := range n.items {
		if s := it.get("name").text(); s != "" {
			names = append(names, s)
		}
	}
	return nil, mistake(at, join(path, part), "no member is called "+part, suggest.Hint(part, names))
}

// memberHint is for a setting of a member that was asked of the list itself.
func memberHint(n *node, path, name string) string {
	for i, it := range n.items {
		if m := it.get("name").text(); m != "" && (len(n.items) == 1 || m == "profiling" || i == len(n.items)-1) {
			return "did you mean " + path + "." + m + "." + name + "?"
		}
	}
	return ""
}

// addMember makes a phase or data set. Warmup comes before the rest.
func addMember(n *node, path, name string, at Origin) *node {
	m := named(objectNode(at), name)
	if path == "benchmark.phases" {
		m.put("kind", textNode(name, at))
	}
	if name == "warmup" {
		n.items = slices.Insert(n.items, 0, m)
	} else {
		n.items = append(n.items, m)
	}
	return m
}

// member sets a member of a list as a whole: an object is laid over it.
func (y layer) member(n *node, path, name string, v *node, a Assignment) Errors {
	if v.kind != object {
		if i := n.index(name); i >= 0 {
			n.items[i] = v
			return nil
		}
		return mistake(a.Origin, a.Path, "no member is called "+name, memberHint(n, path, name))
	}
	m, bad := y.named(n, path, name, a.Origin)
	if bad != nil {
		return bad
	}
	if path == "benchmark.datasets" {
		v.take("label") // only endpoints keep theirs
		lowerValue(a.Path, v)
	}
	merge(m, v)
	return nil
}

// merge lays src over dst: objects member by member, lists of named members
// by name; anything else is replaced.
func merge(dst, src *node) {
	for _, f := range src.fields {
		old := dst.get(f.name)
		switch {
		case old != nil && old.kind == object && f.value.kind == object && compatible(old, f.value):
			merge(old, f.value)
		case old != nil && old.kind == list && f.value.kind == list && allNamed(f.value):
			mergeLists(old, f.value)
		default:
			dst.put(f.name, f.value)
		}
	}
}

// compatible tells that two objects are not two kinds of distribution.
func compatible(a, b *node) bool {
	for _, k := range []string{"value", "points", "peaks", "p50", "median"} {
		if (a.get(k) != nil) != (b.get(k) != nil) && isShapeNode(a) && isShapeNode(b) {
			return false
		}
	}
	return true
}

func isShapeNode(n *node) bool {
	for _, k := range []string{"value", "mean", "points", "peaks", "p50", "median"} {
		if n.get(k) != nil {
			return true
		}
	}
	return false
}

func allNamed(n *node) bool {
	for _, it := range n.items {
		if it.get("name") == nil {
			return false
		}
	}
	return len(n.items) > 0
}

func mergeLists(dst, src *node) {
	for _, it := range src.items {
		if i := dst.index(it.get("name").text()); i >= 0 {
			merge(dst.items[i], it)
		} else {
			dst.items = append(dst.items, it)
		}
	}
}

// Assignment sets one value: a flag, a --set, an environment value or a point
// of an axis. Value is plain data: nil, bool, int64, float64, string, []any,
// map[string]any.
type Assignment struct {
	Path   string
	Value  any
	Axis   bool // Value is a []any: the values of an axis on Path
	Origin Origin
	Absent string // not built: what to do instead; nothing is set
}
