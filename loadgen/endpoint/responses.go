package endpoint

import (
	"bytes"
	"fmt"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/endpoint/claims"
	"aiperf.dev/aiperf/loadgen/endpoint/replay"
)

// responses is OpenAI's Responses API.
var responses = Spec{
	Type: "responses", Path: "/v1/responses", Title: "LLM",
	Doc:    "OpenAI responses",
	OpenAI: true, CanStream: true, ProducesTokens: true, TakesText: true, TakesSystem: true,
	SystemApart: true, UsageAsked: true, Takes: Images | Audios,
	Replay: replay.Responses, Stored: replay.Stored,
	Body: responsesBody, Read: readResponses, HasContent: responsesHaveContent,
	MayEnd: func(data []byte) bool {
		_, kind, _ := bytes.Cut(data, []byte(`"response.`))
		return bytes.HasPrefix(kind, []byte("completed")) || bytes.HasPrefix(kind, []byte("incomplete"))
	},
	Served: Served{
		Texts: []string{"instructions", "input"}, Asked: []string{"max_output_tokens"},
		Least: "min_tokens", Reasons: true, Calls: true,
		Begin: servedResponsesBegin, Token: servedResponsesToken, End: servedResponsesEnd, Whole: servedResponses,
	},
}

// responsesBody writes conversations as items of type message. What the server
// was asked to store is not sent again: the answer before is named instead.
func responsesBody(dst []byte, in *Input) ([]byte, error) {
	b := newBody(dst, in)
	stored := ""
	if n := len(in.History); n > 0 && truthy(b.extra.Get("store")) && !in.complete() {
		stored = in.History[n-1].Stored
	}
	if b.key("input") {
		switch {
		case in.complete():
			b.dst = append(b.dst, in.Turn.Messages...)
		case stored != "":
			b.dst = append(conversation(append(b.dst, '['), &Input{Turn: in.Turn}, appendItem, appendItemTurn), ']')
		default:
			b.dst = append(conversation(append(b.dst, '['), in, appendItem, appendItemTurn), ']')
		}
	}
	b.str("model", in.Model)
	b.flag("stream", in.Stream)
	if stored != "" {
		b.str("previous_response_id", stored)
	}
	if in.System != "" {
		b.str("instructions", in.System)
	}
	b.count("max_output_tokens", in.Turn.MaxTokens)
	b.raw("tools", in.Turn.Tools)
	b.extrasAndUsage(in, in.Usage && in.Counts) // AIPerf asks no other streams for it: they report it anyway
	return b.end(), nil
}

const endItem = `,"type":"message"}`

func appendItem(dst []byte, role, content string) []byte {
	return append(appendString(beginMessage(dst, role), content), endItem...)
}

// appendItemTurn writes one text alone as a string, and everything else as
// parts.
func appendItemTurn(dst []byte, role string, t *dataset.Turn) []byte {
	if plainText(t) {
		return appendItem(dst, role, onlyText(t))
	}
	dst = append(beginMessage(dst, role), '[')
	for _, text := range t.Texts {
		dst = append(appendString(append(comma(dst), `{"type":"input_text","text":`...), text), '}')
	}
	for i := range t.Images {
		dst = append(appendString(append(comma(dst), `{"type":"input_image","image_url":`...), t.Images[i].Address()),
			'}')
	}
	for i := range t.Audios {
		dst = append(appendAudio(comma(dst), &t.Audios[i]), '}')
	}
	return append(append(dst, ']'), endItem...)
}

// readResponses reads one event, which says in "type" what it is, or a whole
// response.
func readResponses(data []byte, stream bool) (Chunk, error) {
	var r responsesReply
	member := r.response
	if stream {
		member = r.event
	}
	ok, err := r.read(data, stream, member)
	switch {
	case !ok:
		return r.chunk, err
	case stream:
		return r.one()
	}
	return r.whole()
}

