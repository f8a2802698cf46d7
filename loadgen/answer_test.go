package loadgen

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/loadgen/dataset/datasettest"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/endpoint/claims"
	"aiperf.dev/aiperf/loadgen/render"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

// arrived is an exchange whose events came at 10, 20, 30, … ns.
func arrived(streamed bool, events ...string) *transport.Exchange {
	x := &transport.Exchange{
		Status: record.OK, HTTPStatus: 200, Stream: streamed,
		Streamed: streamed, End: int64(10*len(events) + 10),
	}
	for i, e := range events {
		from := int32(len(x.Payload))
		x.Payload = append(x.Payload, e...)
		at := int64(10 * (i + 1))
		x.Events = append(x.Events, transport.Event{
			Start: from, End: int32(len(x.Payload)), At: at, Low: at - 1,
			SameRead: i == 1,
		})
	}
	return x
}

func chatSpec(t *testing.T) *endpoint.Spec {
	t.Helper()
	spec, ok := endpoint.Lookup("chat")
	if !ok {
		t.Fatal("no chat endpoint")
	}
	return spec
}

func TestReadAnswer(t *testing.T) {
	t.Parallel()
	x := arrived(
		true,
		`{"choices":[{"delta":{"role":"assistant","content":""}}]}`,
		`{"choices":[{"delta":{"reasoning_content":"hm"}}]}`,
		`{"choices":[{"delta":{"content":"Hel"}}]}`,
		`{"choices":[{"delta":{"content":"lo"}}]}`,
		`{"choices":[{"delta":{},"finish_reason":"length"}]}`,
		`{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}`,
		`[DONE]`,
	)
	var a answer
	readAnswer(&a, x, chatSpec(t))
	if string(a.text) != "Hello" || string(a.reasoning) != "hm" || a.finish != "length" || !a.ended {
		t.Errorf("text %q, reasoning %q, finish %q, ended %v", a.text, a.reasoning, a.finish, a.ended)
	}
	if a.first != 20 || a.firstOutput != 30 || a.last != 40 {
		t.Errorf("first %d, first output %d, last %d; want 20, 30, 40", a.first, a.firstOutput, a.last)
	}
	if a.usage.Prompt != 7 || a.usage.Completion != 3 || a.usage.Cached != record.None {
		t.Errorf("usage %+v", a.usage)
	}
	var kinds []string
	for _, c := range a.chunks {
		kinds = append(kinds, c.Kind.String())
	}
	if diff := cmp.Diff([]string{"reasoning", "content", "content", "usage", "done"}, kinds); diff != "" {
		t.Errorf("chunks (-want +got):\n%s", diff)
	}
	if c := a.chunks[0]; c.At != 20 || c.Low != 19 || !c.SameRead || int(c.Bytes) != len(x.Data(1)) {
		t.Errorf("first chunk %+v", c)
	}
	if status, kind, text := a.verdict(x, chatSpec(t)); status != record.OK || kind != "" || text != "" {
		t.Errorf("verdict %s %s %s, want ok", status, kind, text)
	}
}

// Nothing after an end mark counts: no content, no usage, no error, no half an
// event.
func TestNothingAfterTheEndMarkCounts(t *testing.T) {
	t.Parallel()
	const content = `{"choices":[{"delta":{"content":"a"}}]}`
	x := arrived(
		true, content, "[DONE]", content, content,
		`{"choices":[],"usage":{"completion_tokens":58}}`, `{"error":"late"}`, `{"choices`,
	)
	x.Unfinished = true
	var a answer
	readAnswer(&a, x, chatSpec(t))
	if string(a.text) != "a" || a.content != 1 || len(a.chunks) != 2 || a.last != 10 || a.usage.Said() {
		t.Errorf("text %q, %d content events, %d chunks, last at %d, usage %+v; want what came before [DONE]",
			a.text, a.content, len(a.chunks), a.last, a.usage)
	}
	if status, kind, text := a.verdict(x, chatSpec(t)); status != record.OK {
		t.Errorf("verdict %s %s %q, want ok", status, kind, text)
	}
}

