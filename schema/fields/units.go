package fields

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/schema/source"
)

// Normalize gives every leaf its one form: durations in seconds, enum words
// in the schema's spelling, numbers and booleans that came as text (${}, {{ }},
// quotes) as what their field takes; numbers for distributions and ramps as
// objects. It runs on rendered trees, once per cell.
func (x Table) Normalize(n *source.Node, l *Leaf, at string) *source.Node {
	switch n.Kind {
	case source.Object:
		for i := range n.Fields {
			f := &n.Fields[i]
			if name, sub := x.child(at, l, f.Name); sub != nil {
				f.Value = x.Normalize(f.Value, sub, source.Join(at, name))
			}
		}
		return l.completeShape(n)
	case source.List:
		member := source.Join(at, "*")
		if sub := x[member]; sub != nil {
			for i := range n.Items {
				n.Items[i] = x.Normalize(n.Items[i], sub, member)
			}
		} else if l.Has(IsFree) {
			for i := range n.Items {
				n.Items[i] = x.Normalize(n.Items[i], l, at)
			}
		}
		return n
	case source.Null:
		return n
	}
	n = l.SettleText(n)
	switch {
	case l.Has(IsNumber) && !l.Has(IsFree) && n.TooLarge(): // no whole number to those who read JSON
		if i, ok := n.Value.(int64); ok {
			return source.LeafNode(float64(i), n.Origin)
		}
		return n
	case l.Has(IsShape) && !source.IsTemplate(n.Text()):
		return source.Wrap("value", n)
	case l.Has(IsRamp) && (l.Has(IsNumber) || l.Has(IsDuration)):
		return source.Wrap("duration", n)
	case l.Has(IsObject) && l.Has(IsBool) && n.Value == true:
		return source.ObjectNode(n.Origin)
	case l.Has(IsList) && !l.Has(IsObject|IsNumber|IsBool|IsText) && !x[source.Join(at, "*")].Has(IsObject) &&
		n.Text() != "":
		return source.ListNode(n)
	}
	return n
}

// completeShape drops what the fields of a distribution say anyway.
func (l *Leaf) completeShape(n *source.Node) *source.Node {
	if t := n.TypeWord(); l.Has(IsShape) && t != "" && t == shapeType(n) {
		n.Pop("type")
	}
	if l.Has(IsShape) && n.Get("mean") != nil && n.Get("median") == nil && n.Get("stddev") == nil &&
		n.Get("p50") == nil && n.Get("value") == nil {
		n.Put("stddev", source.LeafNode(0.0, source.Because(source.Stated, "a mean alone")))
	}
	return n
}

// shapeType is the type of a distribution that its keys name. A type that
// says otherwise stays, for the schema to refuse what is missing.
func shapeType(n *source.Node) string {
	for _, k := range [][2]string{
		{"peaks", "multimodal"},
		{"points", "empirical"},
		{"p50", "percentile"},
		{"p99", "percentile"},
		{"median", "lognormal"},
		{"value", "fixed"},
	} {
		if n.Get(k[0]) != nil {
			return k[1]
		}
	}
	return "normal"
}

// SettleText reads text in a field that takes something else. A field of text
// keeps it; free keys keep what was quoted, and read what a step filled in.
func (l *Leaf) SettleText(n *source.Node) *source.Node {
	s, ok := n.Value.(string)
	if !ok {
		if i, whole := n.Value.(int64); whole && i|1 == 1 && l.Has(IsBool) && !l.Has(IsNumber|IsObject|IsText) {
			return source.LeafNode(i == 1, n.Origin)
		}
		return n
	}
	var v any
	switch {
	case l.Has(IsDuration):
		f, ok := Seconds(s)
		if !ok {
			return n
		}
		v = f
	case len(l.Enum) > 0 && l.Word(s) != "":
		v = l.Word(s)
	case l.Has(IsFree) && n.Origin.Text != "", !l.Has(IsText) && l.Has(IsNumber|IsBool|IsShape|IsRamp):
		v = Coerce(s, l.Has(IsBool) && !l.Has(IsNumber))
	default:
		return n
	}
	if v == n.Value {
		return n
	}
	c := source.LeafNode(v, n.Origin)
	if c.Origin.Text == "" {
		c.Origin.Text = s
	}
	return c
}

// Takes reports whether s is one of the words of the field.
func (l *Leaf) Takes(s string) bool { return l != nil && l.Word(s) != "" }

// Word is the spelling of s in the enum, "" when it has none.
func (l *Leaf) Word(s string) string {
	for _, w := range l.Enum {
		if suggest.Fold(w) == suggest.Fold(s) {
			return w
		}
	}
	return ""
}

// Coerce reads a word as true or false, a whole number or a number; anything
// else stays text.
func Coerce(s string, words bool) any {
	t := strings.TrimSpace(s)
	switch strings.ToLower(t) {
	case "true":
		return true
	case "false":
		return false
	case "yes", "on", "y", "t", "1":
		if words {
			return true
		}
	case "no", "off", "n", "f", "0":
		if words {
			return false
		}
	}
	if i, err := strconv.ParseInt(t, 10, 64); err == nil {
		return i
	}
	if f, err := strconv.ParseFloat(t, 64); err == nil && !math.IsNaN(f) &&
		!math.IsInf(f, 0) && !strings.ContainsAny(t, "xX_pP") {
		return f
	}
	return s
}

var durationText = regexp.MustCompile(`^(\d+(?:\.\d+)?)\s*(ms|s|sec|m|min|h|hr|hour)?$`)

// Seconds reads a duration: a number of seconds, or one with a unit; ms is
// ours. "inf" is without end.
func Seconds(s string) (float64, bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	if s == "inf" || s == "infinity" {
		return math.Inf(1), true
	}
	m := durationText.FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	f, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, false
	}
	switch {
	case m[2] == "ms":
		f /= 1000
	case strings.HasPrefix(m[2], "m"):
		f *= 60
	case strings.HasPrefix(m[2], "h"):
		f *= 3600
	}
	return f, true
}
