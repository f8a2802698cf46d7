package endpoint_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/endpoint"
)

const none = record.None

func usage(prompt, completion, reasoning, total, cached int64) endpoint.Usage {
	return endpoint.Usage{Prompt: prompt, Completion: completion, Reasoning: reasoning, Total: total, Cached: cached}
}

// readCases are answers as real servers write them, the odd ones among them.
var readCases = []struct {
	typ, name string
	stream    bool
	data      string
	want      endpoint.Chunk // Usage left zero means NoUsage
}{
	{"chat", "content", true, `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" the"},"logprobs":null,"finish_reason":null}]}`, endpoint.Chunk{Text: " the"}},
	{"chat", "role only, empty content, usage null", true, `{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}`, endpoint.Chunk{Empty: true}},
	{"chat", "role only, spaces", true, ` { "choices" : [ { "delta" : { "role" : "assistant" } , "index" : 0 } ] } `, endpoint.Chunk{Empty: true}},
	{"chat", "white space is content", true, `{"choices":[{"delta":{"content":"\n"}}]}`, endpoint.Chunk{Text: "\n"}},
	{"chat", "finish mark", true, `{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`, endpoint.Chunk{Empty: true, Finish: "length"}},
	{"chat", "usage without choices", true, `{"choices":[],"usage":{"prompt_tokens":25,"total_tokens":33,"completion_tokens":8,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":3}}}`, endpoint.Chunk{Kind: record.Usage, Empty: true, Usage: usage(25, 8, 3, 33, 0)}},
	{"chat", "usage beside choices", true, `{"choices":[{"delta":{},"index":0}],"usage":{"prompt_tokens":5,"completion_tokens":0,"prompt_tokens_details":null}}`, endpoint.Chunk{Kind: record.Usage, Empty: true, Usage: usage(5, 0, none, none, none)}},
	{"chat", "usage beside content", true, `{"choices":[{"delta":{"content":"x"}}],"usage":{"completion_tokens":4}}`, endpoint.Chunk{Text: "x", Usage: usage(none, 4, none, none, none)}},
	{"chat", "usage, other names", true, `{"choices":[],"usage":{"input_tokens":10,"cache_read_input_tokens":4,"cache_creation_input_tokens":2,"output_tokens":7}}`, endpoint.Chunk{Kind: record.Usage, Empty: true, Usage: usage(16, 7, none, none, 4)}},
	{"chat", "usage, first synonym wins", true, `{"choices":[],"usage":{"input_tokens":10,"prompt_tokens":11,"promptTokenCount":12,"prompt_cache_hit_tokens":1,"total_tokens":1e1}}`, endpoint.Chunk{Kind: record.Usage, Empty: true, Usage: usage(11, none, none, 10, 1)}},
	{"chat", "usage that is none", true, `{"choices":[],"usage":{"prompt_tokens":"7","completion_tokens":-1,"total_tokens":1.5}}`, endpoint.Chunk{Empty: true}},
	{"chat", "done", true, ` [DONE]`, endpoint.Chunk{Kind: record.Done, Empty: true}},
	{"chat", "reasoning_content", true, `{"choices":[{"delta":{"reasoning_content":"hm","content":null}}]}`, endpoint.Chunk{Kind: record.Reasoning, Text: "hm"}},
	{"chat", "reasoning", true, `{"choices":[{"delta":{"reasoning_content":"","reasoning":"hm","content":""}}]}`, endpoint.Chunk{Kind: record.Reasoning, Text: "hm"}},
	{"chat", "reasoning and content", true, `{"choices":[{"delta":{"reasoning":"hm","content":"so"}}]}`, endpoint.Chunk{Text: "so", Reasoning: "hm"}},
	{"chat", "tool call", true, `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"f","arguments":"{\"a\""}},{"function":{"arguments":":1}"}}]}}]}`, endpoint.Chunk{Kind: record.Tool, Text: `f{"a":1}`}},
	{"chat", "tool call beside prose", true, `{"choices":[{"delta":{"content":"I call ","function_call":{"name":"g","arguments":{"a":1}}}}]}`, endpoint.Chunk{Kind: record.Tool, Text: `I call g{"a":1}`}},
	{"chat", "only the first choice", true, `{"choices":[{"delta":{"content":"a"}},{"delta":{"content":"b"},"finish_reason":"stop"}]}`, endpoint.Chunk{Text: "a"}},
	{"chat", "escapes", true, `{"choices":[{"delta":{"content":"\u00e9\ud83d\ude00\ud800x\"\\\/\b\f\n\r\té` + "\xff" + `"}}]}`, endpoint.Chunk{Text: "é😀\ufffdx\"\\/\b\f\n\r\té\ufffd"}},
	{"chat", "escaped key", true, `{"choice\u0073":[{"delta":{"content":"a"}}]}`, endpoint.Chunk{Text: "a"}},
	{"chat", "token ids", true, `{"choices":[{"delta":{"content":"a b"},"token_ids":[5,6,7]}]}`, endpoint.Chunk{Text: "a b", Tokens: 3}},
	{"chat", "logprobs", true, `{"choices":[{"delta":{"content":"a b"},"logprobs":{"content":[{"token":"a","top_logprobs":[]},{"token":" b"}],"refusal":null}}]}`, endpoint.Chunk{Text: "a b", Tokens: 2}},
	{"chat", "another object in the stream", true, `{"type":"ping"}`, endpoint.Chunk{Empty: true}},
	{"chat", "error object", true, `{"error":{"message":"out of memory","type":"server_error","code":500}}`, endpoint.Chunk{Empty: true, ErrKind: "server_error", ErrText: "out of memory"}},
	{"chat", "error code only", true, `{"error":{"code":503,"detail":[1]}}`, endpoint.Chunk{Empty: true, ErrKind: "503", ErrText: `{"code":503,"detail":[1]}`}},
	{"chat", "error string", false, `{"error":"nope"}`, endpoint.Chunk{Empty: true, ErrKind: "error", ErrText: "nope"}},
	{"chat", "error null", true, `{"error":null,"choices":[{"delta":{"content":"a"}}]}`, endpoint.Chunk{Text: "a"}},
	{"chat", "error at the top", false, `{"object":"error","message":"too long","type":"BadRequestError","param":null,"code":400}`, endpoint.Chunk{Empty: true, ErrKind: "BadRequestError", ErrText: "too long"}},
	{"chat", "whole answer", false, `{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hello","tool_calls":[]},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}`, endpoint.Chunk{Text: "Hello", Finish: "stop", Usage: usage(3, 1, none, 4, none)}},
	{"chat", "whole answer with reasoning", false, `{"choices":[{"message":{"content":"Hello","reasoning_content":"hm"},"finish_reason":"stop"}]}`, endpoint.Chunk{Text: "Hello", Reasoning: "hm", Finish: "stop"}},
	{"chat", "content in parts", false, `{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"image"},{"text":"b"}]}}]}`, endpoint.Chunk{Text: "ab"}},
	{"completions", "text", true, `{"object":"text_completion","choices":[{"index":0,"text":" of","finish_reason":null}]}`, endpoint.Chunk{Text: " of"}},
	{"completions", "whole answer", false, `{"choices":[{"text":" of it","finish_reason":"length","logprobs":{"tokens":[" of"," it"],"token_logprobs":[-1,-2]}}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`, endpoint.Chunk{Text: " of it", Tokens: 2, Finish: "length", Usage: usage(1, 2, none, none, none)}},
	{"completions", "done", true, `[DONE]`, endpoint.Chunk{Kind: record.Done, Empty: true}},
	{"embeddings", "vectors", false, `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1,-2e-3]},{"embedding":"AAAA"}],"usage":{"prompt_tokens":9,"total_tokens":9}}`, endpoint.Chunk{Usage: usage(9, none, none, 9, none)}},
	{"embeddings", "error", false, `{"error":{"message":"no such model","code":"model_not_found"}}`, endpoint.Chunk{Empty: true, ErrKind: "model_not_found", ErrText: "no such model"}},
}

