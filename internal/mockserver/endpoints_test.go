package mockserver

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"aiperf.dev/aiperf/loadgen/tokenizer"
)

func count(t *testing.T, text string) int {
	t.Helper()
	tok, err := tokenizer.Open("o200k_base")
	if err != nil {
		t.Fatal(err)
	}
	return tok.Count(text)
}

// Every answer text has exactly as many tokens as the server says.
func TestWordsAreTokens(t *testing.T) {
	t.Parallel()
	for _, w := range words {
		if n := count(t, w); n != 1 {
			t.Errorf("%q is %d tokens", w, n)
		}
	}
	for n := range int64(len(words)) {
		for _, length := range []int{1, 2, 17, len(words) + 3} {
			if got := count(t, string(text(nil, n, 0, length))); got != length {
				t.Errorf("answer %d of %d words has %d tokens", n, length, got)
			}
		}
	}
}

const chatBody = `{"model":"m","messages":[{"role":"user","content":"one two three"}],"max_tokens":5,"stream":%t,"stream_options":{"include_usage":true}}`

func TestChat(t *testing.T) {
	t.Parallel()
	b := start(t, "ttft=1ms&itl=100us&reasoning=2&cached=0.5")
	stream := b.post("/v1/chat/completions", fmt.Sprintf(chatBody, true))
	whole := b.post("/v1/chat/completions", fmt.Sprintf(chatBody, false))
	log := b.stop()

	if ct := stream.header.Get("Content-Type"); stream.status != 200 || ct != "text/event-stream" {
		t.Fatalf("stream: %d %s: %s", stream.status, ct, stream.body)
	}
	content, reasoning := stream.streamed(t, "choices", 0, "delta", "content"),
		stream.streamed(t, "choices", 0, "delta", "reasoning_content")
	if count(t, content) != 3 || count(t, reasoning) != 2 {
		t.Errorf("stream: content %q, reasoning %q; want 3 and 2 tokens", content, reasoning)
	}
	data := stream.data()
	// role, 5 tokens, finish, usage, end mark
	if len(data) != 9 || data[8] != "[DONE]" || !strings.Contains(data[0], `"role":"assistant"`) ||
		!strings.Contains(data[6], `"finish_reason":"length"`) {
		t.Errorf("stream: events %q", data)
	}
	o := whole.object(t)
	if c, r := dig(o, "choices", 0, "message", "content"), dig(o, "choices", 0, "message",
		"reasoning_content"); count(t, c.(string)) != 3 || count(t, r.(string)) != 2 {
		t.Errorf("whole: %v, %v", c, r)
	}
	var last any
	if err := json.Unmarshal([]byte(data[7]), &last); err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]any{"stream": last, "whole": o} {
		for path, want := range map[string]float64{"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8} {
			if got := dig(v, "usage", path); got != want {
				t.Errorf("%s: usage %s = %v, want %v", name, path, got, want)
			}
		}
		if got := dig(v, "usage", "completion_tokens_details", "reasoning_tokens"); got != 2.0 {
			t.Errorf("%s: reasoning tokens %v, want 2", name, got)
		}
		if got := dig(v, "usage", "prompt_tokens_details", "cached_tokens"); got != 1.0 {
			t.Errorf("%s: cached tokens %v, want 1", name, got)
		}
	}
	for i, e := range log {
		if e.InTokens != 3 || e.OutTokens != 5 || e.Reasoning != 2 || e.Status != 200 || e.Model != "m" ||
			e.Stream != (i == 0) {
			t.Errorf("log %d: %+v", i, e)
		}
	}
}

