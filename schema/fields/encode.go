package fields

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/schema/source"
)

// Encode writes v as JSON: plain data that Decode read, which is the tree n, which has
// been checked, with every default. Keys are in schema order and the user's own sorted.
// What requests carry is as in n, since v has lost its order, and so are whole numbers.
func (x Table) Encode(v any, n *source.Node, path string, masked Masking) []byte {
	e := encoder{index: x, masked: masked}
	e.json = json.NewEncoder(&e.out)
	e.json.SetEscapeHTML(false)
	e.value(v, n, x[path], path)
	return e.out.Bytes()
}

// Decode is JSON that this program wrote as plain data, its numbers as json.Number.
func Decode(text []byte) (v any) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		panic("what was written as JSON cannot be read: " + err.Error())
	}
	return v
}

// Masking is v, the text at l below parent under key, as it may be seen.
type Masking func(key, v string, parent, l *Leaf) string

// Shown masks all that may be a secret, and what hide knows. Credential masks what is
// known to be one by its name: other secrets make a difference between two cells.
func Shown(hide *secret.Masker) Masking {
	return func(key, v string, parent, l *Leaf) string { return Masked(key, v, parent, l, hide) }
}

// Open masks nothing: it is for the program.
func Open(_, v string, _, _ *Leaf) string { return v }

type encoder struct {
	index  Table
	out    bytes.Buffer
	json   *json.Encoder // into out
	masked Masking
}

// seen is v as it may be seen.
func (e *encoder) seen(key string, v any, parent, l *Leaf) any {
	if text, ok := v.(string); ok && text != "" {
		return e.masked(key, text, parent, l)
	}
	return v
}

func (e *encoder) value(v any, n *source.Node, l *Leaf, path string) {
	switch v := v.(type) {
	case map[string]any:
		if n != nil && l.Sent() {
			e.sent(n, l, path)
			return
		}
		e.out.WriteByte('{')
		for i, k := range KeyOrder(v, l) {
			if i > 0 {
				e.out.WriteByte(',')
			}
			e.plain(k)
			e.out.WriteByte(':')
			name, sub := e.index.child(path, l, k)
			e.value(e.seen(k, v[k], l, sub), n.Get(k), sub, source.Join(path, name))
		}
		e.out.WriteByte('}')
		return
	case []any:
		e.out.WriteByte('[')
		name, sub := e.index.child(path, l, "*")
		for i, it := range v {
			if i > 0 {
				e.out.WriteByte(',')
			}
			var item *source.Node
			if n != nil && i < len(n.Items) {
				item = n.Items[i]
			}
			e.value(e.seen("", it, l, sub), item, sub, source.Join(path, name))
		}
		e.out.WriteByte(']')
		return
	case json.Number:
		if n != nil && n.Kind == source.Scalar {
			if whole, ok := n.Value.(int64); ok {
				e.plain(whole)
				return
			}
		}
	}
	e.plain(v)
}

// sent writes what requests carry: order, null and numbers are the user's.
func (e *encoder) sent(n *source.Node, l *Leaf, path string) {
	switch n.Kind {
	case source.Object:
		e.out.WriteByte('{')
		for i, f := range n.Fields {
			if i > 0 {
				e.out.WriteByte(',')
			}
			e.plain(f.Name)
			e.out.WriteByte(':')
			name, sub := e.index.child(path, l, f.Name)
			e.member(f.Name, f.Value, l, sub, source.Join(path, name))
		}
		e.out.WriteByte('}')
	case source.List:
		e.out.WriteByte('[')
		name, sub := e.index.child(path, l, "*")
		for i, it := range n.Items {
			if i > 0 {
				e.out.WriteByte(',')
			}
			e.member("", it, l, sub, source.Join(path, name))
		}
		e.out.WriteByte(']')
	case source.Null:
		e.out.WriteString("null")
	case source.Scalar:
		e.out.Write(n.AppendNumber(nil))
	}
}

