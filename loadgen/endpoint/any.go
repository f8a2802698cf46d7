package endpoint

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/endpoint/claims"
	"aiperf.dev/aiperf/loadgen/endpoint/scan"
)

// readAny finds the answer in what a server of an unknown API says: an API of
// text that it knows by its members is read as such, else it goes by AIPerf's
// order: vectors, scores, text under its usual names, choices. What is no JSON
// at all is the text itself.
func readAny(data []byte, stream bool) (Chunk, error) {
	trimmed := bytes.TrimSpace(data)
	if len(trimmed) == 0 {
		return readText(data, stream)
	}
	switch trimmed[0] {
	case '[':
		if stream && bytes.Equal(trimmed, doneMark) {
			return readText(data, stream)
		}
		return readAnyList(trimmed)
	case '{':
		if known := apiOf(trimmed, stream); known != nil {
			if c, err := known(trimmed, stream); err == nil {
				c.Marked = stream
				return c, nil
			}
		}
		return readAnyObject(trimmed, stream)
	case '"': // a text as JSON is that text
		s := scan.Scanner{Data: trimmed}
		text, err := s.Text()
		switch {
		case err != nil || s.End() != nil:
		case text == "":
			return Chunk{}, unreadable("no answer in it", data)
		default:
			return Chunk{Kind: record.Content, Text: text, Usage: claims.NoUsage}, nil
		}
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'n', 't', 'f':
		s := scan.Scanner{Data: trimmed}
		if s.Skip() == nil && s.End() == nil {
			return Chunk{}, unreadable("no answer in it", data)
		}
	}
	return readText(data, stream)
}

// errKnown ends the look for what an object is.
var errKnown = errors.New("known")

// apiOf is how the API is read that an object is of, by the members that only it
// has; nil where they say nothing. It looks no further than it must.
func apiOf(data []byte, stream bool) (read func([]byte, bool) (Chunk, error)) {
	var content, stop, response, message, done bool
	s := scan.Scanner{Data: data}
	is := func(r func([]byte, bool) (Chunk, error)) error { read = r; return errKnown }
	_ = s.Object(func(key []byte) error {
		c := s.Peek()
		switch string(key) {
		case "choices":
			if c == '[' {
				return is(readChoices)
			}
		case "token":
			text := false
			err := s.Object(func(key []byte) error { text = text || string(key) == "text"; return s.Skip() })
			if err == nil && text {
				return is(readGenerate)
			}
			return err
		case "generated_text":
			if c == '"' {
				return is(readGenerate)
			}
		case "type", "object":
			kind, err := s.View()
			if err != nil {
				return err
			}
			if r := apiOfType(kind, stream); r != nil {
				return is(r)
			}
			return nil
		case "content":
			content = c == '"'
		case "stop":
			stop = c == 't' || c == 'f'
		case "response":
			response = c == '"'
		case "message":
			message = c == '{'
		case "done":
			done = c == 't' || c == 'f'
		}
		switch {
		case content && stop:
			return is(readGenerate)
		case (response || message) && done:
			return is(readOllama)
		}
		return s.Skip()
	})
	return read
}

// apiOfType is apiOf for what an object says about itself.
func apiOfType(kind string, stream bool) func([]byte, bool) (Chunk, error) {
	switch kind {
	case "message_start", "message_delta", "message_stop", "content_block_start", "content_block_delta",
		"content_block_stop":
		return readMessages
	}
	switch {
	case stream && strings.HasPrefix(kind, "response."), !stream && kind == "response":
		return readResponses
	case !stream && kind == "message":
		return readMessages
	}
	return nil
}

// mayEndAny is the cheap test for the last event of an API that readAny knows.
func mayEndAny(data []byte) bool {
	for _, s := range [...]*Spec{&responses, &messages, &tgi, &llamaCpp, &ollama} {
		if s.MayEnd(data) {
			return true
		}
	}
	return false
}

