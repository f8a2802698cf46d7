package schema

import (
	"bytes"
	"encoding/json"
)

// given is the body without what nobody said, secrets masked: AIPerf's files
// of a single run show it so. A value that follows from others that were said
// (the type of a phase from its rate) counts as said.
func (d *Document) given(c *cell) []byte {
	body := c.root.get("benchmark").clone()
	drop(body)
	var raw bytes.Buffer
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false)
	if enc.Encode(body.plain()) != nil {
		return nil
	}
	out, err := d.index.encode(raw.Bytes(), "benchmark")
	if err != nil {
		return nil
	}
	return out
}

// drop takes the schema's own values out of n.
func drop(n *node) {
	kept := n.fields[:0]
	for _, f := range n.fields {
		if f.value.kind == null || bySchema(f.value) {
			continue
		}
		drop(f.value)
		kept = append(kept, f)
	}
	n.fields = kept
	for _, it := range n.items {
		drop(it)
	}
}

// bySchema tells whether nobody but the schema says n.
func bySchema(n *node) bool {
	return n.kind == scalar && n.origin.Source == "default"
}
