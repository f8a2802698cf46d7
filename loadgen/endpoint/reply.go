package endpoint

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/endpoint/claims"
	"aiperf.dev/aiperf/loadgen/endpoint/scan"
)

// doneMark ends the event streams of OpenAI-like servers.
var doneMark = []byte("[DONE]")

// shown is how much of an unreadable answer an error repeats, in bytes.
const shown = 80

// unreadable is the error for an answer that is not what the API promises.
func unreadable(why string, data []byte) error {
	if len(data) == 0 {
		return fmt.Errorf("%s: the answer is empty", why)
	}
	if len(data) > shown {
		data = data[:shown]
	}
	return fmt.Errorf("%s: the answer begins %q", why, data)
}

// ErrMissed is in the error for an answer in which the setting TextAt finds
// nothing: it finds it in no other answer either, as a rule.
var ErrMissed = errors.New("nothing at the place that is set")

// missed is unreadable for ErrMissed.
func missed(why string, data []byte) error { return missedError{unreadable(why, data)} }

type missedError struct{ error }

func (missedError) Unwrap() error { return ErrMissed }

// openReply is the scanner of a reply that is a JSON object. done is set for
// the end mark of a stream.
func openReply(data []byte, stream bool) (s scan.Scanner, done bool, err error) {
	data = bytes.TrimSpace(data)
	if stream && bytes.Equal(data, doneMark) {
		return s, true, nil
	}
	if len(data) == 0 || data[0] != '{' {
		return s, false, unreadable("not a JSON object", data)
	}
	return scan.Scanner{Data: data}, false, nil
}

// doneChunk is what the end mark means.
func doneChunk() Chunk { return Chunk{Kind: record.Done, Empty: true, Usage: claims.NoUsage} }

// reply is an answer that is a JSON object, or one event of a stream, on its
// way to a chunk. It is its own scanner.
type reply struct {
	scan.Scanner
	chunk   Chunk
	problem problem
}

// usageOf reads a usage object into a chunk, with the times in it.
func usageOf(s *scan.Scanner, c *Chunk) error {
	u, t, err := claims.ReadUsage(s)
	if c.Usage = u; t != nil {
		c.Timings = t
	}
	return err
}

// read reads the whole object. Usage and errors, which all APIs say alike, go
// to their places; member is called for each other member, with the scanner
// before its value, which member must read. It returns false when there is
// nothing more to find out: r.chunk and err are the result then.
func (r *reply) read(data []byte, stream bool, member func(key []byte) error) (found bool, err error) {
	var done bool
	if r.Scanner, done, err = openReply(data, stream); done {
		r.chunk = doneChunk()
	}
	if done || err != nil {
		return false, err
	}
	r.chunk.Usage = claims.NoUsage
	err = r.Object(func(key []byte) error {
		switch string(key) {
		case "usage":
			return usageOf(&r.Scanner, &r.chunk)
		case "error":
			return r.problem.read(&r.Scanner)
		case "model":
			return r.model()
		}
		return member(key)
	})
	if err = r.checked(err); err != nil {
		r.chunk = Chunk{}
	}
	return err == nil, err
}

// model reads what the answer names as its model.
func (r *reply) model() (err error) {
	if r.Peek() != '"' {
		return r.Skip()
	}
	r.chunk.Model, err = r.View()
	return err
}

// list reads an answer that is a bare list.
func (r *reply) list(data []byte, each func(i int) error) error {
	r.Scanner, r.chunk.Usage = scan.Scanner{Data: data}, claims.NoUsage
	return r.checked(r.Array(each))
}

// isList reports whether an answer is a bare list.
func isList(data []byte) bool { s := scan.Scanner{Data: data}; return s.Peek() == '[' }

// checked is err, or that something follows the value, in a person's words.
func (r *reply) checked(err error) error {
	if err == nil {
		err = r.End()
	}
	if err != nil {
		return unreadable(err.Error(), r.Data)
	}
	return nil
}

// has reports whether data has a member of that name, in quotes, whose value begins
// with first. A string that quotes such a member has a backslash before the quote.
func has(data []byte, quoted string, first byte) bool {
	for {
		i := bytes.Index(data, []byte(quoted))
		if i < 0 {
			return false
		}
		data = data[i+len(quoted):]
		value := bytes.TrimLeft(data, " :\t")
		if len(value) > 0 && len(value) < len(data) && value[0] == first {
			return true
		}
	}
}

