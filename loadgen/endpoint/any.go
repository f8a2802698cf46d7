package endpoint

import (
	"bytes"
	"slices"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/endpoint/scan"
)

// readAny finds the answer in what a server of an unknown API says, in AIPerf's
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
		return readAnyObject(trimmed, stream)
	case '"': // a text as JSON is that text
		s := scan.Scanner{Data: trimmed}
		text, err := s.Text()
		switch {
		case err != nil || s.End() != nil:
		case text == "":
			return Chunk{}, unreadable("no answer in it", data)
		default:
			return Chunk{Kind: record.Content, Text: text, Usage: NoUsage}, nil
		}
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'n', 't', 'f':
		s := scan.Scanner{Data: trimmed}
		if s.Skip() == nil && s.End() == nil {
			return Chunk{}, unreadable("no answer in it", data)
		}
	}
	return readText(data, stream)
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
		r.items++
		r.found = true
	case c == '-' || c >= '0' && c <= '9':
		if i == 0 { // one bare vector
			r.items++
			r.found = true
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

// entry takes one member of an object in a list.
func (r *anyReply) entry(key []byte) error {
	switch string(key) {
	case "embedding", "score", "logit", "relevance_score", "b64_json", "url":
		r.items++
		r.found = true
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
			r.content = r.texts[i]
		}
	}
	r.chunk.Items = r.items
	c, err := r.choicesReply.done(unless(stream || r.found || r.choices, "no answer in it"))
	if c.Empty && c.Items > 0 && c.ErrKind == "" {
		c.Kind, c.Empty = record.Content, false
	}
	return c, err
}