// The Responses API repeats a text that came in pieces: it counts once. A text
// that comes only whole counts, too.
func TestRepeatedTextCountsOnce(t *testing.T) {
	t.Parallel()
	spec, ok := endpoint.Lookup("responses")
	if !ok {
		t.Fatal("no responses endpoint")
	}
	var a answer
	for range 2 { // buffers are used again
		x := arrived(
			true, `{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"a"}`,
			`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":" b"}`,
			`{"type":"response.output_text.done","output_index":0,"content_index":0,"text":"a b"}`,
			`{"type":"response.output_text.done","output_index":1,"content_index":0,"text":" c"}`,
			`{"type":"response.completed","response":{"status":"completed","usage":{"output_tokens":3}}}`,
		)
		readAnswer(&a, x, spec)
		if string(a.text) != "a b c" || a.content != 3 || a.finish != "completed" || a.usage.Completion != 3 {
			t.Errorf("text %q in %d events, finish %q, usage %+v", a.text, a.content, a.finish, a.usage)
		}
	}
}

// An answer that is sound is one thing, and no text without tokens.
func TestAnswerThatIsBytes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"raw", "template"} {
		spec, ok := endpoint.Lookup(name)
		if !ok || !spec.Bytes {
			t.Fatalf("%s: takes no bytes", name)
		}
		x := arrived(false, "")
		x.AllMedia, x.Media, x.Events[0].Left = true, 70_000, 70_000
		a := answer{text: []byte("of another answer")}
		readAnswer(&a, x, spec)
		if status, kind, text := a.verdict(x, spec); status != record.OK || a.items != 1 || a.first != 10 ||
			a.last != 10 || !a.media || len(a.text) > 0 || len(a.chunks) != 1 || a.chunks[0].Bytes != 70_000 {
			t.Errorf("%s: %s %s %s: %+v", name, status, kind, text, a)
		}
	}
}

func TestVerdictOfAnswers(t *testing.T) {
	t.Parallel()
	const content = `{"choices":[{"delta":{"content":"a"}}]}`
	for _, c := range []struct {
		name       string
		x          *transport.Exchange
		status     record.Status
		kind, text string
	}{
		{"empty stream", arrived(true), record.ParseError, "no_content", "empty"},
		{"only an end", arrived(true, "[DONE]"), record.ParseError, "no_content", "[DONE]"},
		{"role alone", arrived(true, `{"choices":[{"delta":{"role":"assistant"},"finish_reason":"stop"}]}`, "[DONE]"), record.ParseError, "no_content", "role"},
		{"html", arrived(false, "<!DOCTYPE html><p>Login</p>"), record.ParseError, "html", "Login"},
		{"broken JSON", arrived(false, `{"choices":[{"mess`), record.ParseError, "bad_json", "choices"},
		{"other JSON", arrived(false, `{"hello":1}`), record.ParseError, "bad_json", "hello"},
		{"error in a stream", arrived(true, content, `{"error":{"message":"CUDA out of memory","type":"oom"}}`, "[DONE]"), record.ParseError, "server_error", "oom: CUDA out of memory"},
		{"cut", arrived(true, content), record.Truncated, "no_end", ""},
		{"finish reason alone", arrived(true, `{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`), record.OK, "", ""},
		{"whole", arrived(false, `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`), record.OK, "", ""},
	} {
		var a answer
		readAnswer(&a, c.x, chatSpec(t))
		status, kind, text := a.verdict(c.x, chatSpec(t))
		if status != c.status || kind != c.kind || !strings.Contains(text, c.text) {
			t.Errorf("%s: %s %s %q, want %s %s …%s…", c.name, status, kind, text, c.status, c.kind, c.text)
		}
	}
	var a answer
	x := arrived(true, content, "[DONE]")
	x.Stream, x.ContentType = false, "text/event-stream"
	readAnswer(&a, x, chatSpec(t))
	if status, kind, text := a.verdict(x, chatSpec(t)); status != record.OK {
		t.Errorf("stream that was not asked for: %s %s %q", status, kind, text)
	}
	x = arrived(true, content)
	x.Unfinished = true
	readAnswer(&a, x, chatSpec(t))
	if status, kind, _ := a.verdict(x, chatSpec(t)); status != record.Truncated || kind != "unfinished_event" {
		t.Errorf("unfinished: %s %s", status, kind)
	}
	x = arrived(true, content, `{"detail":"engine died"}`)
	x.Events[1].Error = true
	readAnswer(&a, x, chatSpec(t))
	if _, kind, text := a.verdict(x, chatSpec(t)); kind != "server_error" || !strings.Contains(text, "engine died") {
		t.Errorf("event marked as error: %s %s", kind, text)
	}
}

