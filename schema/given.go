package schema

import (
	"bytes"
	"encoding/json"

	"aiperf.dev/aiperf/schema/source"
)

// given is the body without what nobody said, secrets masked: AIPerf's files
// of a single run show it so. A value that follows from others that were said
// (the type of a phase from its rate) counts as said.
func (d *Document) given(c *cell) []byte {
	body := c.root.Get("benchmark").Clone()
	drop(body)
	var raw bytes.Buffer
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false)
	if enc.Encode(body.Plain()) != nil {
		return nil
	}
	out, err := d.index.Encode(raw.Bytes(), "benchmark")
	if err != nil {
		return nil
	}
	if len(d.aside) == 0 {
		return out
	}
	return shown(out, func(tree map[string]any) { withAside(tree, d.aside) })
}

// drop takes the schema's own values out of n.
func drop(n *source.Node) {
	kept := n.Fields[:0]
	for _, f := range n.Fields {
		if f.Value.Kind == source.Null || bySchema(f.Value) {
			continue
		}
		drop(f.Value)
		kept = append(kept, f)
	}
	n.Fields = kept
	for _, it := range n.Items {
		drop(it)
	}
}

// bySchema tells whether nobody but the schema says n.
func bySchema(n *source.Node) bool {
	return n.Kind == source.Scalar && n.Origin.Source == "default"
}
