package endpoint

import (
	"bytes"
	"strings"
)

// readChoices reads the answers of the chat and the text completions API,
// whole or one event of a stream. Only the first entry of choices counts.
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
	content, tool, reasoning, reasoningContent string
	choices                                    bool
}

func (r *choicesReply) member(key []byte) (err error) {
	switch string(key) {
	case "choices":
		return r.array(func(i int) error {
			r.choices = true
			if i > 0 {
				return r.skip()
			}
			return r.object(r.choice)
		})
	case "timings":
		r.chunk.Timings, err = readTimings(&r.scanner)
	default:
		err = r.skip()
	}
	return err
}

// done is the chunk of all that was collected.
func (r *choicesReply) done(missing string) (Chunk, error) {
	if !r.choices {
		r.bareProblem()
	}
	if r.reasoningContent != "" {
		r.reasoning = r.reasoningContent
	}
	return r.asText(r.content, r.tool, r.reasoning, missing)
}

// choice takes one entry of choices[0].
func (r *choicesReply) choice(key []byte) (err error) {
	switch string(key) {
	case "delta", "message":
		return r.object(r.message)
	case "text":
		r.content, err = r.view()
	case "finish_reason":
		r.chunk.Finish, err = r.word()
	case "token_ids":
		r.chunk.Tokens, err = length(&r.scanner)
	case "logprobs":
		return r.object(r.logprobs)
	default:
		err = r.skip()
	}
	return err
}

// logprobs has one entry per token, under "content" (chat) or "tokens".
func (r *choicesReply) logprobs(key []byte) error {
	n, err := length(&r.scanner)
	if k := string(key); (k == "content" || k == "tokens") && n > 0 {
		r.chunk.Tokens = n
	}
	return err
}

// length is the number of elements of an array, 0 for any other value.
func length(s *scanner) (n int64, err error) {
	err = s.array(func(int) error { n++; return s.skip() })
	return n, err
}

// message takes one entry of a message or of a delta.
func (r *choicesReply) message(key []byte) (err error) {
	switch string(key) {
	case "content":
		r.content, err = content(&r.scanner)
	case "reasoning_content":
		r.reasoningContent, err = r.view()
	case "reasoning":
		r.reasoning, err = r.view()
	case "tool_calls":
		r.tool = ""
		err = r.array(func(int) error {
			return r.object(func(key []byte) error {
				if string(key) != "function" {
					return r.skip()
				}
				call, err := call(&r.scanner)
				r.tool += call
				return err
			})
		})
	case "function_call":
		r.tool, err = call(&r.scanner)
	default:
		err = r.skip()
	}
	return err
}

// content is a string, or the texts of a list of parts.
func content(s *scanner) (string, error) {
	if s.peek() != '[' {
		return s.view()
	}
	var all strings.Builder
	err := s.array(func(int) error {
		return s.object(func(key []byte) error {
			if string(key) != "text" {
				return s.skip()
			}
			text, err := s.text()
			all.WriteString(text)
			return err
		})
	})
	return all.String(), err
}

// call is the name and the arguments of a function call, as one text.
// Arguments that are not a string count as they were sent.
func call(s *scanner) (string, error) {
	var name, arguments string
	err := s.object(func(key []byte) (err error) {
		switch string(key) {
		case "name":
			name, err = s.view()
		case "arguments":
			if s.peek() == '"' {
				arguments, err = s.view()
				return err
			}
			start := s.at
			err = s.skip()
			if arguments = string(s.data[start:s.at]); arguments == "null" {
				arguments = ""
			}
		default:
			err = s.skip()
		}
		return err
	})
	return name + arguments, err
}

// contentMarks end the names under which answers carry text.
var contentMarks = [][]byte{[]byte(`content"`), []byte(`"reasoning"`), []byte(`"text"`), []byte(`"arguments"`)}

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

// startsNonEmpty tells whether : and a non-empty string or list follow.
func startsNonEmpty(b []byte) bool {
	b = bytes.TrimLeft(b, " ")
	if len(b) == 0 || b[0] != ':' {
		return false
	}
	b = bytes.TrimLeft(b[1:], " ")
	return len(b) > 1 && (b[0] == '"' && b[1] != '"' || b[0] == '[' && b[1] != ']')
}