// asText is the chunk of an answer that is text; what is missing from it, "" for
// nothing, makes it unreadable.
func (r *reply) asText(content, tool, reasoning, missing string) (Chunk, error) {
	if missing != "" {
		r.bareProblem()
	}
	if missing != "" && !r.problem.said {
		return Chunk{}, unreadable(missing, r.Data)
	}
	r.chunk.finish(content, tool, reasoning)
	if r.chunk.bare() { // an event of a stream that is no part of an answer
		r.bareProblem()
	}
	r.problem.into(&r.chunk)
	return r.chunk, nil
}

// asThings is the chunk of an answer that is made of other things than text;
// what is wrong with them, "" for nothing, makes it unreadable.
func (r *reply) asThings(wrong string) (Chunk, error) {
	if wrong != "" {
		r.bareProblem()
	}
	if r.problem.said {
		c := Chunk{Empty: true, Usage: r.chunk.Usage, Timings: r.chunk.Timings}
		r.problem.into(&c)
		return c, nil
	}
	if wrong != "" {
		return Chunk{}, unreadable(wrong, r.Data)
	}
	r.chunk.Kind = record.Content
	return r.chunk, nil
}

// bareProblem looks in an object without what it should hold for an error that
// is the whole object, {"type":"error","message":…} or {"object":"error",…}:
// as OpenAI's streams and older vLLM have it. Such objects are rare, so no other
// answer is read for it.
func (r *reply) bareProblem() {
	if r.problem.said {
		return
	}
	var p problem
	isError := false
	s := scan.Scanner{Data: r.Data}
	err := s.Object(func(key []byte) error {
		switch string(key) {
		case "object", "type":
			start := s.At
			if is, err := s.Is("error"); err != nil || is {
				isError = isError || is
				return err
			}
			s.At = start
			fallthrough
		case "message", "code":
			return p.entry(&s, key)
		}
		return s.Skip()
	})
	if p.said = err == nil && isError; p.said {
		if p.text == "" {
			p.text = string(r.Data)
		}
		r.problem = p
	}
}

// unless is what is wrong where a condition does not hold.
func unless(holds bool, wrong string) string {
	if holds {
		return ""
	}
	return wrong
}

// maxErrText bounds the server's own words kept, in bytes.
const maxErrText = 1024

// problem collects what a reply says about an error.
type problem struct {
	kind, code, text string
	said             bool
}

// read takes the value of an "error" entry: an object, a string, or, meaning
// no error, null, false or nothing.
func (p *problem) read(s *scan.Scanner) error {
	switch s.Peek() {
	case '"':
		text, err := s.Text()
		p.text, p.said = text, text != ""
		return err
	case '{':
	case 't':
		p.said = true
		return s.Skip()
	default:
		return s.Skip()
	}
	start := s.At
	entries := 0
	err := s.Object(func(key []byte) error {
		entries++
		return p.entry(s, key)
	})
	p.said = entries > 0
	if p.text == "" {
		p.text = string(s.Data[start:s.At])
	}
	return err
}

// entry takes one entry of an error object.
func (p *problem) entry(s *scan.Scanner, key []byte) (err error) {
	switch string(key) {
	case "message":
		p.text, err = s.Text()
	case "type":
		p.kind, err = s.Text()
	case "code":
		start := s.At
		if s.Peek() == '"' {
			p.code, err = s.Text()
			return err
		}
		err = s.Skip()
		if code := strings.TrimSpace(string(s.Data[start:s.At])); code != "null" {
			p.code = code
		}
	default:
		err = s.Skip()
	}
	return err
}

// into puts the error into the chunk.
func (p *problem) into(c *Chunk) {
	if !p.said {
		return
	}
	c.ErrKind = p.kind
	if c.ErrKind == "" {
		c.ErrKind = p.code
	}
	if c.ErrKind == "" {
		c.ErrKind = "error"
	}
	c.ErrText = p.text
	if len(c.ErrText) > maxErrText {
		c.ErrText = strings.ToValidUTF8(c.ErrText[:maxErrText], "")
	}
}

// finish gives the chunk its kind from its parts.
func (c *Chunk) finish(content, tool, reasoning string) {
	switch {
	case tool != "":
		c.Kind, c.Text, c.Reasoning = record.Tool, content+tool, reasoning
	case content != "":
		c.Kind, c.Text, c.Reasoning = record.Content, content, reasoning
	case reasoning != "":
		c.Kind, c.Text = record.Reasoning, reasoning
	case c.Usage.Said():
		c.Kind, c.Empty = record.Usage, true
	default:
		c.Empty = true
	}
}

// bare reports whether nothing was found in an event.
func (c *Chunk) bare() bool {
	return c.Empty && c.Kind == record.Content && c.Finish == "" && !c.Last && c.Items == 0 && c.Timings == nil
}
