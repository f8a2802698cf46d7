package public

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// span is a step of an agent's session as OpenTelemetry's conventions for
// generative AI record it.
type span struct {
	Type   string
	Status *struct{ Code int }
	Start  string `json:"start_time"`
	End    string `json:"end_time"`

	Attributes json.RawMessage
}

type spanAttributes struct {
	In       *int64          `json:"gen_ai.usage.input_tokens"`
	Out      *int64          `json:"gen_ai.usage.output_tokens"`
	Messages json.RawMessage `json:"gen_ai.input.messages"`
	Tools    json.RawMessage `json:"gen_ai.tool.definitions"`
}

// Call is a request of a recorded session that can be sent again.
type Call struct {
	Start, End      time.Time
	Out             int64 // output tokens
	Messages, Tools json.RawMessage
}

// failedSpan is OpenTelemetry's code of an error.
const failedSpan = 2

// Calls are the model calls of a session, a list of spans, in the order of
// time. Each holds its whole history.
func Calls(raw json.RawMessage) ([]Call, error) {
	var spans []span
	if err := json.Unmarshal(embedded(raw), &spans); err != nil {
		return nil, errors.New("spans: want a list of objects")
	}
	var calls []Call
	for i := range spans {
		c, ok, err := readSpan(&spans[i])
		if err != nil {
			return nil, fmt.Errorf("spans[%d]: %w", i, err)
		}
		if ok {
			calls = append(calls, c)
		}
	}
	slices.SortStableFunc(calls, func(a, b Call) int { return a.Start.Compare(b.Start) })
	return calls, nil
}

// readSpan is a span as a call; ok is false where nothing was asked or nothing
// came back.
func readSpan(s *span) (c Call, ok bool, err error) {
	if s.Type != "llm_call" || s.Status != nil && s.Status.Code == failedSpan {
		return c, false, nil
	}
	var a spanAttributes
	if err := json.Unmarshal(embedded(s.Attributes), &a); err != nil || a.In == nil || a.Out == nil {
		return c, false, errors.New("attributes: without whole numbers of tokens")
	}
	if *a.In < 1 || *a.Out < 1 {
		return c, false, nil
	}
	if c.Start, err = spanTime(s.Start); err == nil {
		c.End, err = spanTime(s.End)
	}
	if err != nil {
		return c, false, err
	}
	if c.End.Before(c.Start) {
		return c, false, errors.New("it ends before it starts")
	}
	c.Out = *a.Out
	if c.Messages, err = chatMessages(a.Messages); err == nil {
		c.Tools, err = chatTools(a.Tools)
	}
	return c, err == nil, err
}

// embedded is a value that may stand as JSON within a text.
func embedded(raw json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(raw, &text) == nil && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return raw
}

func spanTime(s string) (time.Time, error) {
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02T15:04:05.999999999",
		"2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999",
	} {
		if at, err := time.Parse(layout, s); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a date and time", s)
}

// part is a piece of a recorded message.
type part struct {
	Type      string
	Content   string
	Thinking  string
	ID        *string
	Name      string
	Arguments json.RawMessage
	Result    json.RawMessage
}

// chatMessage is a message as chat requests have it.
type chatMessage struct {
	Role       string     `json:"role"`
	ToolCallID *string    `json:"tool_call_id,omitempty"`
	Content    string     `json:"content"`
	Reasoning  string     `json:"reasoning_content,omitempty"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
}

type toolCall struct {
	ID       *string `json:"id"`
	Type     string  `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// chatMessages turns recorded messages into those of a chat request: an answer
// of a tool is a message of its own.
func chatMessages(raw json.RawMessage) (json.RawMessage, error) {
	var list []struct {
		Role  string
		Parts []part
	}
	if json.Unmarshal(embedded(raw), &list) != nil || len(list) == 0 {
		return nil, errors.New("gen_ai.input.messages: want a list of messages with a role and parts")
	}
	var out []chatMessage
	for _, m := range list {
		if m.Role == "" || m.Parts == nil {
			return nil, errors.New("gen_ai.input.messages: a message needs a role and parts")
		}
		role := m.Role
		if role == "developer" {
			role = "system"
		}
		now, open, any := chatMessage{Role: role}, false, false
		flush := func() {
			if open {
				out = append(out, now)
				now, open, any = chatMessage{Role: role}, false, true
			}
		}
		for _, p := range m.Parts {
			switch p.Type {
			case "text":
				now.Content, open = now.Content+p.Content, true
			case "thinking":
				now.Reasoning, open = now.Reasoning+p.Thinking, true
			case "tool_call":
				c := toolCall{ID: p.ID, Type: "function"}
				c.Function.Name, c.Function.Arguments = p.Name, asText(p.Arguments)
				now.ToolCalls, open = append(now.ToolCalls, c), true
			case "tool_call_response":
				flush()
				out, any = append(out, chatMessage{Role: "tool", ToolCallID: p.ID, Content: asText(p.Result)}), true
			default:
				return nil, fmt.Errorf("gen_ai.input.messages: a part of type %q is not known", p.Type)
			}
		}
		if open = open || !any; open {
			flush()
		}
	}
	b, err := json.Marshal(out)
	return b, err
}

// asText is a text as it is, anything else as its JSON.
func asText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	if raw == nil {
		return "null"
	}
	return strings.TrimSpace(string(raw))
}

// chatTools are tool definitions as chat requests have them; nil for none.
func chatTools(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var list []struct {
		Type, Name, Description string
		Parameters              json.RawMessage
	}
	if json.Unmarshal(embedded(raw), &list) != nil {
		return nil, errors.New("gen_ai.tool.definitions: want a list of objects")
	}
	if len(list) == 0 {
		return nil, nil
	}
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	type tool struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	var out []tool
	for _, t := range list {
		if t.Type != "function" {
			return nil, fmt.Errorf("gen_ai.tool.definitions: a tool of type %q is not known", t.Type)
		}
		if t.Parameters == nil {
			t.Parameters = json.RawMessage("null")
		}
		out = append(out, tool{t.Type, function{t.Name, t.Description, t.Parameters}})
	}
	return json.Marshal(out)
}
