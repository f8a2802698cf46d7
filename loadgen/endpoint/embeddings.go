package endpoint

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/endpoint/scan"
)

// embeddings is OpenAI's embeddings API.
var embeddings = Spec{
	Type: "embeddings", Path: "/v1/embeddings", Title: "Embeddings", Items: record.Vectors,
	Doc: "OpenAI embeddings", GenAI: []string{"embeddings"},
	OpenAI: true, TakesText: true,
	Given: func(t *dataset.Turn, extra map[string]any) int { return unlessSaid(len(t.Texts), extra, "input") },
	Body:  embeddingsBody, Read: readEmbeddings, HasContent: anyContent,
	Served: Served{Texts: []string{"input", "messages"}, Items: []string{"input"}, Whole: servedEmbeddings},
}

// nimEmbeddings is NVIDIA NIM's: images go into the texts.
var nimEmbeddings = Spec{
	Type: "nim_embeddings", Path: "/v1/embeddings", Title: "Embeddings", Items: record.Vectors,
	Doc: "NVIDIA NIM embeddings, with images", TakesText: true, Takes: Images,
	Given: func(t *dataset.Turn, extra map[string]any) int {
		return unlessSaid(max(len(t.Texts), len(t.Images)), extra, "input")
	},
	Body: nimEmbeddingsBody, Read: readEmbeddings, HasContent: anyContent,
	Served: embeddings.Served,
}

// chatEmbeddings takes a conversation and gives a vector: vLLM's pooling models
// of pictures and text.
var chatEmbeddings = Spec{
	Type: "chat_embeddings", Path: "/v1/embeddings", Title: "Embeddings", Items: record.Vectors,
	Doc: "vLLM embeddings of a conversation", OpenAI: true, TakesText: true, TakesSystem: true, LegacyMaxTokens: true,
	Takes: Images | Audios | Videos,
	Given: func(_ *dataset.Turn, extra map[string]any) int { return unlessSaid(1, extra, "messages", "input") },
	Body:  chatBody, Read: readEmbeddings, HasContent: anyContent,
	Served: embeddings.Served,
}

// anyContent is for answers that come in one piece.
func anyContent(data []byte) bool { return len(data) > 0 }

func embeddingsBody(dst []byte, in *Input) ([]byte, error) {
	if len(in.Turn.Texts) == 0 {
		return dst, errors.New("embeddings: a turn without text")
	}
	b := newBody(dst, in)
	b.str("model", in.Model)
	b.list("input", in.Turn.Texts)
	b.allExtras()
	return b.end()
}

// nimEmbeddingsBody writes an image as its address, a data URL where its bytes
// are known, after the text of the same place if there are texts.
func nimEmbeddingsBody(dst []byte, in *Input) ([]byte, error) {
	t := in.Turn
	switch {
	case len(t.Texts) == 0 && len(t.Images) == 0:
		return dst, errors.New("nim_embeddings: a turn without text or image")
	case len(t.Texts) > 0 && len(t.Images) > 0 && len(t.Texts) != len(t.Images):
		return dst, fmt.Errorf("nim_embeddings: %d texts and %d images; they must be equally many", len(t.Texts), len(t.Images))
	}
	texts := append([]string(nil), t.Texts...)
	for i := range t.Images {
		if len(t.Texts) > 0 {
			texts[i] += " " + t.Images[i].Address()
		} else {
			texts = append(texts, t.Images[i].Address())
		}
	}
	b := newBody(dst, in)
	b.str("model", in.Model)
	b.list("input", texts)
	b.allExtras()
	return b.end()
}

// readEmbeddings accepts an answer whose data holds at least one vector, each
// a list of numbers or a string (encoding_format: base64). The vectors are
// checked, all must be of one length, and dropped.
func readEmbeddings(data []byte, stream bool) (Chunk, error) {
	var r reply
	c := &r.chunk
	entries, uneven := int64(0), false
	vector := func(key []byte) error {
		if string(key) != "embedding" {
			return r.Skip()
		}
		n, some, err := dimensions(&r.Scanner)
		if some {
			c.Items++
		}
		if uneven = uneven || n > 0 && c.Dims > 0 && n != c.Dims; n > 0 {
			c.Dims = n
		}
		return err
	}
	if ok, err := r.read(data, stream, func(key []byte) error {
		if string(key) != "data" {
			return r.Skip()
		}
		return r.Array(func(int) error { entries++; return r.Object(vector) })
	}); !ok {
		return r.chunk, err
	}
	switch {
	case entries == 0 || c.Items < entries:
		return r.asThings(`no vectors in "data"`)
	case uneven:
		return r.asThings(`vectors of different lengths in "data"`)
	}
	return r.asThings("")
}

// dimensions reads a vector, a list of numbers or base64 of them as float32,
// and returns how many there are; some is false for what is no vector.
func dimensions(s *scan.Scanner) (n int64, some bool, err error) {
	switch s.Peek() {
	case '[':
		err = s.Array(func(int) error {
			if c := s.Peek(); c == '-' || c >= '0' && c <= '9' {
				n++
				return s.Number()
			}
			return s.Skip()
		})
	case '"':
		var v string
		v, err = s.View()
		n = int64(base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(v, "="))) / 4)
		some = v != ""
	default:
		err = s.Skip()
	}
	return n, some || n > 0, err
}

// servedEmbeddings gives every input a random unit vector.
func servedEmbeddings(b []byte, s *Script) []byte {
	b = append(b, `{"object":"list","data":[`...)
	for i := range max(1, s.Call.Items) {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"object":"embedding","index":%d,"embedding":`, i)
		b = append(appendVector(b, s.vector(), s.Call.Base64), '}')
	}
	b = fmt.Appendf(b, `],"model":%s`, quoted(s.Call.Model))
	if s.Usage {
		n := s.Claimed(s.In)
		b = fmt.Appendf(b, `,"usage":{"prompt_tokens":%d,"total_tokens":%d}`, n, n)
	}
	return append(b, '}')
}

// vector is a random direction.
func (s *Script) vector() []float32 {
	v := make([]float64, s.Dims)
	length := 0.0
	for i := range v {
		v[i] = s.Rng.NormFloat64()
		length += v[i] * v[i]
	}
	out := make([]float32, len(v))
	for i := range v {
		out[i] = float32(v[i] / math.Sqrt(length))
	}
	return out
}

func appendVector(b []byte, v []float32, encoded bool) []byte {
	if encoded {
		raw := make([]byte, 0, 4*len(v))
		for _, f := range v {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
		}
		return append(base64.StdEncoding.AppendEncode(append(b, '"'), raw), '"')
	}
	return append(appendNumbers(append(b, '['), v), ']')
}

// appendNumbers writes v with commas between.
func appendNumbers(b []byte, v []float32) []byte {
	for i, f := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(f), 'g', -1, 32)
	}
	return b
}
