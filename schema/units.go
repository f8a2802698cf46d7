package schema

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/suggest"
)

// normalize gives every leaf its one form: durations in seconds, enum words
// in the schema's spelling, numbers and booleans that came as text (${}, {{ }},
// quotes) as what their field takes; numbers for distributions and ramps as
// objects. It runs on rendered trees, once per cell.
func (x index) normalize(n *node, l *leaf, at string) *node {
	switch n.kind {
	case object:
		for i := range n.fields {
			f := &n.fields[i]
			if name, sub := x.child(at, l, f.name); sub != nil {
				f.value = x.normalize(f.value, sub, join(at, name))
			}
		}
		return l.settleObject(n)
	case list:
		member := join(at, "*")
		if sub := x[member]; sub != nil {
			for i := range n.items {
				n.items[i] = x.normalize(n.items[i], sub, member)
			}
		} else if l.has(isFree) {
			for i := range n.items {
				n.items[i] = x.normalize(n.items[i], l, at)
			}
		}
		return n
	case null:
		return n
	}
	n = l.settleText(n)
	switch {
	case l.has(isShape) && !isTemplate(n.text()):
		return wrap("value", n)
	case l.has(isRamp) && (l.has(isNumber) || l.has(isDuration)):
		return wrap("duration", n)
	case l.has(isObject) && l.has(isBool) && n.value == true:
		return objectNode(n.origin)
	case l.has(isList) && !l.has(isObject|isNumber|isBool|isText) && n.text() != "":
		return listNode(n)
	}
	return n
}

// settleObject drops what the fields of a distribution say anyway.
func (l *leaf) settleObject(n *node) *node {
	if t := n.typeWord(); l.has(isShape) && t != "" && t == shapeType(n) {
		n.take("type")
	}
	if l.has(isShape) && n.get("mean") != nil && n.get("median") == nil && n.get("stddev") == nil && n.get("p50") == nil && n.get("value") == nil {
		n.put("stddev", leafNode(0.0, Origin{Source: "default", Where: "default: a mean alone"}))
	}
	return n
}

// shapeType is the type of a distribution that its keys name. A type that
// says otherwise stays, for the schema to refuse what is missing.
func shapeType(n *node) string {
	for _, k := range [][2]string{{"peaks", "multimodal"}, {"points", "empirical"}, {"p50", "percentile"}, {"p99", "percentile"}, {"median", "lognormal"}, {"value", "fixed"}} {
		if n.get(k[0]) != nil {
			return k[1]
		}
	}
	return "normal"
}

// settleText reads text in a field that takes something else. A field of text
// keeps it; free keys keep what was quoted, and read what a step filled in.
func (l *leaf) settleText(n *node) *node {
	s, ok := n.value.(string)
	if !ok {
		if i, whole := n.value.(int64); whole && i|1 == 1 && l.has(isBool) && !l.has(isNumber|isObject|isText) {
			return leafNode(i == 1, n.origin)
		}
		return n
	}
	var v any
	switch {
	case l.has(isDuration):
		f, ok := seconds(s)
		if !ok {
			return n
		}
		v = f
	case len(l.enum) > 0 && l.word(s) != "":
		v = l.word(s)
	case l.has(isFree) && n.origin.Text != "", !l.has(isText) && l.has(isNumber|isBool|isShape|isRamp):
		v = coerce(s, l.has(isBool) && !l.has(isNumber))
	default:
		return n
	}
	if v == n.value {
		return n
	}
	c := leafNode(v, n.origin)
	if c.origin.Text == "" {
		c.origin.Text = s
	}
	return c
}

// takes tells whether s is one of the words of the field.
func (l *leaf) takes(s string) bool { return l != nil && l.word(s) != "" }

// word is the spelling of s in the enum, "" when it has none.
func (l *leaf) word(s string) string {
	for _, w := range l.enum {
		if suggest.Fold(w) == suggest.Fold(s) {
			return w
		}
	}
	return ""
}

// coerce reads a word as true or false, a whole number or a number; anything
// else stays text.
func coerce(s string, words bool) any {
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
	if f, err := strconv.ParseFloat(t, 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) && !strings.ContainsAny(t, "xX_pP") {
		return f
	}
	return s
}

var durationText = regexp.MustCompile(`^(\d+(?:\.\d+)?)\s*(ms|s|sec|m|min|h|hr|hour)?$`)

// seconds reads a duration: a number of seconds, or one with a unit; ms is
// ours. "inf" is without end.
func seconds(s string) (float64, bool) {
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
