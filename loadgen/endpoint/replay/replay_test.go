package replay_test

import (
	"encoding/json"
	"strings"
	"testing"

	"aiperf.dev/aiperf/loadgen/endpoint/replay"
)

// What AIPerf 0.13 put into the next request after these answers, as recorded by
// a server, and what stands in the way of it.
func TestReplay(t *testing.T) {
	t.Parallel()
	const (
		message = `{"type":"message","id":"m1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hi <b>","annotations":[]}]}`
		called  = `{"type":"function_call","id":"fc1","call_id":"call1","name":"f","arguments":"{}","status":"completed"}`
		output  = `[{"type":"reasoning","id":"rs1"},` + message + `,` +
			called + `,{"type":"web_search_call","id":"ws"}]`
		chunk = `{"object":"chat.completion.chunk","choices":[{"index":0,"delta":`
	)
	for _, c := range []struct {
		name   string
		of     func(replay.Events) []byte
		events []string
		want   string
	}{
		{"text alone", replay.Chat, []string{chunk + `{"content":"Hi"}}]}`, "[DONE]"}, ""},
		{"calls, whole", replay.Chat, []string{`{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"},"signature":"x"}]}}]}`}, `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"},"signature":"x"}]}`},
		{
			"calls, in pieces", replay.Chat,
			[]string{
				chunk + `{"role":"assistant","content":"Let me see."}}]}`,
				chunk + `{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":""}},{"index":1,"id":"c2","type":"function","function":{"name":"g"}}]}}]}`,
				chunk + `{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]}}]}`,
				"not JSON with \"tool_calls\"",
				chunk + `{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]},"finish_reason":"tool_calls"}]}`,
				"[DONE]",
			},
			`{"role":"assistant","content":"Let me see.","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},{"id":"c2","type":"function","function":{"name":"g","arguments":""}}]}`,
		},
		{"calls without numbers", replay.Chat, []string{chunk + `{"tool_calls":[{"id":"a","function":{"name":"f"}},{"id":"b","function":{"name":"g"}}]}}]}`}, `{"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"f","arguments":""}},{"id":"b","function":{"name":"g","arguments":""}}]}`},
		{"function_call of old", replay.Chat, []string{`{"choices":[{"message":{"content":null,"function_call":{"name":"f","arguments":"{}"}}}]}`}, `{"role":"assistant","content":null,"tool_calls":[{"type":"function","function":{"name":"f","arguments":"{}"}}]}`},
		{"another answer's calls", replay.Chat, []string{
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f"}}]}}]}`,
			`{"choices":[{"index":1,"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"g"}}]}}]}`,
		}, `{"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"f","arguments":""}}]}`},
		{"null calls", replay.Chat, []string{`{"choices":[{"message":{"content":"Hi","tool_calls":null}}]}`}, ""},
		{"no choices", replay.Chat, []string{`{"choices":[],"x":"\"tool_calls\""}`}, ""},

		{"response, whole", replay.Responses, []string{`{"id":"r","object":"response","status":"completed","output":` + output + `}`}, message + "," + called},
		{
			"response, streamed", replay.Responses,
			[]string{
				`{"type":"response.output_text.delta","delta":"Hi"}`,
				`{"type":"response.output_item.done","item":` + message + `}`,
				`{"type":"response.output_item.done","item":{"type":"function_call","id":"fc2"}}`,
				`{"type":"response.completed","response":{"output":` + output + `}}`,
			},
			message + "," + called + `,{"type":"function_call","id":"fc2"}`,
		},
		{"items alone", replay.Responses, []string{`{"type":"response.output_item.done","item":{"type":"message","role":"assistant"}}`, `{"type":"response.output_item.done","item":{"type":"message","role":"assistant"}}`}, `{"type":"message","role":"assistant"}`},
		{"response that failed", replay.Responses, []string{`{"type":"response.output_item.done","item":` + message + `}`, `{"type":"response.incomplete","response":{"output":` + output + `}}`}, ""},
		{"no items", replay.Responses, []string{`{"type":"response.output_text.delta","delta":"Hi"}`, `{"type":"response.completed","response":{"output":[]}}`}, ""},
		{"items that are none", replay.Responses, []string{`{"type":"response.output_item.done","item":7}`, `{"type":"response.output_item.done"}`}, ""},

		{"message, text alone", replay.Messages, []string{`{"type":"message","content":[{"type":"text","text":"Hi"}]}`}, ""},
		{"message, whole", replay.Messages, []string{`{"type":"message","content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"text","text":"Hi"},{"type":"tool_use","id":"t1","name":"f","input":{"a":1}}]}`}, `{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"text","text":"Hi"},{"type":"tool_use","id":"t1","name":"f","input":{"a":1}}]}`},
		{
			"message, streamed", replay.Messages,
			[]string{
				`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}`,
				`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
				`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}`,
				`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t1","name":"f","input":{},"caller":{"type":"direct"}}}`,
				`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}`,
				`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"1}"}}`,
				`{"type":"content_block_delta","index":9,"delta":{"type":"input_json_delta","partial_json":"lost"}}`,
				`{"type":"message_stop"}`,
			},
			`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"text","text":"Hi"},{"type":"tool_use","id":"t1","name":"f","input":{"a":1},"caller":{"type":"direct"}}]}`,
		},
		{"arguments cut off", replay.Messages, []string{`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t"}}`, `{"type":"content_block_delta","index":0,"delta":{"partial_json":"{\"a"}}`}, `{"role":"assistant","content":[{"type":"tool_use","id":"t","input":"{\"a"}]}`},
	} {
		events := func(yield func([]byte) bool) {
			for _, e := range c.events {
				data := []byte(e)
				if !yield(data) {
					return
				}
				clear(data) // it is only lent
			}
		}
		if got := string(c.of(events)); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// Whatever came, what goes into the next request is JSON.
func FuzzReplay(f *testing.F) {
	f.Add(`{"choices":[{"message":{"content":"a","tool_calls":[{"index":-1,"function":{}}]}}]}`)
	f.Add(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","input":3,"type":"x"}}` + "\n" +
		`{"type":"content_block_delta","index":0,"delta":{"partial_json":"[","signature":"s"}}`)
	f.Add(`{"type":"response.output_item.done","item":{"a":[1,{}]}}`)
	f.Fuzz(func(t *testing.T, all string) {
		lines := strings.Split(all, "\n")
		for _, of := range []func(replay.Events) []byte{replay.Chat, replay.Responses, replay.Messages} {
			got := of(func(yield func([]byte) bool) {
				for _, l := range lines {
					if !yield([]byte(l)) {
						return
					}
				}
			})
			if !json.Valid([]byte("[" + string(got) + "]")) {
				t.Errorf("after %q: %s", lines, got)
			}
		}
	})
}

// The name of an answer that the server stores is taken from whatever of its
// events says it, unless the answer failed.
func TestStored(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want   string
		events []string
	}{
		{"resp_1", []string{`{"id":"resp_1","object":"response","status":"completed","output":[{"id":"msg_1"}]}`}},
		{"resp_1", []string{`{"type":"response.created","response":{"id":"resp_1","status":"in_progress"}}`, `{"type":"response.output_text.delta","delta":"a"}`, `{"type":"response.completed","response":{"id":"resp_1","status":"completed"}}`}},
		{"resp_1", []string{`{"type":"response.created","response":{"id":"resp_1"}}`, `{"type":"response.output_item.done","item":{"id":"msg_1"}}`}},
		{"", []string{`{"type":"response.created","response":{"id":"resp_1"}}`, `{"type":"response.failed","response":{"id":"resp_1","status":"failed"}}`}},
		{"", []string{`{"type":"response.created","response":{"id":"resp_1"}}`, `{"type":"error","message":"x"}`}},
		{"", []string{`{"id":"resp_1","status":"incomplete"}`}},
		{"", []string{`[`, `{}`, `7`}},
	} {
		got := replay.Stored(func(yield func([]byte) bool) {
			for _, e := range c.events {
				if !yield([]byte(e)) {
					return
				}
			}
		})
		if got != c.want {
			t.Errorf("Stored(%q) = %q, want %q", c.events, got, c.want)
		}
	}
}