func TestUsageModes(t *testing.T) {
	t.Parallel()
	cases := []struct {
		query, options string
		reports        int // events of a stream that carry a usage
		completion     float64
	}{
		{"usage=asked", `{"include_usage":true}`, 1, 4},
		{"usage=asked", `{}`, 0, 0},
		{"usage=on", `{}`, 1, 4},
		{"usage=off", `{"include_usage":true}`, 0, 0},
		{"usage=each", `{}`, 6, 4}, // 4 tokens, finish, usage
		{"usage=on&lie=1.5", `{}`, 1, 6},
		{"usage=asked", `{"include_usage":true,"continuous_usage_stats":true}`, 6, 4},
	}
	for _, c := range cases {
		b := start(t, "ttft=0s&"+c.query)
		a := b.post("/v1/chat/completions",
			`{"messages":[{"content":"a"}],"max_tokens":4,"stream":true,"stream_options":`+c.options+`}`)
		b.stop()
		reports, completion := 0, 0.0
		for _, d := range a.data() {
			var v any
			if json.Unmarshal([]byte(d), &v) == nil && dig(v, "usage") != nil {
				reports++
				completion, _ = dig(v, "usage", "completion_tokens").(float64)
			}
		}
		if reports != c.reports || completion != c.completion {
			t.Errorf("%s, stream_options %s: %d reports, completion_tokens %v; want %d, %v", c.query, c.options,
				reports, completion, c.reports, c.completion)
		}
	}
}

func TestLengths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		query, fields string
		want          int
		finish        string
	}{
		{"", ``, 16, "stop"},
		{"osl=3", ``, 3, "stop"},
		{"", `,"max_tokens":7`, 7, "length"},
		{"", `,"max_completion_tokens":8`, 8, "length"},
		{"", `,"max_tokens":2,"min_tokens":6`, 6, "length"},
		{"max_osl=4", `,"max_tokens":7`, 4, "length"},
	} {
		b := start(t, "ttft=0s&"+c.query)
		a := b.post("/v1/completions", `{"prompt":"a"`+c.fields+`}`)
		b.stop()
		o := a.object(t)
		if n := count(t, dig(o, "choices", 0, "text").(string)); n != c.want ||
			dig(o, "choices", 0, "finish_reason") != c.finish {
			t.Errorf("%q %s: %d tokens, %v; want %d, %s", c.query, c.fields, n, dig(o, "choices", 0, "finish_reason"),
				c.want, c.finish)
		}
	}
}

// Several tokens per event, and the role event's three places.
func TestEventsOfAStream(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		query string
		want  string // kinds in the log
	}{
		{"chunk=1", "header role content content content content content done end"},
		{"chunk=2", "header role content content content done end"},
		{"chunk=2&reasoning=3", "header role reasoning reasoning content done end"},
		{"role=first", "header role content content content content content done end"},
		{"role=none", "header content content content content content done end"},
		{"empty=1", "header role done end"},
		{"stream_error=1", "header role content content content error end"},
	} {
		b := start(t, "ttft=0s&"+c.query)
		b.post("/v1/chat/completions", fmt.Sprintf(chatBody, true))
		e := b.stop()[0]
		var kinds []string
		for _, ch := range e.Chunks {
			kinds = append(kinds, ch.Kind)
		}
		if got := strings.Join(kinds, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.query, got, c.want)
		}
	}
}

func TestCompletionsAndResponses(t *testing.T) {
	t.Parallel()
	b := start(t, "ttft=0s&usage=on&reasoning=1")
	text := b.post("/v1/completions", `{"prompt":"a b","max_tokens":3,"stream":true}`)
	response := b.post("/v1/responses", `{"input":"a b c","max_output_tokens":4,"stream":true}`)
	whole := b.post("/v1/responses", `{"input":"a b c","max_output_tokens":4}`).object(t)
	b.stop()
	if s := text.streamed(t, "choices", 0, "text"); count(t, s) != 3 {
		t.Errorf("completions: %q", s)
	}
	if d := text.data(); d[len(d)-1] != "[DONE]" || !strings.Contains(d[0], `"object":"text_completion"`) {
		t.Errorf("completions: %q", d)
	}
	if s := response.streamed(t, "delta"); count(t, s) != 4 {
		t.Errorf("responses: %q, want 4 tokens", s)
	}
	d := response.data()
	var last any
	if err := json.Unmarshal([]byte(d[len(d)-1]), &last); err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{dig(last, "response"), whole} {
		if dig(v, "usage", "output_tokens") != 4.0 || dig(v, "usage", "input_tokens") != 3.0 || dig(v, "usage",
			"output_tokens_details", "reasoning_tokens") != 1.0 {
			t.Errorf("responses: usage %v", dig(v, "usage"))
		}
		if s, _ := dig(v, "output", 1, "content", 0, "text").(string); count(t, s) != 3 {
			t.Errorf("responses: output %v", dig(v, "output"))
		}
	}
}

