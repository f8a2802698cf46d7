// Package source reads text into one tree that knows its places. In goes a file
// (YAML, JSON, CUE, or a folder that is a CUE package); out comes a Node, each
// value and key with the Origin that messages point at, or the mistakes in the
// text. It keeps the limits that bound every later step and knows no field of an
// experiment.
package source

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/suggest"
)

// Node is a value of an experiment with its origin. Kind says which of
// fields, items and value is used.
type Node struct {
	Kind   kind
	Fields []Field
	Items  []*Node
	Value  any // string, bool, int64, float64
	Origin Origin
}

// Field is a member of a map; the order is the user's.
type Field struct {
	Name   string // snake_case, as in the schema
	Typed  string // what the user wrote, when that differs
	Value  *Node
	Origin Origin // of the key
}

// TypedName is the key as the user wrote it.
func (f Field) TypedName() string {
	if f.Typed != "" {
		return f.Typed
	}
	return f.Name
}

type kind int

const (
	Null kind = iota
	Scalar
	List
	Object
)

// Get returns the member called name, or nil.
func (n *Node) Get(name string) *Node {
	if f := n.Field(name); f != nil {
		return f.Value
	}
	return nil
}

// TypeWord is the member type of n as the schema spells words; "" without one.
func (n *Node) TypeWord() string { return suggest.Fold(n.Get("type").Text()) }

func (n *Node) Field(name string) *Field {
	if n == nil {
		return nil
	}
	for i := range n.Fields {
		if n.Fields[i].Name == name {
			return &n.Fields[i]
		}
	}
	return nil
}

// Put sets or adds a member.
func (n *Node) Put(name string, v *Node) {
	if f := n.Field(name); f != nil {
		f.Value = v
		return
	}
	n.Fields = append(n.Fields, Field{Name: name, Value: v, Origin: v.Origin})
}

// Pop removes a member and returns it.
func (n *Node) Pop(name string) (Field, bool) {
	if n == nil {
		return Field{}, false
	}
	for i, f := range n.Fields {
		if f.Name == name {
			n.Fields = append(n.Fields[:i:i], n.Fields[i+1:]...)
			return f, true
		}
	}
	return Field{}, false
}

