package endpoint

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"

	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/endpoint/replay"
	"aiperf.dev/aiperf/loadgen/endpoint/scan"
)

// chat is OpenAI's chat completions API, with the additions of vLLM, SGLang,
// llama.cpp and DeepSeek to its answers.
var chat = Spec{
	Type: "chat", Path: "/v1/chat/completions", Title: "LLM",
	Doc: "OpenAI chat completions", GenAI: []string{"chat", "multimodal", "vision"},
	OpenAI: true, CanStream: true, ProducesTokens: true, TakesText: true, TakesSystem: true, LegacyMaxTokens: true,
	UsageAsked: true,
	Takes:      Images | Audios | Videos,
	Replay:     replay.Chat,
	Body:       chatBody, Messages: chatMessages, Read: readChoices, HasContent: choicesHaveContent,
	Served: Served{
		Texts: []string{"messages"}, Asked: []string{"max_tokens", "max_completion_tokens"},
		Least: "min_tokens", Reasons: true, Calls: true,
		Begin: servedChatBegin, Token: servedChatToken, End: servedChatEnd, Whole: servedChat,
	},
}

func chatBody(dst []byte, in *Input) ([]byte, error) {
	b := newBody(dst, in)
	if b.key("messages") {
		b.dst = appendMessages(b.dst, in)
	}
	b.str("model", in.Model)
	b.flag("stream", in.Stream)
	b.raw("tools", in.Turn.Tools)
	if in.Legacy {
		b.count("max_tokens", in.Turn.MaxTokens)
	} else {
		b.count("max_completion_tokens", in.Turn.MaxTokens)
	}
	b.extrasAndUsage(in, in.Usage)
	return b.end(), nil
}

// chatMessages reads them out of a body that the dataset holds ready.
func chatMessages(in *Input) (messages, tools []byte, more map[string]any) {
	t := in.Turn
	if t.Raw != nil {
		var body struct {
			Messages, Tools json.RawMessage
			More            map[string]any `json:"chat_template_kwargs"`
		}
		if json.Unmarshal(t.Raw, &body) != nil {
			return nil, nil, nil
		}
		return body.Messages, body.Tools, body.More
	}
	more, _ = mergedExtra(in).Get("chat_template_kwargs").(map[string]any)
	return appendMessages(nil, in), t.Tools, more
}

// appendMessages writes system prompt, user context, history and turn, or the
// list that the turn holds itself.
func appendMessages(dst []byte, in *Input) []byte {
	if in.complete() {
		return appendComplete(dst, in)
	}
	dst = append(dst, '[')
	if in.System != "" {
		dst = appendMessage(dst, "system", in.System)
	}
	return append(conversation(dst, in, appendMessage, appendTurn), ']')
}

// appendComplete writes the list of messages that the turn holds, with the
// system prompt before it, or before the text of the system message that it
// begins with: of two system messages many servers read one.
func appendComplete(dst []byte, in *Input) []byte {
	list := in.Turn.Messages
	if in.System == "" {
		return append(dst, list...)
	}
	from, to := systemContent(list)
	if to == 0 {
		dst = appendMessage(append(dst, '['), "system", in.System)
		return append(appendElements(dst, list), ']')
	}
	dst = append(dst, list[:from]...)
	switch content := list[from:to]; {
	case content[0] == '"' && len(content) > 2:
		dst = appendString(dst, in.System+"\n\n")
		dst = append(dst[:len(dst)-1], content[1:]...)
	case content[0] == '[':
		dst = append(appendString(append(dst, `[{"type":"text","text":`...), in.System), '}')
		dst = append(appendElements(dst, content), ']')
	default:
		dst = appendString(dst, in.System)
	}
	return append(dst, list[to:]...)
}

// systemContent is the place of the content of the system message that a list
// begins with; to is 0 where there is none.
func systemContent(list []byte) (from, to int) {
	s, system := scan.Scanner{Data: list}, false
	_ = s.Array(func(int) error {
		err := s.Object(func(key []byte) (err error) {
			switch string(key) {
			case "role":
				system, err = s.Is("system")
			case "content":
				s.Peek()
				from = s.At
				err = s.Skip()
				to = s.At
			default:
				err = s.Skip()
			}
			return err
		})
		return cmp.Or(err, errLooked)
	})
	if !system {
		return 0, 0
	}
	return from, to
}

// errLooked ends the reading of a list after its first element.
var errLooked = errors.New("looked at")

// complete reports whether the turn holds the whole list of messages itself.
func (in *Input) complete() bool { return in.Turn.Messages != nil && in.Turn.Complete }

// conversation writes user context, history and turn. A turn that holds
// messages itself adds all of them.
func conversation(
	dst []byte, in *Input, text func([]byte, string, string) []byte, turn func([]byte, string, *dataset.Turn) []byte,
) []byte {
	if in.Turn.Context != "" {
		dst = text(dst, "user", in.Turn.Context)
	}
	for i := range in.History {
		switch m := &in.History[i]; {
		case m.Elements != nil:
			dst = append(comma(dst), m.Elements...)
		case m.Turn == nil:
			dst = text(dst, m.Role, m.Content)
		case m.Turn.Messages != nil:
			dst = appendElements(dst, m.Turn.Messages)
		default:
			dst = turn(dst, m.Role, m.Turn)
		}
	}
	if in.Turn.Messages != nil {
		return appendElements(dst, in.Turn.Messages)
	}
	return turn(dst, roleOf(in), in.Turn)
}

