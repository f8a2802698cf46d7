package endpoint

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/endpoint/replay"
)

// messages is Anthropic's Messages API.
var messages = Spec{
	Type: "messages", Path: "/v1/messages", Title: "LLM",
	Doc:       "Anthropic messages",
	CanStream: true, ProducesTokens: true, TakesText: true, TakesSystem: true, SystemApart: true,
	Takes:   Images,
	Headers: []string{"anthropic-version: 2023-06-01"}, KeyHeader: "x-api-key",
	Replay: replay.Messages,
	Body:   messagesBody, Read: readMessages, HasContent: messagesHaveContent,
	MayEnd: func(data []byte) bool { return bytes.Contains(data, []byte("message_stop")) },
	Served: Served{
		Texts: []string{"system", "messages"}, Asked: []string{"max_tokens"}, Reasons: true, Calls: true,
		Check: func(c *Call) error {
			if c.Fields["max_tokens"] == nil {
				return errors.New("max_tokens: field required")
			}
			return nil
		},
		Begin: servedMessagesBegin, Token: servedMessagesToken, End: servedMessagesEnd, Whole: servedMessages,
	},
}

// defaultMaxTokens is sent where nothing is asked for: the API demands a limit.
const defaultMaxTokens = 1024

func messagesBody(dst []byte, in *Input) ([]byte, error) {
	b := newBody(dst, in)
	b.str("model", in.Model)
	if b.key("messages") {
		if in.complete() {
			b.dst = append(b.dst, in.Turn.Messages...)
		} else {
			b.dst = append(conversation(append(b.dst, '['), in, appendMessage, appendBlocks), ']')
		}
	}
	limit := in.Turn.MaxTokens
	if limit == 0 {
		limit = defaultMaxTokens
	}
	b.count("max_tokens", limit)
	if in.Stream {
		b.flag("stream", true)
	}
	if in.System != "" {
		b.str("system", in.System)
	}
	b.raw("tools", in.Turn.Tools)
	b.extras()
	return b.end(), nil
}

// appendBlocks writes one text alone as a string, and everything else as
// content blocks.
func appendBlocks(dst []byte, role string, t *dataset.Turn) []byte {
	if plainText(t) {
		return appendMessage(dst, role, onlyText(t))
	}
	dst = append(beginMessage(dst, role), '[')
	for _, text := range t.Texts {
		dst = append(appendString(append(comma(dst), `{"type":"text","text":`...), text), '}')
	}
	for i := range t.Images {
		dst = appendImageBlock(comma(dst), &t.Images[i])
	}
	return append(dst, "]}"...)
}

func appendImageBlock(dst []byte, m *dataset.Media) []byte {
	dst = append(dst, `{"type":"image","source":`...)
	if m.URL != "" {
		return append(appendString(append(dst, `{"type":"url","url":`...), m.URL), "}}"...)
	}
	kind, _, _ := strings.Cut(strings.TrimPrefix(m.Address(), "data:"), ";")
	dst = appendString(append(dst, `{"type":"base64","media_type":`...), kind)
	return append(appendString(append(dst, `,"data":`...), m.Base64), "}}"...)
}

// readMessages reads one event, which says in "type" what it is, or a whole
// message. Usage comes in two halves: message_start has the input's tokens,
// message_delta the output's.
func readMessages(data []byte, stream bool) (Chunk, error) {
	var r messagesReply
	if ok, err := r.read(data, stream, r.member); !ok {
		return r.chunk, err
	}
	switch r.kind {
	case "error":
		r.problem.said = true
	case "message_stop":
		r.chunk.Kind, r.chunk.Empty = record.Done, true
		return r.chunk, nil
	}
	return r.asText(r.content, r.tool, r.thinking, unless(stream || r.hasContent, `no "content"`))
}

// messagesReply collects the parts of an event or a message.
type messagesReply struct {
	reply
	kind                    string
	content, tool, thinking string
	hasContent              bool
}

// member takes one entry of an event or of a message.
func (r *messagesReply) member(key []byte) (err error) {
	switch string(key) {
	case "type":
		r.kind, err = r.View()
	case "message": // of message_start
		return r.Object(func(key []byte) error {
			switch string(key) {
			case "usage":
				return usageOf(&r.Scanner, &r.chunk)
			case "model":
				return r.model()
			}
			return r.Skip()
		})
	case "content_block", "delta":
		return r.Object(r.block)
	case "content":
		return r.Array(func(int) error {
			r.hasContent = true
			return r.Object(r.block)
		})
	case "stop_reason":
		r.chunk.Finish, err = r.Word()
	default:
		err = r.Skip()
	}
	return err
}

// block takes one entry of a content block or of a piece of one.
func (r *messagesReply) block(key []byte) (err error) {
	var t string
	switch string(key) {
	case "text":
		t, err = r.View()
		r.content += t
	case "thinking":
		t, err = r.View()
		r.thinking += t
	case "partial_json", "name":
		t, err = r.View()
		r.tool += t
	case "input":
		r.Peek()
		start := r.At
		err = r.Skip()
		if t = string(r.Data[start:r.At]); t != "{}" && t != "null" { // {} announces the pieces that follow
			r.tool += t
		}
	case "stop_reason":
		r.chunk.Finish, err = r.Word()
	default:
		err = r.Skip()
	}
	return err
}

