package endpoint

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/endpoint/scan"
	"aiperf.dev/aiperf/schema"
)

// KServe's protocols over HTTP. Its OpenAI front end is those APIs below
// another path.

var (
	kserveChat        = below("/openai", chat, "kserve_chat")
	kserveCompletions = below("/openai", completions, "kserve_completions")
	kserveEmbeddings  = below("/openai", embeddings, "kserve_embeddings")
)

// below is an API under another name and a longer path.
func below(prefix string, s Spec, typ string) Spec {
	s.Type, s.Path, s.GenAI, s.OpenAI = typ, prefix+s.Path, nil, false
	s.Doc = "KServe's front end for " + s.Doc
	return s
}

var kserveV1 = Spec{
	Type: "kserve_v1_predict", Path: "/v1/models/{model}:predict", Title: "LLM",
	Doc:            "KServe v1 predict: instances and predictions",
	ProducesTokens: true, TakesText: true,
	Configure: configureV1, Body: v1Body("text"), Read: readV1("output"), HasContent: anyContent,
	Served: Served{
		Texts: []string{"instances"}, Items: []string{"instances"}, Asked: []string{"parameters.max_tokens"},
		Whole: servedV1,
	},
}

var kserveV2 = Spec{
	Type: "kserve_v2_infer", Path: "/v2/models/{model}/infer", Title: "LLM",
	Doc: "KServe v2 (Open Inference Protocol) infer with a text tensor in and out",
	// ModelStreamInfer is Triton's
	ProducesTokens: true, TakesText: true, RPC: true, RPCStreamPath: "/v2/models/{model}/stream_infer",
	Configure: configureV2, Body: v2Body("text_input"), Read: readV2("text_output", false, false),
	HasContent: anyContent,
	MayEnd:     func(data []byte) bool { return has(data, `"triton_final_response"`, 't') },
	Served: Served{
		Texts: []string{"inputs"}, Items: []string{"inputs"}, Asked: []string{"parameters.max_tokens"}, Whole: servedV2,
		Token: servedV2Token, End: servedV2End, // over gRPC
	},
}

var kserveV2Embeddings = Spec{
	Type: "kserve_v2_embeddings", Path: "/v2/models/{model}/infer", Title: "Embeddings", Items: record.Vectors,
	Doc: "KServe v2 infer with a text tensor in and a vector out", TakesText: true, RPC: true,
	Given:     embeddings.Given,
	Configure: configureV2, Body: v2Body("text_input"), Read: readV2("embedding", false, true), HasContent: anyContent,
	Served: Served{Texts: []string{"inputs"}, Items: []string{"inputs"}, Whole: servedV2},
}

func configureV1(s *Spec, e *schema.Endpoint) error {
	in, err := s.textSetting(e, "v1_input_field", "text")
	if err != nil {
		return err
	}
	out, err := s.textSetting(e, "v1_output_field", "output")
	s.Body, s.Read = v1Body(in), readV1(out)
	return err
}

// v1Body sends each text as an instance, a member of an object.
func v1Body(field string) func([]byte, *Input) ([]byte, error) {
	return func(dst []byte, in *Input) ([]byte, error) {
		if len(in.Turn.Texts) == 0 {
			return dst, errors.New("kserve_v1_predict: a turn without text")
		}
		b := newBody(dst, in)
		if b.key("instances") {
			b.dst = append(b.dst, '[')
			for _, t := range in.Turn.Texts {
				b.dst = append(appendString(appendKey(append(comma(b.dst), '{'), field), t), '}')
			}
			b.dst = append(b.dst, ']')
		}
		if in.Turn.MaxTokens > 0 && b.key("parameters") {
			b.dst = append(strconv.AppendInt(append(b.dst, `{"max_tokens":`...), in.Turn.MaxTokens, 10), '}')
		}
		b.extras()
		return b.end(), nil
	}
}