func TestEmbeddingsAndRankings(t *testing.T) {
	t.Parallel()
	b := start(t, "ttft=0s&dims=3")
	plain := b.post("/v1/embeddings", `{"model":"e","input":["a","b c"]}`).object(t)
	encoded := b.post("/v1/embeddings", `{"model":"e","input":"a","encoding_format":"base64"}`).object(t)
	nim := b.post("/v1/ranking", `{"query":{"text":"q"},"passages":[{"text":"a"},{"text":"b"}]}`).object(t)
	cohere := b.post("/v2/rerank", `{"query":"q","documents":["a","b","c"]}`).object(t)
	tei := b.post("/rerank", `{"query":"q","texts":["a","b"]}`)
	b.stop()
	if l, _ := dig(plain, "data").([]any); len(l) != 2 || dig(l, 1, "object") != "embedding" ||
		len(dig(l, 1, "embedding").([]any)) != 3 {
		t.Errorf("embeddings: %v", plain)
	}
	if dig(plain, "usage", "prompt_tokens") != 3.0 {
		t.Errorf("embeddings: usage %v", dig(plain, "usage"))
	}
	if raw, err := base64.StdEncoding.DecodeString(dig(encoded, "data", 0, "embedding").(string)); err != nil ||
		len(raw) != 12 {
		t.Errorf("base64 embedding: %d bytes, %v; want 12", len(raw), err)
	}
	if l, _ := dig(nim, "rankings").([]any); len(l) != 2 || dig(l, 0, "logit") != 1.0 {
		t.Errorf("NIM ranking: %v", nim)
	}
	if l, _ := dig(cohere, "results").([]any); len(l) != 3 || dig(l, 0, "relevance_score") != 1.0 {
		t.Errorf("Cohere ranking: %v", cohere)
	}
	var list []any
	if err := json.Unmarshal([]byte(tei.body), &list); err != nil || len(list) != 2 || dig(list, 0, "score") != 1.0 {
		t.Errorf("TEI ranking: %s", tei.body)
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	b := start(t, "ttft=0s&model=big,small")
	b.post("/v1/completions", `{"model":"big","prompt":"a b","max_tokens":3}`)
	if a := b.get("/health"); a.status != 200 {
		t.Errorf("/health: %d", a.status)
	}
	if o := b.get("/v1/models").object(t); dig(o, "data", 0, "id") != "big" || dig(o, "data", 1, "id") != "small" {
		t.Errorf("/v1/models: %v", o)
	}
	m := b.get("/metrics")
	for _, want := range []string{
		`vllm:request_success_total{engine="0",model_name="big",finished_reason="length"} 1.0`,
		`vllm:prompt_tokens_total{engine="0",model_name="big"} 2.0`,
		`vllm:generation_tokens_total{engine="0",model_name="big"} 3.0`, "# TYPE vllm:num_requests_running gauge",
	} {
		if !strings.Contains(m.body, want+"\n") {
			t.Errorf("/metrics has no %q:\n%s", want, m.body)
		}
	}
	if o := b.get("/stats").object(t); o["requests"] != 1.0 || o["output_tokens"] != 3.0 {
		t.Errorf("/stats: %v", o)
	}
	for path, want := range map[string]int{"/nothing": 404, "/v1/chat/completions": 404} {
		if a := b.get(path); a.status != want {
			t.Errorf("GET %s: %d, want %d", path, a.status, want)
		}
	}
	for _, c := range []struct {
		path, body, says string
		want             int
	}{
		{"/v1/completions", `{"model":"other"}`, `model \"other\" does not exist; served: big, small`, 404},
		{"/v1/nothing", `{}`, "no such path", 404},
		{"/v1/completions", `not json`, "not the JSON expected", 400},
	} {
		if a := b.post(c.path, c.body); a.status != c.want || !strings.Contains(a.body, c.says) {
			t.Errorf("POST %s %s: %d %s, want %d, %q", c.path, c.body, a.status, a.body, c.want, c.says)
		}
	}
	b.stop()
}
