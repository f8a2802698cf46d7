package loadgen

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/endpoint/claims"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

// shape is what was read of an answer, as far as another reader must agree.
type shape struct {
	Text, Reasoning, Tool, Finish string
	Content                       int // events
	Usage                         claims.Usage
	Status                        record.Status
	Kind                          string
}

func shapeOf(spec *endpoint.Spec, x *transport.Exchange) shape {
	var a answer
	readAnswer(&a, x, spec)
	status, kind, _ := a.verdict(x, spec)
	return shape{string(a.text), string(a.reasoning), string(a.tool), a.finish, a.content, a.usage, status, kind}
}

func opened(t *testing.T, e schema.Endpoint) *endpoint.Spec {
	t.Helper()
	spec, err := endpoint.Open(&e)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// textAnswers are answers of the APIs of text; all but the last event of a stream
// is an answer that was cut off.
var textAnswers = []struct {
	typ    string
	stream bool
	events []string
}{
	{"chat", true, []string{
		`{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}`,
		`{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"a"}}]}`,
		`{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}`,
	}},
	{"responses", true, []string{
		`{"type":"response.created","response":{"id":"r","object":"response","status":"in_progress","output":[]}}`,
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","content":[]}}`,
		`{"type":"response.reasoning_text.delta","output_index":0,"content_index":0,"delta":"hm"}`,
		`{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"a"}`,
		`{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":" b"}`,
		`{"type":"response.output_text.done","output_index":1,"content_index":0,"text":"a b"}`,
		`{"type":"response.content_part.done","output_index":1,"content_index":0,"part":{"type":"output_text","text":"a b"}}`,
		`{"type":"response.completed","response":{"object":"response","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"a b"}]}],"usage":{"input_tokens":5,"output_tokens":2}}}`,
	}},
	{"responses", false, []string{`{"id":"r","object":"response","status":"completed","output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]},{"type":"message","content":[{"type":"output_text","text":"a b"}]}],"usage":{"input_tokens":5,"output_tokens":2}}`}},
	{"messages", true, []string{
		`{"type":"message_start","message":{"id":"m","type":"message","content":[],"usage":{"input_tokens":5,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`,
		`{"type": "ping"}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"a"}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}`,
	}},
	{"messages", false, []string{`{"id":"m","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"},{"type":"tool_use","name":"f","input":{"a":1}}],"stop_reason":"tool_use","usage":{"input_tokens":5,"output_tokens":3}}`}},
	{"huggingface_generate", true, []string{
		`{"index":1,"token":{"id":5,"text":" a","logprob":-1,"special":false},"generated_text":null,"details":null}`,
		`{"index":2,"token":{"id":6,"text":" b","logprob":-1,"special":false},"generated_text":null,"details":null}`,
		`{"index":3,"token":{"id":2,"text":"</s>","logprob":-1,"special":true},"generated_text":" a b","details":{"finish_reason":"eos_token","generated_tokens":3,"input_length":5}}`,
	}},
	{"huggingface_generate", false, []string{`{"generated_text":" a b","details":{"finish_reason":"length","generated_tokens":2}}`}},
	{"llamacpp_completion", true, []string{
		`{"index":0,"content":" a","tokens":[5],"stop":false,"id_slot":0,"tokens_predicted":1,"tokens_evaluated":5}`,
		`{"index":0,"content":"","tokens":[],"id_slot":0,"stop":true,"model":"m","tokens_predicted":1,"tokens_evaluated":5,"prompt":"b","stop_type":"limit","timings":{"prompt_ms":1,"predicted_ms":2}}`,
	}},
	{"ollama_generate", true, []string{
		`{"model":"m","created_at":"2026-01-01T00:00:00Z","response":"","thinking":"hm","done":false}`,
		`{"model":"m","created_at":"2026-01-01T00:00:00Z","response":"a","done":false}`,
		`{"model":"m","created_at":"2026-01-01T00:00:00Z","response":"","done":true,"done_reason":"stop","prompt_eval_count":5,"eval_count":2}`,
	}},
	{"ollama_generate", true, []string{ // of /api/chat
		`{"model":"m","message":{"role":"assistant","content":"","thinking":"hm"},"done":false}`,
		`{"model":"m","message":{"role":"assistant","content":"a"},"done":false}`,
		`{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","eval_count":2}`,
	}},
}

// What reads an API that nobody named reads the APIs of text as their own types
// do: pieces, repetitions, reasoning, usage, and where a stream was cut.
func TestRawReadsAsTheOwnType(t *testing.T) {
	t.Parallel()
	for _, c := range textAnswers {
		own := opened(t, schema.Endpoint{Type: c.typ, Streaming: c.stream})
		for _, n := range []int{len(c.events), len(c.events) - 1} {
			if n == 0 {
				continue
			}
			want := shapeOf(own, arrived(c.stream, c.events[:n]...))
			if ok := n == len(c.events); ok != (want.Status == record.OK) || want.Text+want.Tool == "" {
				t.Errorf("%s, %d events: the own type reads %+v", c.typ, n, want)
			}
			for _, typ := range []string{"raw", "template"} {
				e := schema.Endpoint{Type: typ, Streaming: c.stream}
				if typ == "template" {
					e.Template = &schema.BodyTemplate{Body: `{"a": 1}`}
				}
				if diff := cmp.Diff(want, shapeOf(opened(t, e), arrived(c.stream, c.events[:n]...))); diff != "" {
					t.Errorf("%s of %s, %d of %d events (-own +%s):\n%s", typ, c.typ, n, len(c.events), typ, diff)
				}
			}
		}
	}
	for _, data := range []string{ // like one of them, and none
		`{"type":"message","content":"a"}`, `{"message":{"x":1},"text":"a","done":false}`,
		`{"token":{"id":1},"text":"a"}`, `{"object":"response","text":"a"}`,
	} {
		for _, stream := range []bool{true, false} {
			if got := shapeOf(opened(t, schema.Endpoint{Type: "raw"}), arrived(stream, data)); got.Text != "a" &&
				data[2] != 'm' {
				t.Errorf("%s, stream %t: %+v", data, stream, got)
			}
		}
	}
}

// A server that reports no usage reports none, and one that does is heard, where
// the text lies at a path of the user's.
func TestUsageBesideAPath(t *testing.T) {
	t.Parallel()
	template := schema.Endpoint{
		Type:     "template",
		Template: &schema.BodyTemplate{Body: `{"a": 1}`, ResponseField: "answer"},
	}
	rpc := schema.Endpoint{
		Type: "grpc", URLs: []string{"grpc://h:1"},
		RPC: &schema.RPC{Method: "a.B/C", Body: `{"a": 1}`, Text: "answer"},
	}
	said := claims.NoUsage
	said.Prompt = 3
	for _, e := range []schema.Endpoint{template, rpc} {
		for _, stream := range []bool{true, false} {
			for data, want := range map[string]claims.Usage{
				`{"answer":"hello there"}`:                             claims.NoUsage,
				`{"answer":"hello there","usage":{"prompt_tokens":3}}`: said,
			} {
				if got := shapeOf(opened(t, e), arrived(stream, data)); got.Usage != want || got.Text != "hello there" {
					t.Errorf("%s, stream %t: %s: %+v", e.Type, stream, data, got)
				}
			}
		}
	}
}

// What follows the last message of a gRPC stream does not count, and one whose
// last message never came was cut off, although the server ended the stream well.
func TestLastMessage(t *testing.T) {
	t.Parallel()
	spec := opened(t, schema.Endpoint{
		Type: "grpc", Streaming: true, URLs: []string{"grpc://h:1"},
		RPC: &schema.RPC{Method: "a.B/C", Body: `{"a": 1}`, Text: "tok", Done: "fin"},
	})
	const word, last = `{"tok":" a"}`, `{"tok":" b","fin":true}`
	triton := opened(t, schema.Endpoint{Type: "kserve_v2_infer", Streaming: true, URLs: []string{"grpc://h:1"}})
	const part = `{"outputs":[{"name":"text_output","datatype":"BYTES","shape":[1],"data":[" a"]}]}`
	for _, c := range []struct {
		name   string
		spec   *endpoint.Spec
		events []string
		text   string
		status record.Status
	}{
		{"more after the last", spec, []string{word, last, word, word, "[DONE]"}, " a b", record.OK},
		{"no last", spec, []string{word, word, "[DONE]"}, " a a", record.Truncated},
		{"more after Triton's last", triton, []string{part, `{"parameters":{"triton_final_response":true},"outputs":[]}`, part, "[DONE]"}, " a", record.OK},
		{"Triton marks the last only if it is asked to", triton, []string{part, part, "[DONE]"}, " a a", record.OK},
	} {
		x := arrived(true, c.events...)
		x.OwnEnd = true
		var a answer
		readAnswer(&a, x, c.spec)
		status, _, text := a.verdict(x, c.spec)
		if status != c.status || string(a.text) != c.text || status != record.OK &&
			text != "the stream ended, and rpc.done fin was true of none of its messages" {
			t.Errorf("%s: %s %q: %q", c.name, status, text, a.text)
		}
	}
	x := arrived(true, `{"word":"a"}`, "[DONE]")
	x.OwnEnd = true
	var a answer
	readAnswer(&a, x, spec)
	if status, _, text := a.verdict(x, spec); status != record.ParseError ||
		text != `rpc.text tok finds nothing in the answer, which begins {"word":"a"}` {
		t.Errorf("a path that leads nowhere: %s %s", status, text)
	}
}

// Of several answers to one request one counts, streamed or not.
func TestOneOfSeveralAnswers(t *testing.T) {
	t.Parallel()
	for typ, c := range map[string]struct{ stream, whole []string }{
		"chat": {
			[]string{
				`{"choices":[{"index":0,"delta":{"role":"assistant"}},{"index":1,"delta":{"role":"assistant"}}]}`,
				`{"choices":[{"index":0,"delta":{"content":"a"}}]}`,
				`{"choices":[{"index":1,"delta":{"content":"x"}}]}`,
				`{"choices":[{"delta":{"content":"y"},"finish_reason":"length","index":1}]}`,
				`{"choices":[{"index":1,"delta":{"content":"z"}},{"index":0,"delta":{"content":" b"}}]}`,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
				`{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":5}}`, "[DONE]",
			},
			[]string{`{"choices":[{"index":1,"message":{"content":"xyz"},"finish_reason":"length"},{"index":0,"message":{"content":"a b"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":5}}`},
		},
		"completions": {
			[]string{
				`{"choices":[{"text":"a","index":0}]}`, `{"choices":[{"text":"x","index":1}]}`,
				`{"choices":[{"text":" b","index":0,"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":5}}`, "[DONE]",
			},
			[]string{`{"choices":[{"text":"a b","finish_reason":"stop"},{"text":"x","finish_reason":"length"}],"usage":{"prompt_tokens":5,"completion_tokens":5}}`},
		},
	} {
		spec := opened(t, schema.Endpoint{Type: typ, Streaming: true})
		streamed, whole := shapeOf(spec, arrived(true, c.stream...)), shapeOf(spec, arrived(false, c.whole...))
		for i, e := range c.stream { // whatever the number is of the one that comes first
			c.stream[i] = strings.NewReplacer(`"index":0`, `"index":1`, `"index":1`, `"index":0`).Replace(e)
		}
		if diff := cmp.Diff(streamed, shapeOf(spec, arrived(true, c.stream...))); diff != "" && typ == "completions" {
			t.Errorf("%s, counted from the other end:\n%s", typ, diff)
		}
		if streamed.Content != 2 || whole.Content != 1 {
			t.Errorf("%s: %d and %d events of content, want 2 and 1", typ, streamed.Content, whole.Content)
		}
		streamed.Content = whole.Content
		if diff := cmp.Diff(streamed, whole); diff != "" || whole.Text != "a b" || whole.Status != record.OK {
			t.Errorf("%s: %+v (-streamed +whole):\n%s", typ, whole, diff)
		}
	}
}

// A number of tokens that no answer can have is none: it would not fit where
// counts are kept.
func TestImpossibleCounts(t *testing.T) {
	t.Parallel()
	for typ, events := range map[string][]string{
		"chat":                 {`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3000000000,"completion_tokens":5e9,"total_tokens":8000000000,"prompt_tokens_details":{"cached_tokens":2147483648}}}`},
		"messages":             {`{"type":"content_block_delta","delta":{"text":"a"}}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":2147483647,"cache_creation_input_tokens":2147483647}}`},
		"huggingface_generate": {`{"token":{"text":"a"},"generated_text":"a","details":{"finish_reason":"length","generated_tokens":3000000000,"input_length":-1}}`},
		"llamacpp_completion":  {`{"content":"a","stop":true,"stop_type":"eos","tokens_predicted":3000000000,"tokens_evaluated":-1,"timings":{"prompt_ms":1,"cache_n":3000000000}}`},
		"ollama_generate":      {`{"response":"a","done":true,"eval_count":3000000000,"prompt_eval_count":-1}`},
	} {
		if got := shapeOf(opened(t, schema.Endpoint{Type: typ, Streaming: true}),
			arrived(true, events...)); got.Usage != claims.NoUsage || got.Status != record.OK {
			t.Errorf("%s: %+v", typ, got)
		}
	}
	most := shapeOf(opened(t, schema.Endpoint{Type: "chat"}),
		arrived(false, `{"choices":[{"message":{"content":"a"}}],"usage":{"prompt_tokens":2147483647}}`))
	if most.Usage.Prompt != 1<<31-1 {
		t.Errorf("the most that is kept: %d", most.Usage.Prompt)
	}
}

// What came before a stream failed does not stand where the server's words are
// why; the body of a refusal does.
func TestWordsOfAFailedStream(t *testing.T) {
	t.Parallel()
	f := finisher{job: &Job{}}
	for name, c := range map[string]struct {
		x    *transport.Exchange
		want string
	}{
		"gRPC, mid way": {arrived(true, `{"tok":" word"}`, `{"tok":" word"}`), "gone mid way"},
		"HTTP":          {&transport.Exchange{Payload: []byte(`{"error":{"message":"no such model"}}`)}, "no such model"},
	} {
		r := &request{}
		r.x = *c.x
		r.x.Status, r.x.HTTPStatus, r.x.ErrorKind, r.x.ErrorText = record.HTTPError, 503, "grpc_unavailable",
			"gone mid way"
		var rec record.Record
		f.status(r, &answer{}, &rec)
		if rec.ErrorMessage != c.want || rec.Status != record.HTTPError || rec.HTTPStatus != 503 {
			t.Errorf("%s: %s %d %q, want %q", name, rec.Status, rec.HTTPStatus, rec.ErrorMessage, c.want)
		}
	}
}