// readV1 joins the texts of the predictions: strings, or a member of objects,
// which each of them must have. Lists of numbers count as vectors.
func readV1(field string) func([]byte, bool) (Chunk, error) {
	return func(data []byte, stream bool) (Chunk, error) {
		var r reply
		text, named, missing := "", false, false
		add := func() error {
			t, err := r.Text()
			text += t
			return err
		}
		member := func(key []byte) error {
			if string(key) != field {
				return r.Skip()
			}
			switch c := r.Peek(); c {
			case '[': // texts, or a vector
				named = true
				return r.Array(func(int) error { return add() })
			default:
				named = c == '"' || c == '-' || c >= '0' && c <= '9'
				return add()
			}
		}
		if ok, err := r.read(data, stream, func(key []byte) error {
			if string(key) != "predictions" {
				return r.Skip()
			}
			return r.Array(func(int) error {
				r.chunk.Items++
				switch r.Peek() {
				case '"':
					return add()
				case '{':
					named = false
					err := r.Object(member)
					missing = missing || !named
					return err
				}
				return r.Skip()
			})
		}); !ok {
			return r.chunk, err
		}
		r.chunk.Text = text
		if missing {
			return r.asThings(fmt.Sprintf(`no %q in a prediction (extra input v1_output_field names the member)`,
				field))
		}
		return r.asThings(unless(r.chunk.Items > 0, `no "predictions"`))
	}
}

func configureV2(s *Spec, e *schema.Endpoint) error {
	in, err := s.textSetting(e, "v2_input_name", "text_input")
	if err != nil {
		return err
	}
	name := "text_output"
	if !s.ProducesTokens {
		name = "embedding"
	}
	chosen := e.Extra.Has("v2_output_name")
	out, err := s.textSetting(e, "v2_output_name", name)
	s.Body, s.Read = v2Body(in), readV2(out, chosen, s.Items == record.Vectors)
	if s.RPCStreamPath != "" && allRPC(e.URLs) {
		s.CanStream, s.StreamPath = true, s.RPCStreamPath
	}
	return err
}

// allRPC reports whether all addresses are spoken to by gRPC.
func allRPC(urls []string) bool {
	return len(urls) > 0 && !slices.ContainsFunc(urls, func(u string) bool { return !isRPC(u) })
}

// v2Body sends the texts as a tensor of bytes, one row each; the answer's
// length and the extra inputs are parameters.
func v2Body(name string) func([]byte, *Input) ([]byte, error) {
	return func(dst []byte, in *Input) ([]byte, error) {
		if len(in.Turn.Texts) == 0 {
			return dst, errors.New("KServe v2: a turn without text")
		}
		dst = appendString(append(dst, `{"inputs":[{"name":`...), name)
		dst = strconv.AppendInt(append(dst, `,"shape":[`...), int64(len(in.Turn.Texts)), 10)
		dst = append(appendTexts(append(dst, `,1],"datatype":"BYTES","data":`...), in.Turn.Texts), "}]"...)
		p := newBody(append(dst, `,"parameters":`...), in)
		p.count("max_tokens", in.Turn.MaxTokens)
		p.extras()
		return append(p.end(), '}'), nil
	}
}

// readV2 takes the tensor of a name or, unless somebody has chosen that name, the
// only one there is: strings are joined, numbers are vectors by the tensor's
// first dimension. Where numbers are asked for, strings are no answer.
func readV2(name string, chosen, numbers bool) func([]byte, bool) (Chunk, error) {
	return func(data []byte, stream bool) (Chunk, error) {
		r := v2Reply{name: name, numbers: numbers}
		if ok, err := r.read(data, stream, r.member); !ok {
			return r.chunk, err
		}
		if len(r.others) > 0 && !r.named && (chosen || len(r.others) > 1) {
			return r.asThings(fmt.Sprintf(`no tensor %q but %s (extra input v2_output_name names it)`, name,
				strings.Join(r.others, ", ")))
		}
		if r.wrong != "" {
			return r.asThings(r.wrong)
		}
		if stream && !r.problem.said && r.chunk.Items == 0 { // the mark alone
			r.chunk.Empty = true
			return r.chunk, nil
		}
		return r.asThings(unless(r.chunk.Items > 0, `no "outputs"`))
	}
}

// v2Reply collects the parts of an answer of KServe v2.
type v2Reply struct {
	reply
	name    string   // the tensor that is looked for
	numbers bool     // it holds vectors
	named   bool     // it was there
	others  []string // those of other names, as far as they have been told
	wrong   string   // what is wrong with the one that was taken
}

// mostOthers bounds how many tensors an error names.
const mostOthers = 8

func (r *v2Reply) member(key []byte) error {
	switch string(key) {
	case "outputs":
		return r.Array(r.output)
	case "parameters": // Triton's mark of a decoupled model's last answer
		return r.Object(func(key []byte) error {
			if string(key) == "triton_final_response" && r.Peek() == 't' {
				r.chunk.Finish, r.chunk.Last = "final", true
			}
			return r.Skip()
		})
	}
	return r.Skip()
}