// appendElements adds the elements of a list to one that is being written.
func appendElements(dst, list []byte) []byte {
	inner := bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimPrefix(bytes.TrimSpace(list), []byte("[")), []byte("]")))
	if len(inner) == 0 {
		return dst
	}
	return append(comma(dst), inner...)
}

func roleOf(in *Input) string {
	if in.Turn.Role != "" {
		return in.Turn.Role
	}
	return "user"
}

func beginMessage(dst []byte, role string) []byte {
	if dst[len(dst)-1] != '[' {
		dst = append(dst, ',')
	}
	dst = append(dst, `{"role":`...)
	dst = appendString(dst, role)
	return append(dst, `,"content":`...)
}

func appendMessage(dst []byte, role, content string) []byte {
	return append(appendString(beginMessage(dst, role), content), '}')
}

// appendTurn writes one text alone as a string, and everything else as parts:
// texts, images, sounds, videos.
func appendTurn(dst []byte, role string, t *dataset.Turn) []byte {
	if plainText(t) {
		return appendMessage(dst, role, onlyText(t))
	}
	dst = append(beginMessage(dst, role), '[')
	for _, text := range t.Texts {
		dst = append(appendString(append(comma(dst), `{"type":"text","text":`...), text), '}')
	}
	for i := range t.Images {
		dst = append(appendString(append(comma(dst), `{"type":"image_url","image_url":{"url":`...),
			t.Images[i].Address()), '}')
		if id := t.Images[i].UUID; id != "" {
			dst = appendString(append(dst, `,"uuid":`...), id)
		}
		dst = append(dst, '}')
	}
	for i := range t.Audios {
		dst = append(appendAudio(comma(dst), &t.Audios[i]), '}')
	}
	for i := range t.Videos {
		dst = append(appendString(append(comma(dst), `{"type":"video_url","video_url":{"url":`...),
			t.Videos[i].Address()), "}}"...)
	}
	return append(dst, "]}"...)
}

// appendAudio writes a sound as the bytes or, vLLM's addition, by its address.
func appendAudio(dst []byte, m *dataset.Media) []byte {
	if m.URL != "" {
		return append(appendString(append(dst, `{"type":"audio_url","audio_url":{"url":`...), m.URL), '}')
	}
	dst = appendString(append(dst, `{"type":"input_audio","input_audio":{"data":`...), m.Base64)
	return append(appendString(append(dst, `,"format":`...), m.Format), '}')
}

// plainText reports whether a turn is one text or nothing.
func plainText(t *dataset.Turn) bool {
	return len(t.Texts) <= 1 && len(t.Images)+len(t.Audios)+len(t.Videos) == 0
}

func onlyText(t *dataset.Turn) string {
	if len(t.Texts) == 0 {
		return ""
	}
	return t.Texts[0]
}

// comma separates an element of a list from the one before it.
func comma(dst []byte) []byte {
	if dst[len(dst)-1] != '[' {
		dst = append(dst, ',')
	}
	return dst
}

func servedChatBegin(b []byte, s *Script) []byte {
	b = servedHead(append(b, "data: {"...), s, "chat.completion.chunk")
	return append(b, `,"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`+
		"\n\n"...)
}

func servedChatToken(b []byte, s *Script, from, to int) []byte {
	field := "content"
	if from < s.Reasoning {
		field = "reasoning_content"
	}
	b = servedHead(append(b, "data: {"...), s, "chat.completion.chunk")
	b = append(b, `,"choices":[{"index":0,"delta":{`...)
	if s.Calls > 0 && from >= s.Reasoning {
		b = servedCalls(append(b, `"tool_calls":`...), s, from, to, true)
	} else {
		b = append(append(append(b, '"'), field...), `":"`...)
		b = append(s.Words(b, from, to), '"')
	}
	b = append(b, `},"finish_reason":null}]`...)
	return closeEvent(b, s, to)
}

func servedChatEnd(b []byte, s *Script) []byte {
	b = servedHead(append(b, "data: {"...), s, "chat.completion.chunk")
	b = append(b, `,"choices":[{"index":0,"delta":{},"finish_reason":"`...)
	b = closeEvent(append(append(b, s.Finish("length", "stop", "tool_calls")...), `"}]`...), s, s.Made)
	return servedTail(b, s, "chat.completion.chunk")
}

func servedChat(b []byte, s *Script) []byte {
	b = servedHead(append(b, '{'), s, "chat.completion")
	b = append(b, `,"choices":[{"index":0,"message":{"role":"assistant"`...)
	if s.Reasoning > 0 {
		b = append(s.Words(append(b, `,"reasoning_content":"`...), 0, s.Reasoning), '"')
	}
	if s.Calls > 0 {
		b = servedCalls(append(b, `,"content":null,"tool_calls":`...), s, s.Reasoning, s.Out, false)
		return closeWhole(append(b, '}'), s)
	}
	b = s.Words(append(b, `,"content":"`...), s.Reasoning, s.Out)
	return closeWhole(append(b, `"}`...), s)
}