// blockMarks are the names under which pieces of an answer come.
var blockMarks = [][]byte{[]byte(`"text"`), []byte(`"thinking"`), []byte(`"partial_json"`), []byte(`"name"`)}

func messagesHaveContent(data []byte) bool {
	for _, mark := range blockMarks {
		for rest := data; ; {
			i := bytes.Index(rest, mark)
			if i < 0 {
				break
			}
			if rest = rest[i+len(mark):]; startsNonEmpty(rest) {
				return true
			}
		}
	}
	return false
}

func messagesEvent(b []byte, kind, rest string) []byte {
	return fmt.Appendf(b, "event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, rest)
}

func servedMessagesBegin(b []byte, s *Script) []byte {
	usage := ""
	if !s.UsageOff {
		usage = fmt.Sprintf(`,"usage":{"input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":1}`,
			s.Claimed(s.In)-s.Cached, s.Cached)
	}
	return messagesEvent(b, "message_start", fmt.Sprintf(
		`,"message":{"id":"%s","type":"message","role":"assistant","model":%s,"content":[],"stop_reason":null%s}`, s.ID,
		quoted(s.Call.Model), usage))
}

func servedMessagesToken(b []byte, s *Script, from, to int) []byte {
	if s.Calls > 0 && from >= s.Reasoning {
		return servedToolUse(b, s, from, to)
	}
	index, kind, field := 0, "text_delta", "text"
	if from < s.Reasoning {
		kind, field = "thinking_delta", "thinking"
	} else if s.Reasoning > 0 {
		index = 1
	}
	if from == 0 || from == s.Reasoning {
		block := strings.TrimSuffix(kind, "_delta")
		b = messagesEvent(b, "content_block_start", fmt.Sprintf(`,"index":%d,"content_block":{"type":%q,%q:""}`, index,
			block, field))
	}
	b = fmt.Appendf(b, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":%q,%q:\"", index, kind, field)
	b = append(s.Words(b, from, to), "\"}}\n\n"...)
	if to == s.Reasoning || to == s.Out {
		b = messagesEvent(b, "content_block_stop", fmt.Sprintf(`,"index":%d`, index))
	}
	return b
}

// servedToolUse writes tokens from..to as blocks of type tool_use: a block's start
// has its id and name, and its input comes in pieces of JSON.
func servedToolUse(b []byte, s *Script, from, to int) []byte {
	for p := range s.calls(from, to) {
		index := p.i + min(1, s.Reasoning)
		if p.opens {
			b = messagesEvent(b, "content_block_start",
				fmt.Sprintf(`,"index":%d,"content_block":{"type":"tool_use","id":%q,"name":%q,"input":{}}`, index,
					s.callID(p.i), callName))
		}
		b = messagesEvent(b, "content_block_delta",
			fmt.Sprintf(`,"index":%d,"delta":{"type":"input_json_delta","partial_json":"%s"}`, index,
				s.arguments(nil, p)))
		if p.closes {
			b = messagesEvent(b, "content_block_stop", fmt.Sprintf(`,"index":%d`, index))
		}
	}
	return b
}

func servedMessagesEnd(b []byte, s *Script) []byte {
	usage := ""
	if !s.UsageOff {
		usage = fmt.Sprintf(`,"usage":{"output_tokens":%d}`, s.Claimed(s.Made))
	}
	b = messagesEvent(b, "message_delta", fmt.Sprintf(`,"delta":{"stop_reason":%q,"stop_sequence":null}%s`,
		s.Finish("max_tokens", "end_turn", "tool_use"), usage))
	return messagesEvent(b, "message_stop", "")
}

func servedMessages(b []byte, s *Script) []byte {
	b = fmt.Appendf(b, `{"id":"%s","type":"message","role":"assistant","model":%s,"content":[`, s.ID,
		quoted(s.Call.Model))
	if s.Reasoning > 0 {
		b = append(s.Words(append(b, `{"type":"thinking","thinking":"`...), 0, s.Reasoning), `"},`...)
	}
	if s.Calls > 0 {
		for p := range s.calls(s.Reasoning, s.Out) {
			b = fmt.Appendf(b, `{"type":"tool_use","id":%q,"name":%q,"input":{"text":"%s"}},`,
				s.callID(p.i), callName, s.Words(nil, p.from, p.to))
		}
		b[len(b)-1] = ']'
	} else {
		b = append(s.Words(append(b, `{"type":"text","text":"`...), s.Reasoning, s.Out), `"}]`...)
	}
	b = fmt.Appendf(b, `,"stop_reason":%q,"stop_sequence":null`, s.Finish("max_tokens", "end_turn", "tool_use"))
	if !s.UsageOff {
		b = fmt.Appendf(b, `,"usage":{"input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":%d}`,
			s.Claimed(s.In)-s.Cached, s.Cached, s.Claimed(s.Out))
	}
	return append(b, '}')
}