func TestOwnWords(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"error":{"message":"model not found","code":404}}`: "model not found",
		`{"error":"too many requests"}`:                      "too many requests",
		`{"object":"error","message":"context too long"}`:    "context too long",
		`{"detail":"Not Found"}`:                             "Not Found",
		`{"detail":[{"loc":["body"],"msg":"missing"}]}`:      `{"detail":[{"loc":["body"],"msg":"missing"}]}`,
		"  upstream timed out\n":                             "upstream timed out",
		"":                                                   "Bad Gateway",
	} {
		if got := OwnWords([]byte(body), "Bad Gateway"); got != want {
			t.Errorf("OwnWords(%s) = %q, want %q", body, got, want)
		}
	}
}

func TestCleanMasksAndCuts(t *testing.T) {
	t.Parallel()
	e := schema.Endpoint{
		APIKey: "sk-12345", URLs: []string{"http://me:passw0rd@host"},
		Headers: schema.Headers{{Name: "Authorization", Value: "Basic dXNlcg=="}, {Name: "X-Team", Value: "blue"}},
	}
	f := finisher{hide: secret.NewMasker((&schema.Resolved{Benchmark: schema.Benchmark{Endpoint: e}}).Secrets()...)}
	got := f.clean("key sk-12345 of team blue with dXNlcg== at me:passw0rd@host")
	if want := "key *** of team blue with *** at ***@host"; got != want {
		t.Errorf("clean = %q, want %q", got, want)
	}
	// A secret across the cut must not survive as a half.
	got = f.clean(strings.Repeat("ä", 510) + "sk-12345 tail")
	if len(got) > 1024 || !utf8.ValidString(got) || strings.Contains(got, "sk-") {
		t.Errorf("clean of a long text: %d bytes, ends %q", len(got), got[len(got)-10:])
	}
	// Nor one that was cut before it came here: the beginning of an answer.
	for text, want := range map[string]string{
		"it begins {sk-12":        "it begins {***",
		`begins "{\"a\":sk-1234"`: `begins "{\"a\":***"`,
		"it begins {sk-":          "it begins {sk-", // says nothing
		"sk-1234 and more":        "sk-1234 and more",
	} {
		if got := f.clean(text); got != want {
			t.Errorf("clean(%q) = %q, want %q", text, got, want)
		}
	}
	if got := f.clean("bad \xff byte"); !utf8.ValidString(got) {
		t.Errorf("clean leaves invalid text %q", got)
	}
}

// What AIPerf's files say of a refusal is the whole answer, but for secrets; the
// tables have its own words.
func TestRefusalsStandWhole(t *testing.T) {
	t.Parallel()
	f := finisher{
		job: &Job{}, maker: &maker{Renderer: &render.Renderer{Spec: chatSpec(t)}},
		hide: secret.NewMasker((&schema.Resolved{
			Benchmark: schema.Benchmark{Endpoint: schema.Endpoint{APIKey: "sk-1234"}},
		}).Secrets()...),
	}
	for body, want := range map[string][2]string{
		"{\"error\": {\"message\": \"too long\", \"code\": 400}}\n": {"too long", "{\"error\": {\"message\": \"too long\", \"code\": 400}}\n"},
		`{"error":"bad key sk-1234"}`:                               {"bad key ***", `{"error":"bad key ***"}`},
		"overloaded":                                                {"overloaded", ""},
		`{"detail":"` + strings.Repeat("x", 2*maxBody) + `"}`: {
			strings.Repeat("x", maxWords),
			`{"detail":"` + strings.Repeat("x", maxBody-11),
		},
		"": {"Bad Gateway", ""},
	} {
		rec := record.New()
		x := transport.Exchange{
			Status: record.HTTPError, HTTPStatus: 502, ErrorText: "Bad Gateway",
			Payload: []byte(body),
		}
		f.status(&request{x: x}, &answer{}, &rec)
		if rec.ErrorMessage != want[0] || rec.ErrorBody != want[1] {
			t.Errorf("%.60q: message %.60q, body %.60q of %d bytes; want %.60q and %.60q", body, rec.ErrorMessage,
				rec.ErrorBody, len(rec.ErrorBody), want[0], want[1])
		}
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	job := &Job{Endpoint: schema.Endpoint{}}
	f := finisher{job: job, maker: &maker{Renderer: &render.Renderer{
		Spec:      chatSpec(t),
		Tokenizer: datasettest.Bytes{},
	}}}
	a := answer{
		text: []byte("four"), reasoning: []byte("ab"), content: 2,
		usage: claims.Usage{Prompt: 9, Completion: 30, Reasoning: 10, Total: 39, Cached: 5},
	}
	rec := record.New()
	rec.ISL = 8
	f.count(&a, &rec)
	if rec.ISL != 8 || rec.OutputTokens != 4 || rec.ReasoningTokens != 2 || rec.OSL != 6 || rec.UsageCompletion != 30 ||
		rec.Cached != 5 {
		t.Errorf("own counts: %+v", rec)
	}
	job.Endpoint.UseServerTokenCount = true
	f.count(&a, &rec)
	if rec.ISL != 9 || rec.OutputTokens != 20 || rec.ReasoningTokens != 10 || rec.OSL != 30 {
		t.Errorf("server's counts: %+v", rec)
	}
	a.usage.Reasoning = 0 // said, and none
	f.count(&a, &rec)
	if rec.OutputTokens != 30 || rec.ReasoningTokens != 0 || rec.OSL != 30 {
		t.Errorf("no reasoning by the server's counts: %+v", rec)
	}
	a.usage.Reasoning = record.None
	f.count(&a, &rec)
	if rec.OutputTokens != 30 || rec.ReasoningTokens != record.None || rec.OSL != 30 {
		t.Errorf("reasoning that the server does not count: %+v", rec)
	}
	a.usage = claims.NoUsage
	rec = record.New()
	f.count(&a, &rec)
	if rec.ISL != record.None || rec.OSL != record.None {
		t.Errorf("a silent server: ISL %d, OSL %d; want none", rec.ISL, rec.OSL)
	}
}

