package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/suggest"
)

// node is a value of an experiment with its origin. Kind says which of
// fields, items and value is used.
type node struct {
	kind   kind
	fields []field
	items  []*node
	value  any // string, bool, int64, float64
	origin Origin
}

// field is a member of a map; the order is the user's.
type field struct {
	name   string // snake_case, as in the schema
	typed  string // what the user wrote, when that differs
	value  *node
	origin Origin // of the key
}

// typedName is the key as the user wrote it.
func (f field) typedName() string {
	if f.typed != "" {
		return f.typed
	}
	return f.name
}

type kind int

const (
	null kind = iota
	scalar
	list
	object
)

// get returns the member called name, or nil.
func (n *node) get(name string) *node {
	if f := n.field(name); f != nil {
		return f.value
	}
	return nil
}

// typeWord is the member type of n as the schema spells words; "" without one.
func (n *node) typeWord() string { return suggest.Fold(n.get("type").text()) }

func (n *node) field(name string) *field {
	if n == nil {
		return nil
	}
	for i := range n.fields {
		if n.fields[i].name == name {
			return &n.fields[i]
		}
	}
	return nil
}

// put sets or adds a member.
func (n *node) put(name string, v *node) {
	if f := n.field(name); f != nil {
		f.value = v
		return
	}
	n.fields = append(n.fields, field{name: name, value: v, origin: v.origin})
}

// take removes a member and returns it.
func (n *node) take(name string) (field, bool) {
	if n == nil {
		return field{}, false
	}
	for i, f := range n.fields {
		if f.name == name {
			n.fields = append(n.fields[:i:i], n.fields[i+1:]...)
			return f, true
		}
	}
	return field{}, false
}

// at finds the node at a dotted path; members of lists go by name or number.
func (n *node) at(path string) *node {
	if path == "" {
		return n
	}
	for part := range strings.SplitSeq(path, ".") {
		if n = n.child(part); n == nil {
			return nil
		}
	}
	return n
}

func (n *node) child(part string) *node {
	if n == nil || n.kind != list {
		return n.get(part)
	}
	if i := n.index(part); i >= 0 {
		return n.items[i]
	}
	return nil
}

// index finds the member of a list a path means: by number, by name, then
// by kind (phases.profiling is the first profiling phase, whatever it is
// called).
func (n *node) index(part string) int {
	if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(n.items) {
		return i
	}
	for _, key := range []string{"name", "kind"} {
		for i, it := range n.items {
			if v := it.get(key); v != nil && v.value == part {
				return i
			}
		}
	}
	return -1
}

// text is the string held by n, "" for anything else.
func (n *node) text() string {
	if n == nil {
		return ""
	}
	s, _ := n.value.(string)
	return s
}

// clone copies the tree. Leaves are shared: they are never changed in place.
func (n *node) clone() *node {
	if n == nil || n.kind == scalar || n.kind == null {
		return n
	}
	c := *n
	c.fields = make([]field, len(n.fields))
	for i, f := range n.fields {
		f.value = f.value.clone()
		c.fields[i] = f
	}
	c.items = make([]*node, len(n.items))
	for i, it := range n.items {
		c.items[i] = it.clone()
	}
	return &c
}

// replace calls f for every leaf and puts what it returns in its place.
func (n *node) replace(path string, f func(path string, n *node) (*node, Errors)) (*node, Errors) {
	if n.kind == scalar {
		return f(path, n)
	}
	var bad Errors
	for i := range n.fields {
		v, errs := n.fields[i].value.replace(join(path, n.fields[i].name), f)
		n.fields[i].value, bad = v, append(bad, errs...)
	}
	for i := range n.items {
		v, errs := n.items[i].replace(join(path, strconv.Itoa(i)), f)
		n.items[i], bad = v, append(bad, errs...)
	}
	return n, bad
}

// leaves calls f for every leaf in the user's order.
func (n *node) leaves(path string, f func(path string, n *node)) {
	if n == nil {
		return
	}
	if n.kind == scalar || n.kind == null {
		f(path, n)
	}
	for i := range n.fields {
		n.fields[i].value.leaves(join(path, n.fields[i].name), f)
	}
	for i, it := range n.items {
		it.leaves(join(path, strconv.Itoa(i)), f)
	}
}

func join(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}

// cut splits a path into what comes before its last part and that part.
func cut(path string) (parent, last string) {
	i := strings.LastIndex(path, ".")
	return path[:max(i, 0)], path[i+1:]
}

// shown is path as a person writes it: members of lists by their names, keys
// as they were typed.
func (n *node) shown(path string) string {
	if path == "" {
		return ""
	}
	parts := strings.Split(path, ".")
	for i, part := range parts {
		switch {
		case n == nil:
		case n.kind == list:
			n = n.child(part)
			if name := n.get("name").text(); name != "" {
				parts[i] = name
			}
		default:
			f := n.field(part)
			n = nil
			if f != nil {
				n = f.value
				if f.typed != "" {
					parts[i] = f.typed
				}
			}
		}
	}
	return strings.Join(parts, ".")
}

// String is the value in one line, as messages and explain print it.
func (n *node) String() string {
	switch n.kind {
	case object:
		parts := make([]string, len(n.fields))
		for i, f := range n.fields {
			parts[i] = f.name + ": " + f.value.String()
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case list:
		parts := make([]string, len(n.items))
		for i, it := range n.items {
			parts[i] = it.String()
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case null:
		return "null"
	}
	switch v := n.value.(type) {
	case string:
		return strconv.Quote(v)
	case float64:
		return string(appendFloat(nil, v))
	}
	return fmt.Sprint(n.value)
}

func textNode(s string, at Origin) *node { return &node{kind: scalar, value: s, origin: at} }

func leafNode(v any, at Origin) *node { return &node{kind: scalar, value: v, origin: at} }

func objectNode(at Origin) *node { return &node{kind: object, origin: at} }

// listNode is n in a list, unless it is one.
func listNode(n *node) *node {
	if n.kind == list {
		return n
	}
	return &node{kind: list, items: []*node{n}, origin: n.origin}
}

// wrap is an object with one member.
func wrap(name string, v *node) *node {
	n := objectNode(v.origin)
	n.put(name, v)
	return n
}

func splitPath(path string) []string { return strings.Split(path, ".") }

// remove takes the field at parts out of n, and objects that it leaves empty.
func (n *node) remove(parts []string) bool {
	next := n.get(parts[0])
	switch {
	case next == nil:
		return false
	case len(parts) == 1:
		n.take(parts[0])
		return true
	case next.kind != object || !next.remove(parts[1:]):
		return false
	}
	if len(next.fields) == 0 {
		n.take(parts[0])
	}
	return true
}

func appendFloat(b []byte, f float64) []byte { return strconv.AppendFloat(b, f, 'g', -1, 64) }

// eachShape calls f for what may be a distribution with peaks.
func (n *node) eachShape(f func(*node)) {
	for _, m := range n.fields {
		if m.value.kind == object {
			f(m.value)
			m.value.eachShape(f)
		}
	}
	for _, it := range n.items {
		it.eachShape(f)
	}
}

// from marks a copy of n as coming from source.
func (n *node) from(source string) *node {
	c := *n
	if c.origin.Source == "file" {
		c.origin.Source = source
	}
	c.fields = slices.Clone(n.fields)
	for i := range c.fields {
		c.fields[i].value = c.fields[i].value.from(source)
	}
	for i := range c.items {
		c.items[i] = c.items[i].from(source)
	}
	return &c
}

func isIndex(part string) bool {
	_, err := strconv.Atoi(part)
	return err == nil
}