func (e *encoder) member(key string, n *source.Node, parent, l *Leaf, path string) {
	if text, ok := n.Value.(string); ok {
		e.plain(e.seen(key, text, parent, l).(string))
		return
	}
	e.sent(n, l, path)
}

// plain writes a leaf.
func (e *encoder) plain(v any) {
	_ = e.json.Encode(v) // a leaf cannot fail
	e.out.Truncate(e.out.Len() - 1)
}

// KeyOrder is the schema's order, then the user's own keys sorted.
func KeyOrder(m map[string]any, l *Leaf) []string {
	keys := make([]string, 0, len(m))
	if l != nil {
		for _, k := range l.Keys {
			if _, ok := m[k]; ok {
				keys = append(keys, k)
			}
		}
	}
	if len(keys) == len(m) {
		return keys
	}
	known := len(keys)
	for k := range m {
		if l == nil || !slices.Contains(l.Keys, k) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys[known:])
	return keys
}

// Masked is a text as people and files may see it: masked whole as a secret field,
// as a header unless that is known to be harmless, and as a free key that names a
// credential; else without what looks like one, and where a text of the user's own
// may hold a secret, without those that hide knows.
func Masked(key, v string, parent, l *Leaf, hide *secret.Masker) string {
	switch {
	case Credential(key, v, parent, l) == secret.Mask, ofHeaders(parent) && secret.Header(key):
		return secret.Mask
	case parent.Has(IsFree), l.MayHide():
		return hide.Text(secret.URL(v))
	}
	return secret.Shapes(secret.URL(v))
}

// Credential is a text, masked where its place says that it is a credential: a
// secret field, a free key that names one, the user part and query of a URL.
func Credential(key, v string, parent, l *Leaf) string {
	if l.Has(IsSecret) || parent.Has(IsFree) && secret.Name(key) {
		return secret.Mask
	}
	return secret.NamedURL(v)
}

// ofHeaders tells whether the members of l are headers.
func ofHeaders(l *Leaf) bool {
	return l != nil && strings.HasSuffix(l.Path, ".headers") && !l.Has(IsText)
}

// hiding are the fields, besides secret ones and those with free keys, in whose
// texts a secret may stand. All others name a thing (a model, a file, a host) and
// are shown, whoever says them.
var hiding = []string{
	"benchmark.endpoint.urls.*", "benchmark.endpoint.path", "benchmark.endpoint.template.body",
	"benchmark.endpoint.rpc.body", "benchmark.otel.metrics_url", "benchmark.mlflow.tracking_uri",
	"benchmark.server.before_run.*.call", "benchmark.server.before_run.*.command.*",
	"benchmark.server.after_run.*.call", "benchmark.server.after_run.*.command.*",
	"benchmark.server.between_cells.*.call", "benchmark.server.between_cells.*.command.*",
	"benchmark.endpoint.flip.call", "benchmark.endpoint.flip.command.*", "benchmark.datasets.*.system_prompt",
}

// sent are the fields whose members travel in requests as the user has them.
var sent = []string{
	"benchmark.endpoint.headers", "benchmark.endpoint.extra", "benchmark.endpoint.flip.headers",
	"benchmark.endpoint.flip.body",
	"benchmark.server.before_run.*.headers", "benchmark.server.before_run.*.body",
	"benchmark.server.after_run.*.headers", "benchmark.server.after_run.*.body",
	"benchmark.server.between_cells.*.headers", "benchmark.server.between_cells.*.body",
	"benchmark.datasets.*.records.*",
}

// Sent tells whether l is one of them.
func (l *Leaf) Sent() bool { return l != nil && slices.Contains(sent, l.Path) }

// MayHide tells whether a secret may stand in the text of l.
func (l *Leaf) MayHide() bool {
	return l.Has(IsFree|IsSecret) || l != nil && slices.Contains(hiding, l.Path)
}
