package endpoint

import (
	"errors"

	"aiperf.dev/aiperf/internal/record"
)

// embeddings is OpenAI's embeddings API.
var embeddings = Spec{
	Type: "embeddings", Path: "/v1/embeddings", Title: "Embeddings Metrics",
	TakesText: true,
	Body:      embeddingsBody, Read: readEmbeddings, HasContent: anyContent,
}

// anyContent is for answers that come in one piece.
func anyContent(data []byte) bool { return len(data) > 0 }

func embeddingsBody(dst []byte, in *Input) ([]byte, error) {
	if in.Turn.Raw != nil {
		return append(dst, in.Turn.Raw...), nil
	}
	if err := alone("embeddings", in); err != nil {
		return dst, err
	}
	if len(in.Turn.Texts) == 0 {
		return dst, errors.New("embeddings: a turn without text")
	}
	b := newBody(dst, in)
	b.str("model", in.Model)
	b.list("input", in.Turn.Texts)
	b.extras()
	b.streamOptions(in)
	return b.end()
}

// readEmbeddings accepts an answer whose data holds at least one vector, each
// a list of numbers or a string (encoding_format: base64). The vectors are
// checked and dropped.
func readEmbeddings(data []byte, stream bool) (Chunk, error) {
	s, done, err := openReply(data, stream)
	if err != nil {
		return Chunk{}, err
	}
	if done {
		return doneChunk(), nil
	}
	chunk := Chunk{Kind: record.Content, Usage: NoUsage}
	vectors, items := 0, 0
	var p problem
	err = s.object(func(key []byte) (err error) {
		switch string(key) {
		case "data":
			return s.array(func(int) error {
				items++
				return s.object(func(key []byte) error {
					if c := s.peek(); string(key) == "embedding" && (c == '[' || c == '"') {
						vectors++
					}
					return s.skip()
				})
			})
		case "usage":
			chunk.Usage, err = readUsage(&s)
		case "error":
			err = p.read(&s)
		default:
			err = s.skip()
		}
		return err
	})
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return Chunk{}, unreadable(err.Error(), s.data)
	}
	p.into(&chunk)
	switch {
	case p.said:
		chunk.Empty = true
	case vectors == 0 || vectors < items:
		return Chunk{}, unreadable("no vectors in \"data\"", s.data)
	}
	return chunk, nil
}