// output takes one tensor, if none of the name was there before.
func (r *v2Reply) output(int) error {
	t, err := readTensor(&r.Scanner)
	isNamed := t.name == r.name
	if !isNamed && len(r.others) < mostOthers {
		r.others = append(r.others, strconv.Quote(t.name))
	}
	if err != nil || r.named && !isNamed {
		return err
	}
	r.named = isNamed
	r.chunk.Text, r.chunk.Items, r.chunk.Dims, r.wrong = t.text, t.rows, 0, ""
	switch {
	case t.texts && r.numbers:
		r.wrong = fmt.Sprintf("tensor %q holds texts, and vectors were asked for", t.name)
	case t.texts: // a shape of texts says nothing that is counted
	case t.odd:
		r.wrong = fmt.Sprintf("tensor %q holds something that is not a number", t.name)
	case t.size != record.None && t.size != t.values:
		r.wrong = fmt.Sprintf("tensor %q has %d numbers, by its shape %d", t.name, t.values, t.size)
	case t.rows > 0:
		r.chunk.Dims = t.values / t.rows
	}
	return nil
}

// tensor is one output of a v2 answer.
type tensor struct {
	name, text   string
	rows, values int64
	size         int64 // values by its shape, record.None without one
	texts, odd   bool  // it holds texts; it holds what is neither text nor number
}

func readTensor(s *scan.Scanner) (t tensor, err error) {
	rows, values := int64(record.None), int64(0)
	t.size = record.None
	var value func(int) error
	value = func(int) error { // rows may be lists of their own
		switch c := s.Peek(); {
		case c == '[':
			return s.Array(value)
		case c == '"':
			t.texts = true
		default:
			t.odd = t.odd || c != '-' && c != 't' && c != 'f' && !(c >= '0' && c <= '9')
		}
		values++
		v, err := s.Text()
		t.text += v
		return err
	}
	err = s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "name":
			t.name, err = s.Text()
		case "shape":
			return s.Array(func(i int) error {
				n, err := s.Integer()
				if i == 0 {
					rows, t.size = n, 1
				}
				t.size = sized(t.size, n)
				return err
			})
		case "data":
			return s.Array(value)
		default:
			err = s.Skip()
		}
		return err
	})
	if t.rows, t.values = rows, values; values == 0 || rows < 0 || rows == math.MaxInt64 {
		t.rows = min(values, 1)
	}
	return t, err
}

// sized is how many values a shape has with one dimension more; record.None for
// what is not a shape.
func sized(size, n int64) int64 {
	if size < 0 || n < 0 || n > 0 && size > math.MaxInt64/n {
		return record.None
	}
	return size * n
}

func servedV1(b []byte, s *Script) []byte {
	b = append(b, `{"predictions":[`...)
	for i := range max(1, s.Call.Items) {
		from, to := 0, 0
		if i == 0 {
			to = s.Out
		}
		b = append(s.Words(append(comma(b), `{"output":"`...), from, to), `"}`...)
	}
	return append(b, "]}"...)
}

// servedV2 has a tensor of text and one of numbers: the path does not say which
// one the model would make.
func servedV2(b []byte, s *Script) []byte {
	b = fmt.Appendf(b, `{"model_name":%s,"model_version":"1","outputs":[{"name":"text_output","datatype":"BYTES","shape":[1,1],"data":["`, quoted(s.Call.Model))
	b = append(s.Words(b, 0, s.Out), `"]},`...)
	rows := max(1, s.Call.Items)
	b = fmt.Appendf(b, `{"name":"embedding","datatype":"FP32","shape":[%d,%d],"data":[`, rows, s.Dims)
	for range rows {
		b = appendNumbers(comma(b), s.vector())
	}
	return append(b, "]}]}"...)
}

// servedV2Token and servedV2End are the answers of a decoupled model.
func servedV2Token(b []byte, s *Script, from, to int) []byte {
	b = fmt.Appendf(b, `data: {"model_name":%s,"model_version":"1","outputs":[{"name":"text_output","datatype":"BYTES","shape":[1,1],"data":["`, quoted(s.Call.Model))
	return append(s.Words(b, from, to), "\"]}]}\n\n"...)
}

func servedV2End(b []byte, s *Script) []byte {
	return fmt.Appendf(b, `data: {"model_name":%s,"parameters":{"triton_final_response":true},"outputs":[]}`+"\n\n",
		quoted(s.Call.Model))
}
