package endpoint_test

import (
	"testing"

	"aiperf.dev/aiperf/loadgen/endpoint"
)

// Each API's own mark ends its stream, and nothing that only looks like it.
func TestEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typ, data string
		want      bool
	}{
		{"chat", `{"choices":[{"delta":{},"finish_reason":"stop"}]}`, false}, // usage may follow, and [DONE] does
		{"llamacpp_completion", `{"index":0,"content":"a","stop":false}`, false},
		{"llamacpp_completion", `{"content":"say \"stop\": true","stop":false}`, false},
		{"llamacpp_completion", `{"content":"","stop" : true,"stop_type":"limit"}`, true},
		{"llamacpp_completion", `{"generation_settings":{"stop":[]},"content":"","stop":true}`, true},
		{"llamacpp_completion", `{"content":"","nested":{"stop":true},"stop":false}`, false},
		{"huggingface_generate", `{"token":{"text":"a"},"generated_text":null,"details":null}`, false},
		{"huggingface_generate", `{"token":{"text":"a"},"generated_text":"a","details":{"finish_reason":"length"}}`, true},
		{"ollama_generate", `{"response":"a","done":false}`, false},
		{"ollama_generate", `{"response":"","done":true,"done_reason":"stop"}`, true},
		{"messages", `{"type":"content_block_delta","delta":{"type":"text_delta","text":"message_stop"}}`, false},
		{"messages", `{"type":"message_stop"}`, true},
		{"responses", `{"type":"response.output_text.delta","delta":"\"response.completed\""}`, false},
		{"responses", `{"type":"response.output_text.done","text":"a"}`, false},
		{"responses", `{"type":"response.completed","response":{"status":"completed"}}`, true},
		{"kserve_v2_infer", `{"outputs":[{"name":"text_output","datatype":"BYTES","shape":[1],"data":["a"]}],"parameters":{"triton_final_response":false}}`, false},
		{"kserve_v2_infer", `{"outputs":[{"name":"text_output","datatype":"BYTES","shape":[1],"data":["a"]}],"parameters":{"triton_final_response":true}}`, true},
		{"raw", `{"type":"message_stop"}`, true},
		{"raw", `{"type":"response.completed","response":{"status":"completed"}}`, true},
		{"raw", `{"choices":[{"delta":{},"finish_reason":"stop"}]}`, false},
		{"raw", `{"text":"message_stop \"stop\": true"}`, false},
		{"template", `{"response":"","done":true,"done_reason":"stop"}`, true},
		{"template", `{"content":"","stop":true,"stop_type":"limit"}`, true},
		{"template", `{"generated_text":"a","details":{"finish_reason":"length"},"token":{"text":"a"}}`, true},
		{"template", `{"text":"a","done":true}`, false},                            // of an API that nobody knows
		{"llamacpp_completion", `{"error":{"message":"boom"},"stop":true}`, false}, // what follows may say more
	} {
		if got := lookup(t, c.typ).Ends([]byte(c.data)); got != c.want {
			t.Errorf("%s ends with %s: %v", c.typ, c.data, got)
		}
	}
}

// An error in a stream is one for every API that streams, in whichever of the
// usual forms it is said.
func TestErrorsInStreams(t *testing.T) {
	t.Parallel()
	for _, spec := range endpoint.Catalogue() {
		if !spec.CanStream {
			continue
		}
		for _, data := range []string{
			`{"error":{"message":"boom","type":"server_error","code":500}}`,
			`{"error":"boom"}`, `{"error":true,"message":"boom"}`,
			`{"object":"error","message":"boom","code":500}`,
		} {
			if c, err := spec.Read([]byte(data), true); err == nil && c.ErrKind == "" {
				t.Errorf("%s takes %s for a part of an answer: %+v", spec.Type, data, c)
			}
		}
	}
}