// responsesReply collects the parts of an event or of a response.
type responsesReply struct {
	reply
	kind, delta, full        string // of an event
	content, tool, reasoning string // of a response
	outputText               string
	status, reason           string
	item, part               int64
	output                   bool
}

// event takes one entry of an event of a stream.
func (r *responsesReply) event(key []byte) (err error) {
	switch string(key) {
	case "type":
		r.kind, err = r.View()
	case "delta":
		r.delta, err = r.View()
	case "text", "arguments":
		r.full, err = r.View()
	case "output_index":
		r.item, err = r.Integer()
	case "content_index":
		r.part, err = r.Integer()
	case "timings":
		err = r.response(key)
	case "response":
		err = r.Object(func(key []byte) error {
			switch string(key) {
			case "output", "output_text": // came in pieces already
				return r.Skip()
			case "usage":
				return usageOf(&r.Scanner, &r.chunk)
			case "error":
				return r.problem.read(&r.Scanner)
			case "model":
				return r.model()
			}
			return r.response(key)
		})
	default:
		err = r.Skip()
	}
	return err
}

// one is the chunk that an event of a stream amounts to.
func (r *responsesReply) one() (Chunk, error) {
	c := &r.chunk
	var content, tool, reasoning string
	switch r.kind {
	case "response.output_text.delta", "response.refusal.delta":
		content = r.delta
	case "response.output_text.done":
		content, c.Final = r.full, true
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		reasoning = r.delta
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		tool = r.delta
	case "response.completed", "response.incomplete":
		if c.Finish = r.status; r.reason != "" {
			c.Finish = r.reason
		}
		c.Kind, c.Empty = record.Done, true
		return *c, nil
	case "error":
		r.bareProblem()
	}
	c.Part = 1 + r.item<<20 + r.part
	return r.asText(content, tool, reasoning, "")
}

// response takes one entry of a response object.
func (r *responsesReply) response(key []byte) (err error) {
	switch string(key) {
	case "output":
		return r.Array(func(int) error { r.output = true; return r.outputItem() })
	case "timings": // llama.cpp's
		r.chunk.Timings, err = claims.ReadTimings(&r.Scanner, new(int64)) // usage says the rest
	case "output_text":
		r.output = true
		r.outputText, err = r.Text()
	case "status":
		r.status, err = r.Text()
	case "incomplete_details":
		err = r.Object(func(key []byte) (err error) {
			if string(key) != "reason" {
				return r.Skip()
			}
			r.reason, err = r.Text()
			return err
		})
	default:
		err = r.Skip()
	}
	return err
}

// outputItem takes a message, a reasoning or a function call.
func (r *responsesReply) outputItem() error {
	var kind, texts, name, arguments string
	err := r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "type":
			kind, err = r.Text()
		case "content", "summary":
			var t string
			t, err = content(&r.Scanner)
			texts += t
		case "name":
			name, err = r.Text()
		case "arguments":
			arguments, err = r.Text()
		default:
			err = r.Skip()
		}
		return err
	})
	switch kind {
	case "message":
		r.content += texts
	case "reasoning":
		r.reasoning += texts
	case "function_call":
		r.tool += name + arguments
	}
	return err
}

// whole is the chunk that a response amounts to.
func (r *responsesReply) whole() (Chunk, error) {
	if r.content == "" {
		r.content = r.outputText
	}
	if r.chunk.Finish = r.status; r.reason != "" {
		r.chunk.Finish = r.reason
	}
	return r.asText(r.content, r.tool, r.reasoning, unless(r.output, `no "output"`))
}

var deltaMark = []byte(`"delta"`)

func responsesHaveContent(data []byte) bool {
	i := bytes.Index(data, deltaMark)
	return i >= 0 && startsNonEmpty(data[i+len(deltaMark):])
}

func servedResponsesBegin(b []byte, s *Script) []byte {
	b = append(b, "event: response.created\ndata: {\"type\":\"response.created\",\"response\":"...)
	return append(servedResponse(b, s, "in_progress"), "}\n\n"...)
}

