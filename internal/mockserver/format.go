package mockserver

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
)

// format is how one endpoint spells an answer. Functions append to b.
type format struct {
	name   string
	path   string
	tokens bool // makes output tokens, and can stream

	begin func(b []byte, x *exchange) []byte               // first event of a stream, if any
	token func(b []byte, x *exchange, from, to int) []byte // tokens from..to, all of one kind
	end   func(b []byte, x *exchange) []byte               // closing events
	whole func(b []byte, x *exchange) []byte               // answer without a stream
}

var formats = []format{
	{name: "chat", path: "/v1/chat/completions", tokens: true, begin: chatBegin, token: chatToken, end: chatEnd, whole: chatWhole},
	{name: "completions", path: "/v1/completions", tokens: true, token: textToken, end: textEnd, whole: textWhole},
	{name: "responses", path: "/v1/responses", tokens: true, begin: responsesBegin, token: responsesToken, end: responsesEnd, whole: responsesWhole},
	{name: "embeddings", path: "/v1/embeddings", whole: embeddings},
	{name: "rankings", path: "/v1/ranking", whole: ranking("rankings", "logit")},
	{name: "rankings", path: "/v2/rerank", whole: ranking("results", "relevance_score")},
	{name: "rankings", path: "/rerank", whole: ranking("", "score")},
}

// head opens the object every chunk of chat and completions begins with.
func head(b []byte, x *exchange, object string) []byte {
	return fmt.Appendf(b, `"id":"%s","object":"%s","created":%d,"model":%s`, x.id, object, x.conn.server.created, quote(x.call.model))
}

func quote(s string) []byte { return appendString(nil, []byte(s)) }

// appendUsage writes the report after made tokens.
func appendUsage(b []byte, x *exchange, made int) []byte {
	in, out := x.claimed(x.in), x.claimed(made)
	b = fmt.Appendf(b, `"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d`, in, out, in+out)
	if n := x.cached(); n > 0 {
		b = fmt.Appendf(b, `,"prompt_tokens_details":{"cached_tokens":%d}`, n)
	}
	if n := min(made, x.reasoning()); n > 0 {
		b = fmt.Appendf(b, `,"completion_tokens_details":{"reasoning_tokens":%d}`, n)
	}
	return append(b, '}')
}

func (x *exchange) cached() int { return int(x.conn.server.cfg.Cached * float64(x.in)) }

// finish is why the answer stopped: at the length asked for, or by itself.
func (x *exchange) finish() string {
	if x.call.asked > 0 {
		return "length"
	}
	return "stop"
}

func chatBegin(b []byte, x *exchange) []byte {
	b = head(append(b, "data: {"...), x, "chat.completion.chunk")
	return append(b, `,"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`+"\n\n"...)
}

func chatToken(b []byte, x *exchange, from, to int) []byte {
	b = head(append(b, "data: {"...), x, "chat.completion.chunk")
	b = append(b, `,"choices":[{"index":0,"delta":{"`...)
	b = append(b, channel(x, from)...)
	b = text(append(b, `":"`...), x.n, from, to)
	b = append(b, `"},"finish_reason":null}]`...)
	return closeEvent(b, x, to)
}

// channel is the field that carries token i of a chat answer.
func channel(x *exchange, i int) string {
	if i < x.reasoning() {
		return "reasoning_content"
	}
	return "content"
}

// closeEvent ends an event, with the usage so far if every chunk has it.
func closeEvent(b []byte, x *exchange, made int) []byte {
	if x.reportsEach() {
		b = appendUsage(append(b, ','), x, made)
	}
	return append(b, "}\n\n"...)
}

func chatEnd(b []byte, x *exchange) []byte {
	b = head(append(b, "data: {"...), x, "chat.completion.chunk")
	b = append(b, `,"choices":[{"index":0,"delta":{},"finish_reason":"`...)
	b = closeEvent(append(append(b, x.finish()...), `"}]`...), x, x.made)
	return tail(b, x, "chat.completion.chunk")
}

// tail is the usage event, with no choices, and the end mark.
func tail(b []byte, x *exchange, object string) []byte {
	if x.reports() {
		b = head(append(b, "data: {"...), x, object)
		b = appendUsage(append(b, `,"choices":[],`...), x, x.made)
		b = append(b, "}\n\n"...)
	}
	return append(b, "data: [DONE]\n\n"...)
}

func chatWhole(b []byte, x *exchange) []byte {
	b = head(append(b, '{'), x, "chat.completion")
	b = append(b, `,"choices":[{"index":0,"message":{"role":"assistant"`...)
	if r := x.reasoning(); r > 0 {
		b = append(text(append(b, `,"reasoning_content":"`...), x.n, 0, r), '"')
	}
	b = text(append(b, `,"content":"`...), x.n, x.reasoning(), x.out)
	return closeWhole(append(b, `"}`...), x)
}

// closeWhole ends an answer of chat or completions.
func closeWhole(b []byte, x *exchange) []byte {
	b = fmt.Appendf(b, `,"finish_reason":"%s"}]`, x.finish())
	if x.reports() {
		b = appendUsage(append(b, ','), x, x.out)
	}
	return append(b, '}')
}

