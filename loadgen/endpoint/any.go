package endpoint

import (
	"bytes"

	"aiperf.dev/aiperf/internal/record"
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
		if bytes.Equal(trimmed, doneMark) {
			return readText(data, stream)
		}
		return readAnyList(trimmed)
	case '{':
		return readAnyObject(trimmed, stream)
	case '"', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'n', 't', 'f':
		s := scanner{data: trimmed}
		if s.skip() == nil && s.end() == nil {
			return Chunk{}, unreadable("no answer in it", data)
		}
	}
	return readText(data, stream)
}

// readAnyList takes a bare list: scores, vectors, or objects with a text.
func readAnyList(data []byte) (Chunk, error) {
	c := Chunk{Kind: record.Content, Usage: NoUsage}
	r := anyReply{choicesReply: choicesReply{chunk: c}}
	s := scanner{data: data}
	err := r.list(&s)
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return Chunk{}, unreadable(err.Error(), data)
	}
	return r.done(false, data)
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
	r := anyReply{choicesReply: choicesReply{chunk: Chunk{Usage: NoUsage}}}
	s := scanner{data: data}
	err := s.object(func(key []byte) error { return r.member(&s, key) })
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return Chunk{}, unreadable(err.Error(), data)
	}
	return r.done(stream, data)
}

// member takes one member of the answer.
func (r *anyReply) member(s *scanner, key []byte) error {
	switch string(key) {
	case "data", "embeddings", "rankings", "results", "predictions", "outputs":
		if s.peek() == '[' {
			return r.list(s)
		}
	case "embedding":
		if s.peek() == '[' {
			r.items, r.found = 1, true
		}
		return s.skip()
	}
	for i, name := range textNames {
		if name == string(key) {
			return r.named(s, i)
		}
	}
	return r.entry(s, key)
}

// named takes a text, or a list of texts, under one of the usual names.
func (r *anyReply) named(s *scanner, i int) (err error) {
	switch s.peek() {
	case '"':
		r.texts[i], err = s.text()
		r.found = true
	case '[':
		err = s.array(func(int) error {
			t, err := s.text()
			r.texts[i] += t
			r.found = r.found || t != ""
			return err
		})
	default:
		err = s.skip()
	}
	return err
}

// list counts vectors and scores, and joins texts.
func (r *anyReply) list(s *scanner) error {
	return s.array(func(i int) error {
		switch c := s.peek(); {
		case c == '[':
			r.items++
			r.found = true
		case c == '-' || c >= '0' && c <= '9':
			if i == 0 { // one bare vector
				r.items++
				r.found = true
			}
		case c == '"':
			t, err := s.text()
			r.texts[0] += t
			r.found = true
			return err
		case c == '{':
			return r.element(s)
		}
		return s.skip()
	})
}

func (r *anyReply) element(s *scanner) error {
	return s.object(func(key []byte) error {
		switch string(key) {
		case "embedding", "score", "logit", "relevance_score", "b64_json", "url":
			r.items++
			r.found = true
			return s.skip()
		}
		for i, name := range textNames {
			if name == string(key) {
				before := r.texts[i]
				r.texts[i] = ""
				err := r.named(s, i)
				r.texts[i] = before + r.texts[i]
				return err
			}
		}
		return s.skip()
	})
}

func (r *anyReply) done(stream bool, data []byte) (Chunk, error) {
	c := &r.chunk
	text := r.content
	for i := len(r.texts) - 1; i >= 0; i-- {
		if r.texts[i] != "" {
			text = r.texts[i]
		}
	}
	if r.reasoningContent != "" {
		r.reasoning = r.reasoningContent
	}
	if r.isError {
		r.problem.said = true
	}
	if !stream && !r.found && !r.choices && !r.problem.said {
		return Chunk{}, unreadable("no answer in it", data)
	}
	c.Items = r.items
	if c.finish(text, r.tool, r.reasoning); c.Empty && r.items > 0 {
		c.Kind, c.Empty = record.Content, false
	}
	r.problem.into(c)
	return *c, nil
}
