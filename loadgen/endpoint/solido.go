package endpoint

import (
	"errors"
)

// solidoRAG is the retrieval-augmented generation service SOLIDO.
var solidoRAG = Spec{
	Type: "solido_rag", Path: "/rag/api/prompt", Title: "LLM",
	Doc:       "SOLIDO retrieval-augmented generation",
	CanStream: true, ProducesTokens: true, TakesText: true, NoEnd: true,
	Body: solidoBody, Read: readSolido, HasContent: choicesHaveContent,
	Served: Served{
		Texts: []string{"query"}, ByAccept: true, Token: servedSolidoToken, End: servedSolidoEnd,
		Whole: servedSolido,
	},
}

func solidoBody(dst []byte, in *Input) ([]byte, error) {
	if len(in.Turn.Texts) == 0 {
		return dst, errors.New("solido_rag: a turn without text")
	}
	b := newBody(dst, in)
	b.list("query", in.Turn.Texts)
	if b.key("filters") {
		b.dst = append(b.dst, `{"family":"Solido","tool":"SDE"}`...)
	}
	b.str("inference_model", in.Model)
	b.extras()
	return b.end(), nil
}

// readSolido reads content, and the sources it was made from as items.
func readSolido(data []byte, stream bool) (Chunk, error) {
	var r reply
	text, found := "", false
	if ok, err := r.read(data, stream, func(key []byte) (err error) {
		switch string(key) {
		case "content":
			found = r.Peek() == '"'
			text, err = r.Text()
		case "sources":
			r.chunk.Items, err = length(&r.Scanner)
		default:
			err = r.Skip()
		}
		return err
	}); !ok {
		return r.chunk, err
	}
	return r.asText(text, "", "", unless(stream || found, `no "content"`))
}

func servedSolidoToken(b []byte, s *Script, from, to int) []byte {
	return append(s.Words(append(b, `data: {"content":"`...), from, to), "\"}\n\n"...)
}

func servedSolidoEnd(b []byte, s *Script) []byte {
	b = append(b, `data: {"sources":["guide.pdf"],`...)
	return append(append(servedUsage(b, s, s.Made), "}\n\n"...), "data: [DONE]\n\n"...)
}

func servedSolido(b []byte, s *Script) []byte {
	b = append(s.Words(append(b, `{"content":"`...), 0, s.Out), `","sources":["guide.pdf"],`...)
	return append(servedUsage(b, s, s.Out), '}')
}