// At finds the node at a dotted path; members of lists go by name or number.
func (n *Node) At(path string) *Node {
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

func (n *Node) child(part string) *Node {
	if n == nil || n.Kind != List {
		return n.Get(part)
	}
	if i := n.Index(part); i >= 0 {
		return n.Items[i]
	}
	return nil
}

// Index finds the member of a list a path means: by number, by name, then
// by kind (phases.profiling is the first profiling phase, whatever it is
// called).
func (n *Node) Index(part string) int {
	if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(n.Items) {
		return i
	}
	for _, key := range []string{"name", "kind"} {
		for i, it := range n.Items {
			if v := it.Get(key); v != nil && v.Value == part {
				return i
			}
		}
	}
	return -1
}

// Text is the string held by n, "" for anything else.
func (n *Node) Text() string {
	if n == nil {
		return ""
	}
	s, _ := n.Value.(string)
	return s
}

// Clone copies the tree. Leaves are shared: they are never changed in place.
func (n *Node) Clone() *Node {
	if n == nil || n.Kind == Scalar || n.Kind == Null {
		return n
	}
	c := *n
	c.Fields = make([]Field, len(n.Fields))
	for i, f := range n.Fields {
		f.Value = f.Value.Clone()
		c.Fields[i] = f
	}
	c.Items = make([]*Node, len(n.Items))
	for i, it := range n.Items {
		c.Items[i] = it.Clone()
	}
	return &c
}

// Replace calls f for every leaf and puts what it returns in its place.
func (n *Node) Replace(path string, f func(path string, n *Node) (*Node, diag.Errors)) (*Node, diag.Errors) {
	if n.Kind == Scalar {
		return f(path, n)
	}
	var bad diag.Errors
	for i := range n.Fields {
		v, errs := n.Fields[i].Value.Replace(Join(path, n.Fields[i].Name), f)
		n.Fields[i].Value, bad = v, append(bad, errs...)
	}
	for i := range n.Items {
		v, errs := n.Items[i].Replace(Join(path, strconv.Itoa(i)), f)
		n.Items[i], bad = v, append(bad, errs...)
	}
	return n, bad
}

// Leaves calls f for every leaf in the user's order.
func (n *Node) Leaves(path string, f func(path string, n *Node)) {
	if n == nil {
		return
	}
	if n.Kind == Scalar || n.Kind == Null {
		f(path, n)
	}
	for i := range n.Fields {
		n.Fields[i].Value.Leaves(Join(path, n.Fields[i].Name), f)
	}
	for i, it := range n.Items {
		it.Leaves(Join(path, strconv.Itoa(i)), f)
	}
}

func Join(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}

// Cut splits a path into what comes before its last part and that part.
func Cut(path string) (parent, last string) {
	i := strings.LastIndex(path, ".")
	return path[:max(i, 0)], path[i+1:]
}

// Shown is path as a person writes it: members of lists by their names, keys
// as they were typed.
func (n *Node) Shown(path string) string {
	if path == "" {
		return ""
	}
	parts := strings.Split(path, ".")
	for i, part := range parts {
		switch {
		case n == nil:
		case n.Kind == List:
			n = n.child(part)
			if name := n.Get("name").Text(); name != "" {
				parts[i] = name
			}
		default:
			f := n.Field(part)
			n = nil
			if f != nil {
				n = f.Value
				if f.Typed != "" {
					parts[i] = f.Typed
				}
			}
		}
	}
	return strings.Join(parts, ".")
}

// Written is path as the file has it, which may say it shorter: the path of the
// nearest node on the way that somebody wrote, and what comes after it.
func (n *Node) Written(path string) string {
	written, rest := "", path
	for at := n; at != nil; {
		if at.Origin.Path != "" {
			written = Join(at.Origin.Path, rest)
		}
		var part string
		if part, rest, _ = strings.Cut(rest, "."); part == "" {
			break
		}
		at = at.child(part)
	}
	if written == "" {
		return n.Shown(path)
	}
	return written
}

// SetPaths notes in every node and key the path that it has in the file.
func (n *Node) SetPaths(path string) {
	n.Origin.Path = path
	for i := range n.Fields {
		f := &n.Fields[i]
		f.Origin.Path = Join(path, f.Name)
		f.Value.SetPaths(f.Origin.Path)
	}
	for i, it := range n.Items {
		name := it.Get("name").Text()
		if name == "" {
			name = strconv.Itoa(i)
		}
		it.SetPaths(Join(path, name))
	}
}

// String is the value in one line, as messages and explain print it.
func (n *Node) String() string {
	switch n.Kind {
	case Object:
		parts := make([]string, len(n.Fields))
		for i, f := range n.Fields {
			parts[i] = f.Name + ": " + f.Value.String()
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case List:
		parts := make([]string, len(n.Items))
		for i, it := range n.Items {
			parts[i] = it.String()
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case Null:
		return "null"
	}
	switch v := n.Value.(type) {
	case string:
		return strconv.Quote(v)
	case float64:
		return string(appendFloat(nil, v))
	}
	return fmt.Sprint(n.Value)
}

func TextNode(s string, at Origin) *Node { return &Node{Kind: Scalar, Value: s, Origin: at} }

func LeafNode(v any, at Origin) *Node { return &Node{Kind: Scalar, Value: v, Origin: at} }

func ObjectNode(at Origin) *Node { return &Node{Kind: Object, Origin: at} }

// ListNode is n in a list, unless it is one.
func ListNode(n *Node) *Node {
	if n.Kind == List {
		return n
	}
	return &Node{Kind: List, Items: []*Node{n}, Origin: n.Origin}
}

// Wrap is an object with one member.
func Wrap(name string, v *Node) *Node {
	n := ObjectNode(v.Origin)
	n.Put(name, v)
	return n
}

func SplitPath(path string) []string { return strings.Split(path, ".") }

// Remove takes the field at parts out of n, and objects that it leaves empty.
func (n *Node) Remove(parts []string) bool {
	next := n.Get(parts[0])
	switch {
	case next == nil:
		return false
	case len(parts) == 1:
		n.Pop(parts[0])
		return true
	case next.Kind != Object || !next.Remove(parts[1:]):
		return false
	}
	if len(next.Fields) == 0 {
		n.Pop(parts[0])
	}
	return true
}

func appendFloat(b []byte, f float64) []byte { return strconv.AppendFloat(b, f, 'g', -1, 64) }

// EachShape calls f for what may be a distribution with peaks.
func (n *Node) EachShape(f func(*Node)) {
	for _, m := range n.Fields {
		if m.Value.Kind == Object {
			f(m.Value)
			m.Value.EachShape(f)
		}
	}
	for _, it := range n.Items {
		it.EachShape(f)
	}
}

// From marks a copy of n as given by giver.
func (n *Node) From(giver Giver) *Node {
	c := *n
	if c.Origin.Source == ByFile {
		c.Origin.Source = giver
	}
	c.Fields = slices.Clone(n.Fields)
	for i := range c.Fields {
		c.Fields[i].Value = c.Fields[i].Value.From(giver)
	}
	c.Items = slices.Clone(n.Items)
	for i := range c.Items {
		c.Items[i] = c.Items[i].From(giver)
	}
	return &c
}

func IsIndex(part string) bool {
	_, err := strconv.Atoi(part)
	return err == nil
}

// JSON is the tree as a JSON document, which reads as the same tree again: members
// in their order, numbers with a fraction kept apart from whole ones.
func (n *Node) JSON() []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, n.appendJSON(nil), "", "  "); err != nil {
		panic(err) // appendJSON wrote it
	}
	return append(b.Bytes(), '\n')
}

func (n *Node) appendJSON(b []byte) []byte {
	switch n.Kind {
	case Object:
		b = append(b, '{')
		for i, f := range n.Fields {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendText(b, f.TypedName()), ':')
			b = f.Value.appendJSON(b)
		}
		return append(b, '}')
	case List:
		b = append(b, '[')
		for i, it := range n.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = it.appendJSON(b)
		}
		return append(b, ']')
	case Null:
		return append(b, "null"...)
	}
	if text, ok := n.Value.(string); ok {
		return appendText(b, text)
	}
	return n.AppendNumber(b)
}

// AppendNumber writes a number, or true or false. A number with a fraction keeps it,
// if only as .0; its digits are as few as tell it from all others.
func (n *Node) AppendNumber(b []byte) []byte {
	v, ok := n.Value.(float64)
	switch size := math.Abs(v); {
	case !ok:
		return fmt.Append(b, n.Value)
	case size != 0 && (size < 1e-4 || size >= 1e16):
		return strconv.AppendFloat(b, v, 'e', -1, 64)
	}
	number := strconv.AppendFloat(nil, v, 'f', -1, 64)
	if !bytes.ContainsRune(number, '.') {
		number = append(number, ".0"...)
	}
	return append(b, number...)
}

// appendText writes text in quotes. The characters that JSON takes as they are and
// YAML, whose reader reads both, does not, are written by their numbers.
func appendText(b []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // text always has a form
	}
	for _, r := range string(quoted) {
		if r >= 0x7f && r < 0xa0 || r == 0xfeff || r == 0xfffe || r == 0xffff {
			b = fmt.Appendf(b, `\u%04x`, r)
			continue
		}
		b = utf8.AppendRune(b, r)
	}
	return b
}
