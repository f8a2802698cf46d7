package endpoint

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

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
	Served: Served{Texts: []string{"instances"}, Items: []string{"instances"}, Asked: []string{"parameters.max_tokens"}, Whole: servedV1},
}

var kserveV2 = Spec{
	Type: "kserve_v2_infer", Path: "/v2/models/{model}/infer", Title: "LLM",
	Doc:            "KServe v2 (Open Inference Protocol) infer with a text tensor in and out",
	ProducesTokens: true, TakesText: true, RPC: true, RPCStreamPath: "/v2/models/{model}/stream_infer", // ModelStreamInfer is Triton's
	Configure: configureV2, Body: v2Body("text_input"), Read: readV2("text_output"), HasContent: anyContent,
	Served: Served{
		Texts: []string{"inputs"}, Items: []string{"inputs"}, Asked: []string{"parameters.max_tokens"}, Whole: servedV2,
		Token: servedV2Token, End: servedV2End, // over gRPC
	},
}

var kserveV2Embeddings = Spec{
	Type: "kserve_v2_embeddings", Path: "/v2/models/{model}/infer", Title: "Embeddings", Items: record.Vectors,
	Doc: "KServe v2 infer with a text tensor in and a vector out", TakesText: true, RPC: true,
	Given:     embeddings.Given,
	Configure: configureV2, Body: v2Body("text_input"), Read: readV2("embedding"), HasContent: anyContent,
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
		b.allExtras()
		return b.end()
	}
}

// readV1 joins the texts of the predictions: strings, or a member of objects.
// Lists of numbers count as vectors.
func readV1(field string) func([]byte, bool) (Chunk, error) {
	return func(data []byte, stream bool) (Chunk, error) {
		var r reply
		text := ""
		add := func() error {
			t, err := r.Text()
			text += t
			return err
		}
		named := func(key []byte) error {
			if string(key) == field {
				return add()
			}
			return r.Skip()
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
					return r.Object(named)
				}
				return r.Skip()
			})
		}); !ok {
			return r.chunk, err
		}
		r.chunk.Text = text
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
	out, err := s.textSetting(e, "v2_output_name", name)
	s.Body, s.Read = v2Body(in), readV2(out)
	if s.RPCStreamPath != "" && allRPC(e.URLs) {
		s.CanStream, s.StreamPath = true, s.RPCStreamPath
	}
	return err
}

// allRPC tells whether all addresses are spoken to by gRPC.
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
		p.allExtras()
		dst, err := p.end()
		return append(dst, '}'), err
	}
}

// readV2 takes the tensor of a name, or the only one there is: strings are
// joined, numbers are vectors by the tensor's first dimension.
func readV2(name string) func([]byte, bool) (Chunk, error) {
	return func(data []byte, stream bool) (Chunk, error) {
		r := v2Reply{name: name}
		if ok, err := r.read(data, stream, r.member); !ok {
			return r.chunk, err
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
	name  string // the tensor that is looked for
	named bool   // it was there
}

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
	if err != nil || r.named && !isNamed {
		return err
	}
	r.named = isNamed
	r.chunk.Text, r.chunk.Items, r.chunk.Dims = t.text, t.rows, 0
	if t.text == "" && t.rows > 0 {
		r.chunk.Dims = t.values / t.rows
	}
	return nil
}

// tensor is one output of a v2 answer.
type tensor struct {
	name, text   string
	rows, values int64
}

func readTensor(s *scan.Scanner) (t tensor, err error) {
	rows, values := int64(record.None), int64(0)
	err = s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "name":
			t.name, err = s.Text()
		case "shape":
			return s.Array(func(i int) error {
				n, err := s.Integer()
				if i == 0 {
					rows = n
				}
				return err
			})
		case "data":
			return s.Array(func(int) error {
				values++
				v, err := s.Text()
				t.text += v
				return err
			})
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
	return fmt.Appendf(b, `data: {"model_name":%s,"parameters":{"triton_final_response":true},"outputs":[]}`+"\n\n", quoted(s.Call.Model))
}
