package replay

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// block is a content block of Anthropic's API: as the server began it, and what
// pieces added.
type block struct {
	fields map[string]json.RawMessage
	raw    json.RawMessage // of a whole answer: as it is
	pieces map[string]string
}

// Messages is an assistant's message with signed reasoning or calls: reasoning,
// text, calls, as the API has them.
func Messages(events Events) []byte {
	if !mentions(events, `"thinking"`, `"tool_use"`) {
		return nil
	}
	text := ""
	thinking, calls := map[int]*block{}, map[int]*block{}
	for data := range events {
		var e struct {
			Type    string
			Index   *int
			Content []json.RawMessage
			Block   json.RawMessage `json:"content_block"`
			Delta   struct {
				Type, Text, Thinking, Signature string
				JSON                            string `json:"partial_json"`
			}
		}
		if json.Unmarshal(data, &e) != nil {
			continue
		}
		switch e.Type {
		case "message":
			for _, raw := range e.Content {
				text += begin(raw, nil, thinking, calls, true)
			}
		case "content_block_start":
			begin(e.Block, e.Index, thinking, calls, false)
		case "content_block_delta":
			if text += e.Delta.Text; e.Index == nil {
				continue
			}
			thinking[*e.Index].grow("thinking", e.Delta.Thinking)
			thinking[*e.Index].grow("signature", e.Delta.Signature)
			calls[*e.Index].grow("input", e.Delta.JSON)
		}
	}
	if len(thinking)+len(calls) == 0 {
		return nil
	}
	var content []any
	for _, i := range slices.Sorted(maps.Keys(thinking)) {
		content = append(content, thinking[i].value("thinking", "thinking", "signature"))
	}
	if text != "" {
		content = append(content, struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}{"text", text})
	}
	for _, i := range slices.Sorted(maps.Keys(calls)) {
		content = append(content, calls[i].value("tool_use", "id", "name", "input"))
	}
	return list([]any{struct {
		Role    string `json:"role"`
		Content []any  `json:"content"`
	}{"assistant", content}})
}

// begin takes a block, or the beginning of one, to its kind; it returns the text
// of one that is text.
func begin(raw json.RawMessage, index *int, thinking, calls map[int]*block, whole bool) (text string) {
	var is struct{ Type, Text string }
	b := &block{pieces: map[string]string{}}
	if json.Unmarshal(raw, &is) != nil || json.Unmarshal(raw, &b.fields) != nil {
		return ""
	}
	if whole {
		b.raw = bytes.Clone(raw)
	}
	of := map[string]map[int]*block{"thinking": thinking, "tool_use": calls}[is.Type]
	if of == nil {
		return is.Text
	}
	i := len(of)
	if index != nil {
		i = *index
	}
	of[i] = b
	return ""
}

func (b *block) grow(field, piece string) {
	if b != nil {
		b.pieces[field] += piece
	}
}

// value is the block with its fields in order, and then those that nobody here
// knows.
func (b *block) value(kind string, order ...string) json.RawMessage {
	if b.raw != nil {
		return b.raw
	}
	if b.pieces["input"] != "" { // else it stands where the block began
		b.fields["input"] = json.RawMessage(b.pieces["input"])
		if !json.Valid(b.fields["input"]) {
			b.fields["input"] = quoted(b.pieces["input"])
		}
	}
	for _, field := range order {
		if piece := b.pieces[field]; piece != "" && field != "input" {
			var began string
			_ = json.Unmarshal(b.fields[field], &began) // nothing, or no text: it begins with the piece
			b.fields[field] = quoted(began + piece)
		}
	}
	out := append([]byte(`{"type":`), quoted(kind)...)
	for _, field := range append(order, slices.Sorted(maps.Keys(b.fields))...) {
		if v := b.fields[field]; v != nil && field != "type" && string(v) != "null" {
			out = append(append(append(append(out, ','), quoted(field)...), ':'), v...)
		}
		delete(b.fields, field)
	}
	return append(out, '}')
}

func quoted(s string) json.RawMessage { return encoded(s) }