func textToken(b []byte, x *exchange, from, to int) []byte {
	b = head(append(b, "data: {"...), x, "text_completion")
	b = text(append(b, `,"choices":[{"index":0,"text":"`...), x.n, from, to)
	return closeEvent(append(b, `","finish_reason":null}]`...), x, to)
}

func textEnd(b []byte, x *exchange) []byte {
	b = head(append(b, "data: {"...), x, "text_completion")
	b = fmt.Appendf(b, `,"choices":[{"index":0,"text":"","finish_reason":"%s"}]`, x.finish())
	return tail(closeEvent(b, x, x.made), x, "text_completion")
}

func textWhole(b []byte, x *exchange) []byte {
	b = head(append(b, '{'), x, "text_completion")
	b = text(append(b, `,"choices":[{"index":0,"text":"`...), x.n, 0, x.out)
	return closeWhole(append(b, '"'), x)
}

func responsesBegin(b []byte, x *exchange) []byte {
	b = append(b, "event: response.created\ndata: {\"type\":\"response.created\",\"response\":"...)
	return append(responsesObject(b, x, "in_progress"), "}\n\n"...)
}

func responsesToken(b []byte, x *exchange, from, to int) []byte {
	kind, item := "response.output_text.delta", 0
	if from < x.reasoning() {
		kind = "response.reasoning_text.delta"
	} else if x.reasoning() > 0 {
		item = 1
	}
	b = fmt.Appendf(b, "event: %s\ndata: {\"type\":%q,\"item_id\":\"msg_%d\",\"output_index\":%d,\"content_index\":0,\"delta\":\"", kind, kind, x.n, item)
	return append(text(b, x.n, from, to), "\"}\n\n"...)
}

func responsesEnd(b []byte, x *exchange) []byte {
	b = append(b, "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":"...)
	return append(responsesObject(b, x, "completed"), "}\n\n"...)
}

func responsesWhole(b []byte, x *exchange) []byte { return responsesObject(b, x, "completed") }

// responsesObject is the response as it stands: output and usage once complete.
func responsesObject(b []byte, x *exchange, status string) []byte {
	b = fmt.Appendf(b, `{"id":"%s","object":"response","created_at":%d,"model":%s,"status":"%s","output":[`,
		x.id, x.conn.server.created, quote(x.call.model), status)
	if status != "completed" {
		return append(b, "]}"...)
	}
	r := x.reasoning()
	if r > 0 {
		b = text(append(b, `{"type":"reasoning","content":[{"type":"reasoning_text","text":"`...), x.n, 0, r)
		b = append(b, `"}]},`...)
	}
	b = fmt.Appendf(b, `{"type":"message","id":"msg_%d","role":"assistant","status":"completed","content":[{"type":"output_text","text":"`, x.n)
	b = append(text(b, x.n, r, x.out), `"}]}]`...)
	if x.conn.server.cfg.Usage != UsageOff {
		in, out := x.claimed(x.in), x.claimed(x.out)
		b = fmt.Appendf(b, `,"usage":{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":%d}`,
			in, x.cached(), out, r, in+out)
	}
	return append(b, '}')
}

// embeddings gives every input a unit vector that depends on seed and place.
func embeddings(b []byte, x *exchange) []byte {
	b = append(b, `{"object":"list","data":[`...)
	for i := range max(1, x.call.items) {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"object":"embedding","index":%d,"embedding":`, i)
		b = append(appendVector(b, vector(x), x.call.base64), '}')
	}
	b = fmt.Appendf(b, `],"model":%s`, quote(x.call.model))
	if x.reports() {
		n := x.claimed(x.in)
		b = fmt.Appendf(b, `,"usage":{"prompt_tokens":%d,"total_tokens":%d}`, n, n)
	}
	return append(b, '}')
}

// vector is a random direction.
func vector(x *exchange) []float32 {
	v := make([]float64, x.conn.server.cfg.Dims)
	length := 0.0
	for i := range v {
		v[i] = x.rng.NormFloat64()
		length += v[i] * v[i]
	}
	out := make([]float32, len(v))
	for i := range v {
		out[i] = float32(v[i] / math.Sqrt(length))
	}
	return out
}

func appendVector(b []byte, v []float32, encoded bool) []byte {
	if encoded {
		raw := make([]byte, 0, 4*len(v))
		for _, f := range v {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
		}
		return append(base64.StdEncoding.AppendEncode(append(b, '"'), raw), '"')
	}
	b = append(b, '[')
	for i, f := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(f), 'g', -1, 32)
	}
	return append(b, ']')
}

// ranking answers with one score per document, best first, under a name; no
// name means a bare list.
func ranking(list, score string) func([]byte, *exchange) []byte {
	return func(b []byte, x *exchange) []byte {
		if list != "" {
			b = fmt.Appendf(b, `{"%s":`, list)
		}
		b = append(b, '[')
		n := max(1, x.call.items)
		for i := range n {
			if i > 0 {
				b = append(b, ',')
			}
			b = fmt.Appendf(b, `{"index":%d,"%s":%.4f}`, (i+int(x.n))%n, score, 1-float64(i)/float64(n))
		}
		b = append(b, ']')
		if list != "" {
			b = append(b, '}')
		}
		return b
	}
}
