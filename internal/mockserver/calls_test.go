package mockserver

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/endpoint"
)

// A chat answer can be calls of functions: streamed in pieces or whole, with
// the same names and arguments, and every piece is read as a tool's text.
func TestToolCalls(t *testing.T) {
	t.Parallel()
	const ask = `{"model":"m","messages":[{"content":"a"}],"max_tokens":7,"stream":%t}`
	for _, chunk := range []int{1, 3, 100} {
		b := start(t, fmt.Sprintf("ttft=0s&itl=0s&tool_calls=2&reasoning=2&chunk=%d", chunk))
		a := b.post("/v1/chat/completions", fmt.Sprintf(ask, true))
		got, ids, finish := map[float64]string{}, []string{}, ""
		spec, _ := endpoint.Lookup("chat")
		tools := 0
		for _, d := range a.data() {
			if d == "[DONE]" {
				continue
			}
			var v any
			if err := json.Unmarshal([]byte(d), &v); err != nil {
				t.Fatalf("%s: %v", d, err)
			}
			list, _ := dig(v, "choices", 0, "delta", "tool_calls").([]any)
			for _, c := range list {
				if id, ok := dig(c, "id").(string); ok {
					ids = append(ids, id)
				}
				name, _ := dig(c, "function", "name").(string)
				got[dig(c, "index").(float64)] += name + dig(c, "function", "arguments").(string)
			}
			if f, ok := dig(v, "choices", 0, "finish_reason").(string); ok {
				finish = f
			}
			if len(list) > 0 {
				c, err := spec.Read([]byte(d), true)
				if err != nil || c.Kind != record.Tool || c.Text == "" {
					t.Errorf("%s is read as %+v %v", d, c, err)
				}
				tools++
			}
		}
		whole := b.post("/v1/chat/completions", fmt.Sprintf(ask, false)).object(t)
		for i := range 2 {
			name, _ := dig(whole, "choices", 0, "message", "tool_calls", i, "function", "name").(string)
			arguments, _ := dig(whole, "choices", 0, "message", "tool_calls", i, "function", "arguments").(string)
			var object struct{ Text string }
			if err := json.Unmarshal([]byte(arguments), &object); err != nil ||
				len(strings.Fields(object.Text)) != 2+i {
				t.Errorf("arguments %q: %v", arguments, err)
			}
			piece, ok := strings.CutPrefix(got[float64(i)], name)
			if err := json.Unmarshal([]byte(piece), &object); !ok ||
				err != nil || len(strings.Fields(object.Text)) != 2+i {
				t.Errorf("in chunks of %d, call %d is %q: %v", chunk, i, got[float64(i)], err)
			}
		}
		if slices.Sort(ids); len(slices.Compact(ids)) != 2 || finish != "tool_calls" ||
			dig(whole, "choices", 0, "finish_reason") != "tool_calls" {
			t.Errorf("in chunks of %d: ids %v, finish %q", chunk, ids, finish)
		}
		log := b.stop()
		if n := len(content(log[0])); n != tools || log[0].OutTokens != 7 ||
			log[1].OutTokens != 7 || log[0].Reasoning != 2 {
			t.Errorf("in chunks of %d: the log has %d events of content, the client %d; %+v", chunk, n, tools, log)
		}
	}
}

// wordOf matches one of an answer; each answer has others.
var wordOf = regexp.MustCompile(` [a-z]+`)

// The other APIs of conversations have calls in their own words: whole and in a
// stream they are the same calls, and go back as such into the conversation.
func TestToolCallsOfOtherAPIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ typ, body, finish, name string }{
		{"messages", `{"model":"m","messages":[{"role":"user","content":"a"}],"max_tokens":7,"stream":%t}`, "tool_use", "look_up"},
		{"responses", `{"model":"m","input":"a","max_output_tokens":7,"stream":%t}`, "completed", ""}, // names stand in events of their own
	} {
		for _, query := range []string{"chunk=1", "chunk=3&reasoning=2", "chunk=100"} {
			b := start(t, "ttft=0s&itl=0s&tool_calls=2&"+query)
			spec, _ := endpoint.Lookup(c.typ)
			whole := b.post(spec.Path, fmt.Sprintf(c.body, false))
			all, err := spec.Read([]byte(whole.body), false)
			if err != nil || all.Kind != record.Tool || all.Finish != c.finish {
				t.Errorf("%s %s: %s is read as %+v %v", c.typ, query, whole.body, all, err)
			}
			stream := b.post(spec.Path, fmt.Sprintf(c.body, true))
			pieces, finish := "", ""
			for _, d := range stream.data() {
				piece, err := spec.Read([]byte(d), true)
				if err != nil {
					t.Fatalf("%s: %v", d, err)
				}
				if piece.Kind == record.Tool {
					pieces += piece.Text
				}
				finish += piece.Finish
			}
			pieces = wordOf.ReplaceAllString(pieces, " w")
			if want := strings.ReplaceAll(wordOf.ReplaceAllString(all.Text, " w"), "look_up", c.name); pieces != want ||
				finish != c.finish {
				t.Errorf("%s %s: pieces %q, whole %q; finish %q", c.typ, query, pieces, want, finish)
			}
			once := spec.Replay(func(yield func([]byte) bool) { yield([]byte(whole.body)) })
			again := spec.Replay(func(yield func([]byte) bool) {
				for _, d := range stream.data() {
					if !yield([]byte(d)) {
						return
					}
				}
			})
			for _, elements := range []string{string(once), string(again)} {
				if n := strings.Count(elements, `"name":"look_up"`); n != 2 {
					t.Errorf("%s %s: %d calls go back into the conversation: %s", c.typ, query, n, elements)
				}
			}
			for _, e := range b.stop() {
				if e.OutTokens != 7 {
					t.Errorf("%s %s: %d tokens made, want 7", c.typ, query, e.OutTokens)
				}
			}
		}
	}
}