func TestRead(t *testing.T) {
	t.Parallel()
	covered := map[string]bool{}
	for _, c := range readCases {
		covered[c.typ] = true
		want := c.want
		if want.Usage == (endpoint.Usage{}) {
			want.Usage = endpoint.NoUsage
		}
		got, err := lookup(t, c.typ).Read([]byte(c.data), c.stream)
		if err != nil {
			t.Errorf("%s, %s: %v", c.typ, c.name, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, %s (-want +got):\n%s", c.typ, c.name, diff)
		}
	}
	for _, spec := range endpoint.Catalogue() {
		if !covered[spec.Type] {
			t.Errorf("endpoint type %s has no reading case", spec.Type)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typ, data string
		stream    bool
		want      string
	}{
		{"chat", "", false, "not a JSON object: the answer is empty"},
		{"chat", "<!DOCTYPE html>\n<title>502", false, `not a JSON object: the answer begins "<!DOCTYPE html>\n<title>502"`},
		{"chat", "[DONE]", false, `not a JSON object: the answer begins "[DONE]"`},
		{"chat", `{"choices":[{"delta":{"content":"ab`, true, `malformed JSON: the answer begins "{\"choices\":[{\"delta\":{\"content\":\"ab"`},
		{"chat", `{"choices":[]} x`, true, `malformed JSON: the answer begins "{\"choices\":[]} x"`},
		{"chat", `{"status":"ok"}`, false, `no "choices": the answer begins "{\"status\":\"ok\"}"`},
		{"chat", `{"choices":[]}`, false, `no "choices": the answer begins "{\"choices\":[]}"`},
		{"embeddings", `{"data":[]}`, false, `no vectors in "data": the answer begins "{\"data\":[]}"`},
		{"embeddings", `{"data":[{"embedding":[1]},{"embedding":null}]}`, false, `no vectors in "data": the answer begins "{\"data\":[{\"embedding\":[1]},{\"embedding\":null}]}"`},
		{"chat", strings.Repeat("x", 500), true, `not a JSON object: the answer begins "` + strings.Repeat("x", 80) + `"`},
	} {
		got, err := lookup(t, c.typ).Read([]byte(c.data), c.stream)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: Read(%q) = %+v, %v\nwant %s", c.typ, c.data, got, err, c.want)
		}
	}
}

func TestLongErrorIsCut(t *testing.T) {
	t.Parallel()
	c, err := lookup(t, "chat").Read([]byte(`{"error":{"message":"`+strings.Repeat("é", 2000)+`"}}`), true)
	if err != nil || c.ErrText != strings.Repeat("é", 512) {
		t.Errorf("Read = %+v, %v; want 512 times é", c, err)
	}
}

func TestHasContentAgreesWithRead(t *testing.T) {
	t.Parallel()
	for _, c := range readCases {
		if !c.stream || strings.Contains(c.data, `\u0073`) {
			continue
		}
		spec := lookup(t, c.typ)
		chunk, err := spec.Read([]byte(c.data), c.stream)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := spec.HasContent([]byte(c.data)), !chunk.Empty; got != want {
			t.Errorf("%s, %s: HasContent = %v, want %v", c.typ, c.name, got, want)
		}
	}
}

// FuzzRead checks every type against encoding/json: Read accepts no object that
// is not valid JSON, and what it reads as content is what is there.
func FuzzRead(f *testing.F) {
	for _, c := range readCases {
		f.Add([]byte(c.data), c.stream)
	}
	f.Fuzz(func(t *testing.T, data []byte, stream bool) {
		for _, spec := range endpoint.Catalogue() {
			spec.HasContent(data)
			c, err := spec.Read(data, stream)
			if err != nil {
				if strings.Contains(err.Error(), "\n") {
					t.Errorf("%s: error of several lines: %v", spec.Type, err)
				}
				continue
			}
			if c.Kind == record.Done {
				continue
			}
			if !json.Valid(data) {
				t.Errorf("%s: Read accepts what is not JSON: %q", spec.Type, data)
			}
			if c.Empty && (c.Text != "" || c.Reasoning != "") || len(c.ErrText) > 1024 {
				t.Errorf("%s: Read(%q) = %+v", spec.Type, data, c)
			}
		}
		compareContent(t, data)
	})
}

// compareContent reads an event by encoding/json, where it has no repeated or
// differently spelt keys, and compares.
func compareContent(t *testing.T, data []byte) {
	var v struct {
		Choices []struct{ Delta struct{ Content *string } }
	}
	if strings.Count(string(data), `"choices"`) != 1 || strings.Count(string(data), `"content"`) != 1 ||
		strings.Count(string(data), `"delta"`) != 1 || strings.Contains(string(data), `\`) || strings.Contains(string(data), `_`) ||
		strings.Contains(string(data), `text`) || strings.Contains(string(data), `message`) || strings.ContainsAny(string(data), "CDſ") ||
		json.Unmarshal(data, &v) != nil || len(v.Choices) == 0 || v.Choices[0].Delta.Content == nil {
		return
	}
	c, err := lookup(t, "chat").Read(data, true)
	if err != nil {
		t.Fatalf("Read(%q): %v", data, err)
	}
	if want := *v.Choices[0].Delta.Content; c.Text != want && want != "" {
		t.Errorf("Read(%q).Text = %q, want %q", data, c.Text, want)
	}
}

func BenchmarkRead(b *testing.B) {
	data := []byte(`{"id":"chatcmpl-8f3b1c2d","object":"chat.completion.chunk","created":1763712345,"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null}`)
	spec := lookup(b, "chat")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := spec.Read(data, true); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHasContent(b *testing.B) {
	data := []byte(`{"id":"chatcmpl-8f3b1c2d","object":"chat.completion.chunk","created":1763712345,"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}`)
	spec := lookup(b, "chat")
	b.ReportAllocs()
	for b.Loop() {
		if spec.HasContent(data) {
			b.Fatal("role chunk has content")
		}
	}
}
