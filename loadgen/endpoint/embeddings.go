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
	"aiperf.dev/aiperf/schema"
)

// embeddings is OpenAI's embeddings API.
var embeddings = Spec{
	Type: "embeddings", Path: "/v1/embeddings", Title: "Embeddings", Items: record.Vectors,
	Doc: "OpenAI embeddings", GenAI: []string{"embeddings"},
	OpenAI: true, TakesText: true,
	Given:     func(t *dataset.Turn, extra schema.Members) int { return unlessSaid(len(t.Texts), extra, "input") },
	Configure: configureEmbeddings, Body: embeddingsBody, Read: readEmbeddings(float32Width), HasContent: anyContent,
	Served: Served{Texts: []string{"input", "messages"}, Items: []string{"input"}, Whole: servedEmbeddings},
}

// nimEmbeddings is NVIDIA NIM's: images go into the texts.
var nimEmbeddings = Spec{
	Type: "nim_embeddings", Path: "/v1/embeddings", Title: "Embeddings", Items: record.Vectors,
	Doc: "NVIDIA NIM embeddings, with images", TakesText: true, Takes: Images,
	Given: func(t *dataset.Turn, extra schema.Members) int {
		return unlessSaid(max(len(t.Texts), len(t.Images)), extra, "input")
	},
	Configure: configureEmbeddings, Body: nimEmbeddingsBody, Read: readEmbeddings(float32Width), HasContent: anyContent,
	Served: embeddings.Served,
}

// chatEmbeddings takes a conversation and gives a vector: vLLM's pooling models
// of pictures and text.
var chatEmbeddings = Spec{
	Type: "chat_embeddings", Path: "/v1/embeddings", Title: "Embeddings", Items: record.Vectors,
	Doc: "vLLM embeddings of a conversation", OpenAI: true, TakesText: true, TakesSystem: true, LegacyMaxTokens: true,
	Takes:     Images | Audios | Videos,
	Given:     func(_ *dataset.Turn, extra schema.Members) int { return unlessSaid(1, extra, "messages", "input") },
	Configure: configureEmbeddings, Body: chatBody, Read: readEmbeddings(float32Width), HasContent: anyContent,
	Served: embeddings.Served,
}

// float32Width is how many bytes a number of a vector in base64 has, unless the
// request asks for another type.
const float32Width = 4

// configureEmbeddings reads vectors in base64 as the numbers that are asked for:
// vLLM's embed_dtype, Voyage's output_dtype.
func configureEmbeddings(s *Spec, e *schema.Endpoint) error {
	for _, name := range []string{"embed_dtype", "output_dtype"} {
		switch e.Extra.Get(name) {
		case nil, "float", "float32":
		case "float16", "bfloat16":
			s.Read = readEmbeddings(2)
		default: // of 8 bits, or of one, packed
			s.Read = readEmbeddings(1)
		}
	}
	return nil
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
	b.extras()
	return b.end(), nil
}

// nimEmbeddingsBody writes an image as its address, a data URL where its bytes
// are known, after the text of the same place if there are texts.
func nimEmbeddingsBody(dst []byte, in *Input) ([]byte, error) {
	t := in.Turn
	switch {
	case len(t.Texts) == 0 && len(t.Images) == 0:
		return dst, errors.New("nim_embeddings: a turn without text or image")
	case len(t.Texts) > 0 && len(t.Images) > 0 && len(t.Texts) != len(t.Images):
		return dst, fmt.Errorf("nim_embeddings: %d texts and %d images; they must be equally many", len(t.Texts),
			len(t.Images))
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
	b.extras()
	return b.end(), nil
}

// readEmbeddings accepts an answer whose data holds at least one vector, each
// a list of numbers or a string of base64, of numbers of so many bytes
// (encoding_format: base64). The vectors are checked, all must be of one length,
// and dropped.
func readEmbeddings(width int) func(data []byte, stream bool) (Chunk, error) {
	return func(data []byte, stream bool) (Chunk, error) {
		var r reply
		c := &r.chunk
		entries, wrong := int64(0), ""
		vector := func(key []byte) error {
			if string(key) != "embedding" {
				return r.Skip()
			}
			n, bad, err := dimensions(&r.Scanner, width)
			switch {
			case n > 0 && c.Dims > 0 && n != c.Dims && wrong == "":
				wrong = `vectors of different lengths in "data"`
			case bad != "" && wrong == "":
				wrong = bad
			}
			if n > 0 {
				c.Items++
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
		if wrong == "" && (entries == 0 || c.Items < entries) {
			wrong = `no vectors in "data"`
		}
		return r.asThings(wrong)
	}
}

// dimensions reads a vector, a list of numbers or base64 of numbers of so many
// bytes, and returns how many there are, and what is wrong with it; 0 without a
// word is no vector at all.
func dimensions(s *scan.Scanner, width int) (n int64, wrong string, err error) {
	switch s.Peek() {
	case '[':
		err = s.Array(func(int) error {
			n++
			if c := s.Peek(); c == '-' || c >= '0' && c <= '9' {
				return s.Number()
			}
			wrong = `a vector in "data" holds something that is not a number`
			return s.Skip()
		})
	case '"':
		var v string
		if v, err = s.View(); v == "" {
			break
		}
		size, ok := base64Size(v)
		switch n = int64(size / width); {
		case !ok:
			wrong = `a vector in "data" is a text that is not base64`
		case size%width != 0:
			wrong = fmt.Sprintf(`a vector in "data" is base64 of %d bytes, which are no numbers of %d bytes each`, size,
				width)
		}
	default:
		err = s.Skip()
	}
	return n, wrong, err
}

// base64Size is how many bytes a text in base64 stands for; false for what is
// none.
func base64Size(v string) (n int, ok bool) {
	v = strings.TrimRight(v, "=")
	return base64.RawStdEncoding.DecodedLen(len(v)), len(v)%4 != 1 && isBase64(v)
}

// isBase64 reports whether all of a text is of the alphabet of base64.
func isBase64(v string) bool {
	for i := range len(v) {
		c := v[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/') {
			return false
		}
	}
	return true
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