// What an answer holds beside text, and what the server says about its work in
// header and body, stands in the answer.
func TestItemsAndTimingsOfAnswers(t *testing.T) {
	t.Parallel()
	spec, ok := endpoint.Lookup("hf_tei_rankings")
	if !ok {
		t.Fatal("no hf_tei_rankings")
	}
	x := arrived(false, `[{"index":1,"score":0.9},{"index":0,"score":0.1}]`)
	x.TimeLines = []byte("x-queue-time: 3\r\nx-inference-time: 9\r\n")
	var a answer
	readAnswer(&a, x, spec)
	if a.items != 2 || a.timings.Queue != 3 || a.timings.Decode != 9 {
		t.Errorf("%d items, timings %+v; want 2, 3 and 9 ms", a.items, a.timings)
	}
	readAnswer(&a, arrived(true, `{"choices":[],"timings":{"prompt_ms":2,"predicted_ms":3}}`, "[DONE]"), chatSpec(t))
	if a.items != 0 || a.timings.Queue == 3 || a.timings.Prefill != 2 || a.timings.Decode != 3 {
		t.Errorf("buffers used again: %d items, timings %+v", a.items, a.timings)
	}
}

// A tool call counts as AIPerf counts it: name and arguments, encoded together
// with the prose beside them; ids and the JSON of the message do not count.
func TestToolCallsAreCounted(t *testing.T) {
	t.Parallel()
	tok, err := tokenizer.Open(tokenizer.Default)
	if err != nil {
		t.Fatal(err)
	}
	x := arrived(
		true,
		`{"choices":[{"delta":{"content":"Let me look"}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call-1","type":"function","function":{"name":"look_up","arguments":""}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"text\":"}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\" a b\"}"}}]}}]}`,
		`{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`,
	)
	var a answer
	readAnswer(&a, x, chatSpec(t))
	f := &finisher{job: &Job{}, maker: &maker{Renderer: &render.Renderer{Spec: chatSpec(t), Tokenizer: tok}}}
	rec := record.New()
	f.count(&a, &rec)
	if want := int64(tok.Count(`Let me looklook_up{"text":" a b"}`)); rec.OutputTokens != want ||
		rec.OSL != want || rec.ReasoningTokens != record.None {
		t.Errorf("%d output tokens, OSL %d; want %d", rec.OutputTokens, rec.OSL, want)
	}
}
