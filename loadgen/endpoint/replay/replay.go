// Package replay makes of an answer what it adds to the conversation where its
// text does not say all: calls of functions with their ids, signed reasoning,
// the items of the Responses API. A server refuses the result of a call that
// stands nowhere in the history.
//
// In go the events of one answer, or the whole of it as the only one; out come
// elements for the list of messages of the next request, with commas between,
// or nothing where the text is all there is. What cannot be read is left out:
// whether the answer is good was decided before.
package replay

import (
	"bytes"
	"encoding/json"
	"iter"
	"maps"
	"slices"
)

// Events are the data of an answer's events, valid while they are looked at.
type Events = iter.Seq[[]byte]

// list writes JSON values with commas between.
func list[T any](values []T) []byte {
	if len(values) == 0 {
		return nil
	}
	all := encoded(values)
	return all[1 : len(all)-1]
}

// encoded is v as JSON, with < and > as they are.
func encoded(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return []byte("[]") // raw JSON that was read before always can be written
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// mentions reports whether one of the words is anywhere in the events: most
// answers hold none of them and need no second reading.
func mentions(events Events, words ...string) bool {
	for data := range events {
		for _, w := range words {
			if bytes.Contains(data, []byte(w)) {
				return true
			}
		}
	}
	return false
}

// function is what is called.
type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// call is a call of a function as it came in pieces.
type call struct {
	ID       string    `json:"id,omitempty"`
	Type     string    `json:"type,omitempty"`
	Function *function `json:"function,omitempty"`
}

// chatMessage is a message of an answer, or a piece of one.
type chatMessage struct {
	Content   any               `json:"content"`
	ToolCalls []json.RawMessage `json:"tool_calls"`
	Call      *function         `json:"function_call"` // before there were tool calls
}

// Chat is an assistant's message with calls, of a chat completion. Calls of a
// whole answer stay as they are, with what else a server says in them.
func Chat(events Events) []byte {
	if !mentions(events, `"tool_calls"`, `"function_call"`) {
		return nil
	}
	text, calls, answer := "", calls{}, -1
	for data := range events {
		var e struct {
			Choices []struct {
				Index          int
				Message, Delta *chatMessage
			}
		}
		if json.Unmarshal(data, &e) != nil || len(e.Choices) == 0 {
			continue
		}
		if answer < 0 {
			answer = e.Choices[0].Index
		}
		if e.Choices[0].Index != answer { // another answer to the same request
			continue
		}
		for _, m := range []*chatMessage{e.Choices[0].Message, e.Choices[0].Delta} {
			if m == nil {
				continue
			}
			if t, ok := m.Content.(string); ok {
				text += t
			}
			for _, c := range m.ToolCalls {
				calls.add(c, m == e.Choices[0].Message)
			}
			if m.Call != nil {
				calls.at(0).piece(call{Type: "function", Function: m.Call})
			}
		}
	}
	if len(calls) == 0 {
		return nil
	}
	m := struct {
		Role    string  `json:"role"`
		Content *string `json:"content"`
		Calls   []any   `json:"tool_calls"`
	}{Role: "assistant", Calls: calls.inOrder()}
	if text != "" {
		m.Content = &text
	}
	return list([]any{m})
}

// calls are those of one answer by the number that their pieces carry.
type calls map[int]*growing

// growing is a call on its way: of pieces, or whole.
type growing struct {
	call
	whole json.RawMessage
}

func (c calls) at(i int) *growing {
	if c[i] == nil {
		c[i] = &growing{}
	}
	return c[i]
}

// add takes a call or a piece of one. One without a number is another one.
func (c calls) add(raw json.RawMessage, whole bool) {
	var p struct {
		Index *int
		call
	}
	if json.Unmarshal(raw, &p) != nil {
		return
	}
	i := len(c)
	if p.Index != nil {
		i = *p.Index
	}
	if whole && p.Index == nil {
		c.at(i).whole = bytes.Clone(raw)
		return
	}
	c.at(i).piece(p.call)
}

func (g *growing) piece(p call) {
	if p.ID != "" {
		g.ID = p.ID
	}
	if p.Type != "" {
		g.Type = p.Type
	}
	if p.Function == nil {
		return
	}
	if g.Function == nil {
		g.Function = &function{}
	}
	if p.Function.Name != "" {
		g.Function.Name = p.Function.Name
	}
	g.Function.Arguments += p.Function.Arguments
}

func (c calls) inOrder() (out []any) {
	for _, i := range slices.Sorted(maps.Keys(c)) {
		if c[i].whole != nil {
			out = append(out, c[i].whole)
		} else {
			out = append(out, c[i].call)
		}
	}
	return out
}

// noInput are items of the Responses API that a next request may not hold
// without settings of their own: AIPerf leaves them out, too.
var noInput = []string{
	"web_search_call", "file_search_call", "image_generation_call", "code_interpreter_call", "computer_call",
	"reasoning",
}

// Responses are the items of a response: those of its end, and those that only
// an event of their own told of.
func Responses(events Events) []byte {
	type response struct {
		Object, Status string
		Output         []json.RawMessage
	}
	var ended, single []json.RawMessage
	for data := range events {
		var e struct {
			response
			Type     string
			Response response
			Item     json.RawMessage
		}
		if json.Unmarshal(data, &e) != nil {
			continue
		}
		switch e.Type {
		case "response.failed", "response.incomplete", "response.error", "error":
			return nil // what came is no answer
		case "response.completed":
			ended = append(ended, e.Response.Output...)
		case "response.output_item.done":
			single = append(single, e.Item)
		case "":
			if e.Object == "response" {
				ended = append(ended, e.Output...)
			}
		}
	}
	seen := map[string]bool{}
	var items []json.RawMessage
	for _, raw := range append(ended, single...) {
		var item struct {
			Type, ID string
			CallID   string `json:"call_id"`
			ItemID   string `json:"item_id"`
		}
		if json.Unmarshal(raw, &item) != nil || len(raw) == 0 || raw[0] != '{' {
			continue
		}
		key := string(raw)
		for _, id := range []string{item.ItemID, item.CallID, item.ID} {
			if id != "" {
				key = id
			}
		}
		if !seen[key] && !slices.Contains(noInput, item.Type) {
			items = append(items, raw)
		}
		seen[key] = true
	}
	return list(items)
}

// Stored is the name of a response at its server; "" if it did not end well.
func Stored(events Events) (id string) {
	type response struct{ ID, Status string }
	for data := range events {
		if bytes.Contains(data, []byte(".delta\"")) { // most events, which name no response
			continue
		}
		var e struct {
			response
			Type     string
			Response response
		}
		if json.Unmarshal(data, &e) != nil {
			continue
		}
		r := e.Response
		if e.Type == "" {
			r = e.response
		}
		switch {
		case e.Type == "error" || e.Type == "response.error" ||
			slices.Contains([]string{"failed", "incomplete", "cancelled"}, r.Status):
			return ""
		case r.ID != "":
			id = r.ID
		}
	}
	return id
}
