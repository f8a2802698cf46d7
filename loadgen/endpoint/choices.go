package endpoint

import (
	"bytes"
	"strings"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/endpoint/claims"
	"aiperf.dev/aiperf/loadgen/endpoint/scan"
)

// readChoices reads the answers of the chat and the text completions API,
// whole or one event of a stream. Of several answers to one request (n) one counts:
// that of index 0 or, where there is none, the first.
func readChoices(data []byte, stream bool) (Chunk, error) {
	var r choicesReply
	if ok, err := r.read(data, stream, r.member); !ok {
		return r.chunk, err
	}
	return r.done(unless(stream || r.choices, `no "choices"`))
}

// choicesReply collects the parts of one answer.
type choicesReply struct {
	reply
	parts   choiceParts
	choices bool
}

// choiceParts are the texts of one answer.
type choiceParts struct {
	content, refusal, transcript      string
	tool, reasoning, reasoningContent string
	other                             bool // sound or pictures
}

func (r *choicesReply) member(key []byte) (err error) {
	switch string(key) {
	case "choices":
		return r.Array(func(i int) error {
			if i == 0 {
				r.choices = true
				return r.Object(r.choice)
			}
			if r.chunk.Choice == 0 {
				return r.Skip()
			}
			parts, chunk := r.parts, r.chunk
			r.parts, r.chunk = choiceParts{}, Chunk{Usage: chunk.Usage, Timings: chunk.Timings}
			err := r.Object(r.choice)
			if r.chunk.Choice != 0 {
				r.parts, r.chunk = parts, chunk
			}
			return err
		})
	case "x_groq": // has the usage of streams
		err = r.Object(func(key []byte) error {
			if string(key) != "usage" || r.chunk.Usage.Said() {
				return r.Skip()
			}
			return usageOf(&r.Scanner, &r.chunk)
		})
	case "timings":
		r.chunk.Timings, err = claims.ReadTimings(&r.Scanner, new(int64)) // usage says that, too
	default:
		err = r.Skip()
	}
	return err
}

// done is the chunk of all that was collected.
func (r *choicesReply) done(missing string) (Chunk, error) {
	if !r.choices {
		r.bareProblem()
	}
	if r.parts.reasoningContent != "" {
		r.parts.reasoning = r.parts.reasoningContent
	}
	c, err := r.asText(r.parts.content+r.parts.refusal+r.parts.transcript, r.parts.tool, r.parts.reasoning, missing)
	if c.Empty && r.parts.other && c.ErrKind == "" {
		c.Kind, c.Empty = record.Content, false
	}
	return c, err
}

// choice takes one entry of choices[0].
func (r *choicesReply) choice(key []byte) (err error) {
	switch string(key) {
	case "delta", "message":
		return r.Object(r.message)
	case "text":
		r.parts.content, err = r.View()
	case "index":
		r.chunk.Choice, err = r.Count()
		r.chunk.Choice = max(r.chunk.Choice, 0) // also where it says none
	case "finish_reason":
		r.chunk.Finish, err = r.Word()
	case "token_ids":
		r.chunk.Tokens, err = length(&r.Scanner)
	case "logprobs":
		return r.Object(r.logprobs)
	default:
		err = r.Skip()
	}
	return err
}

// logprobs has one entry per token, under "content" (chat) or "tokens".
func (r *choicesReply) logprobs(key []byte) error {
	n, err := length(&r.Scanner)
	if k := string(key); (k == "content" || k == "tokens" || k == "refusal") && n > 0 {
		r.chunk.Tokens = n
	}
	return err
}

// length is the number of elements of an array, 0 for any other value.
func length(s *scan.Scanner) (n int64, err error) {
	err = s.Array(func(int) error { n++; return s.Skip() })
	return n, err
}

// message takes one entry of a message or of a delta.
func (r *choicesReply) message(key []byte) (err error) {
	switch string(key) {
	case "content":
		r.parts.content, err = content(&r.Scanner)
	case "refusal":
		r.parts.refusal, err = r.View()
	case "audio": // its text is what is said
		err = r.Object(func(key []byte) (err error) {
			switch string(key) {
			case "transcript":
				r.parts.transcript, err = r.View()
			case "data":
				var sound string
				sound, err = r.View()
				r.parts.other = r.parts.other || sound != ""
			default:
				err = r.Skip()
			}
			return err
		})
	case "images":
		var n int64
		n, err = length(&r.Scanner)
		r.parts.other = r.parts.other || n > 0
	case "reasoning_content":
		r.parts.reasoningContent, err = r.View()
	case "reasoning":
		r.parts.reasoning, err = r.View()
	case "tool_calls":
		r.parts.tool = ""
		err = r.Array(func(int) error {
			return r.Object(func(key []byte) error {
				if string(key) != "function" {
					return r.Skip()
				}
				call, err := call(&r.Scanner)
				r.parts.tool += call
				return err
			})
		})
	case "function_call":
		r.parts.tool, err = call(&r.Scanner)
	default:
		err = r.Skip()
	}
	return err
}

// content is a string, or the texts of a list of parts.
func content(s *scan.Scanner) (string, error) {
	if s.Peek() != '[' {
		return s.View()
	}
	var all strings.Builder
	err := s.Array(func(int) error {
		return s.Object(func(key []byte) error {
			if string(key) != "text" {
				return s.Skip()
			}
			text, err := s.Text()
			all.WriteString(text)
			return err
		})
	})
	return all.String(), err
}

// call is the name and the arguments of a function call, as one text.
// Arguments that are not a string count as they were sent.
func call(s *scan.Scanner) (string, error) {
	var name, arguments string
	err := s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "name":
			name, err = s.View()
		case "arguments":
			if s.Peek() == '"' {
				arguments, err = s.View()
				return err
			}
			start := s.At
			err = s.Skip()
			if arguments = string(s.Data[start:s.At]); arguments == "null" {
				arguments = ""
			}
		default:
			err = s.Skip()
		}
		return err
	})
	return name + arguments, err
}

// contentMarks end the names under which answers carry text.
var contentMarks = [][]byte{
	[]byte(`content"`), []byte(`"reasoning"`), []byte(`"text"`), []byte(`"arguments"`),
	[]byte(`"refusal"`), []byte(`"transcript"`), []byte(`"data"`), []byte(`"images"`),
}

// choicesHaveContent looks for a non-empty string behind one of those names.
func choicesHaveContent(data []byte) bool {
	for _, mark := range contentMarks {
		for rest := data; ; {
			i := bytes.Index(rest, mark)
			if i < 0 {
				break
			}
			rest = rest[i+len(mark):]
			if startsNonEmpty(rest) {
				return true
			}
		}
	}
	return false
}

// startsNonEmpty reports whether : and a non-empty string or list follow.
func startsNonEmpty(b []byte) bool {
	b = bytes.TrimLeft(b, " ")
	if len(b) == 0 || b[0] != ':' {
		return false
	}
	b = bytes.TrimLeft(b[1:], " ")
	return len(b) > 1 && (b[0] == '"' && b[1] != '"' || b[0] == '[' && b[1] != ']')
}