func servedResponsesToken(b []byte, s *Script, from, to int) []byte {
	if s.Calls > 0 && from >= s.Reasoning {
		return servedFunctionCalls(b, s, from, to)
	}
	kind, item := "response.output_text.delta", 0
	if from < s.Reasoning {
		kind = "response.reasoning_text.delta"
	} else if s.Reasoning > 0 {
		item = 1
	}
	b = fmt.Appendf(b, "event: %s\ndata: {\"type\":%q,\"item_id\":\"msg_%d\",\"output_index\":%d,\"content_index\":0,\"delta\":\"", kind, kind, s.N, item)
	return append(s.Words(b, from, to), "\"}\n\n"...)
}

// servedFunctionCalls writes tokens from..to as items of type function_call: the
// item as it is added has its name, and its arguments come in pieces.
func servedFunctionCalls(b []byte, s *Script, from, to int) []byte {
	event := func(kind, format string, values ...any) {
		b = fmt.Appendf(b, "event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, fmt.Sprintf(format, values...))
	}
	for p := range s.calls(from, to) {
		item, id := p.i+min(1, s.Reasoning), s.callID(p.i)
		if p.opens {
			event("response.output_item.added",
				`,"output_index":%d,"item":{"type":"function_call","id":"fc-%s","call_id":%q,"name":%q,"arguments":"","status":"in_progress"}`, item, id, id, callName)
		}
		event("response.function_call_arguments.delta", `,"item_id":"fc-%s","output_index":%d,"delta":"%s"`, id, item,
			s.arguments(nil, p))
		if p.closes {
			event("response.output_item.done", `,"output_index":%d,"item":%s`, item, servedFunctionCall(nil, s, p.i))
		}
	}
	return b
}

// servedFunctionCall is function call i as a whole item.
func servedFunctionCall(b []byte, s *Script, i int) []byte {
	id := s.callID(i)
	b = fmt.Appendf(b, `{"type":"function_call","id":"fc-%s","call_id":%q,"name":%q,"arguments":"`, id, id, callName)
	for p := range s.calls(s.Reasoning, s.Out) {
		if p.i == i {
			b = s.arguments(b, p)
		}
	}
	return append(b, `","status":"completed"}`...)
}

func servedResponsesEnd(b []byte, s *Script) []byte {
	b = append(b, "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":"...)
	return append(servedResponse(b, s, "completed"), "}\n\n"...)
}

func servedResponses(b []byte, s *Script) []byte { return servedResponse(b, s, "completed") }

// servedResponse is the response as it stands: output and usage once complete.
func servedResponse(b []byte, s *Script, status string) []byte {
	b = fmt.Appendf(b, `{"id":"%s","object":"response","created_at":%d,"model":%s,"status":"%s","output":[`,
		s.ID, s.Created, quoted(s.Call.Model), status)
	if status != "completed" {
		return append(b, "]}"...)
	}
	r := s.Reasoning
	if r > 0 {
		b = s.Words(append(b, `{"type":"reasoning","content":[{"type":"reasoning_text","text":"`...), 0, r)
		b = append(b, `"}]},`...)
	}
	if s.Calls > 0 {
		for p := range s.calls(r, s.Out) {
			b = append(servedFunctionCall(b, s, p.i), ',')
		}
		b[len(b)-1] = ']'
	} else {
		b = fmt.Appendf(b, `{"type":"message","id":"msg_%d","role":"assistant","status":"completed","content":[{"type":"output_text","text":"`, s.N)
		b = append(s.Words(b, r, s.Out), `"}]}]`...)
	}
	if !s.UsageOff {
		in, out := s.Claimed(s.In), s.Claimed(s.Out)
		b = fmt.Appendf(b, `,"usage":{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":%d}`,
			in, s.Cached, out, r, in+out)
	}
	return append(b, '}')
}