// claimed is what an event says beside its answer, wherever that lies: usage,
// times, a finish reason, an error, the end mark.
func claimed(data []byte, stream bool) Chunk {
	if stream && bytes.Equal(bytes.TrimSpace(data), doneMark) {
		return doneChunk()
	}
	c, err := readAnyObject(data, true) // as an event of a stream it need not hold an answer
	if err != nil {
		return Chunk{Usage: claims.NoUsage}
	}
	return c
}

// readAnyList takes a bare list: scores, vectors, or objects with a text.
func readAnyList(data []byte) (Chunk, error) {
	var r anyReply
	if err := r.list(data, r.element); err != nil {
		return Chunk{}, err
	}
	return r.done(false)
}

// anyReply collects what may be the answer.
type anyReply struct {
	choicesReply
	items int64
	texts [len(textNames)]string
	found bool
}

// textNames are the members that hold a text, the first that is there wins.
var textNames = [...]string{"text", "content", "response", "output", "result", "generated_text", "delta"}

func readAnyObject(data []byte, stream bool) (Chunk, error) {
	var r anyReply
	if ok, err := r.read(data, stream, r.member); !ok {
		return r.chunk, err
	}
	return r.done(stream)
}

// member takes one member of the answer.
func (r *anyReply) member(key []byte) error {
	switch string(key) {
	case "data", "embedding", "embeddings", "rankings", "results", "predictions", "outputs":
		if r.Peek() == '[' {
			return r.Array(r.element)
		}
	}
	if i := slices.Index(textNames[:], string(key)); i >= 0 {
		return r.named(i)
	}
	return r.choicesReply.member(key)
}

// named takes a text, or a list of texts, under one of the usual names.
func (r *anyReply) named(i int) (err error) {
	switch r.Peek() {
	case '"':
		r.texts[i], err = r.Text()
		r.found = true
	case '[':
		err = r.Array(func(int) error {
			t, err := r.Text()
			r.texts[i] += t
			r.found = r.found || t != ""
			return err
		})
	default:
		err = r.Skip()
	}
	return err
}

// element counts a vector or a score of a list, or adds its text.
func (r *anyReply) element(i int) error {
	switch c := r.Peek(); {
	case c == '[':
		r.thing(record.Vectors)
	case c == '-' || c >= '0' && c <= '9':
		if i == 0 { // one bare vector
			r.thing(record.Vectors)
		}
	case c == '"':
		t, err := r.Text()
		r.texts[0] += t
		r.found = true
		return err
	case c == '{':
		return r.Object(r.entry)
	}
	return r.Skip()
}

// thing counts one thing of a kind.
func (r *anyReply) thing(kind string) {
	r.items++
	r.found, r.chunk.Thing = true, kind
}

// entry takes one member of an object in a list.
func (r *anyReply) entry(key []byte) error {
	switch string(key) {
	case "embedding":
		r.thing(record.Vectors)
		return r.Skip()
	case "score", "logit", "relevance_score":
		r.thing(record.Passages)
		return r.Skip()
	case "b64_json", "url":
		r.thing(record.Pictures)
		return r.Skip()
	}
	i := slices.Index(textNames[:], string(key))
	if i < 0 {
		return r.Skip()
	}
	before := r.texts[i]
	r.texts[i] = ""
	err := r.named(i)
	r.texts[i] = before + r.texts[i]
	return err
}

// done is the chunk of the first text that was found, and of the things.
func (r *anyReply) done(stream bool) (Chunk, error) {
	for i := len(r.texts) - 1; i >= 0; i-- {
		if r.texts[i] != "" {
			r.parts.content = r.texts[i]
		}
	}
	r.chunk.Items = r.items
	c, err := r.choicesReply.done(unless(stream || r.found || r.choices, "no answer in it"))
	if c.Empty && c.Items > 0 && c.ErrKind == "" {
		c.Kind, c.Empty = record.Content, false
	}
	return c, err
}
