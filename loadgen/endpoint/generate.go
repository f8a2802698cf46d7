package endpoint

import (
	"errors"
	"fmt"
	"strings"

	"aiperf.dev/aiperf/loadgen/endpoint/claims"
)

// Servers with APIs of their own for a prompt and its continuation.

// tgi is Hugging Face's Text Generation Inference.
var tgi = Spec{
	Type: "huggingface_generate", Path: "/generate", StreamPath: "/generate_stream", Title: "LLM",
	Doc: "Hugging Face TGI generate", GenAI: []string{"huggingface_generate"},
	CanStream: true, ProducesTokens: true, TakesText: true,
	Body: tgiBody, Read: readGenerate, HasContent: generateHasContent,
	MayEnd: func(data []byte) bool { return has(data, `"generated_text"`, '"') },
	Served: Served{
		Texts: []string{"inputs"}, Asked: []string{"parameters.max_new_tokens"}, TimeHeaders: true,
		Token: servedTGIToken, End: servedTGIEnd, Whole: servedTGI,
	},
}

// llamaCpp is the native completion API of llama.cpp's server.
var llamaCpp = Spec{
	Type: "llamacpp_completion", Path: "/completion", Title: "LLM",
	Doc:       "llama.cpp's own completion",
	CanStream: true, ProducesTokens: true, TakesText: true,
	Body: llamaBody, Read: readGenerate, HasContent: generateHasContent,
	MayEnd: func(data []byte) bool { return has(data, `"stop"`, 't') },
	Served: Served{
		Texts: []string{"prompt"}, Asked: []string{"n_predict"},
		Token: servedLlamaToken, End: servedLlamaEnd, Whole: servedLlama,
	},
}

// tgiBody has the endpoint's extra inputs among the parameters and the turn's
// own at the top, as AIPerf has them.
func tgiBody(dst []byte, in *Input) ([]byte, error) {
	if len(in.Turn.Texts) == 0 {
		return dst, errors.New("huggingface_generate: a turn without text")
	}
	b := &body{dst: append(dst, '{'), extra: in.Turn.Extra}
	b.str("inputs", strings.Join(in.Turn.Texts, " "))
	if b.key("parameters") {
		p := &body{dst: append(b.dst, '{'), extra: in.Extra}
		p.count("max_new_tokens", in.Turn.MaxTokens)
		p.extras()
		b.dst = p.end()
	}
	b.extras()
	return b.end(), nil
}

func llamaBody(dst []byte, in *Input) ([]byte, error) {
	if len(in.Turn.Texts) == 0 {
		return dst, errors.New("llamacpp_completion: a turn without text")
	}
	b := newBody(dst, in)
	b.str("prompt", strings.Join(in.Turn.Texts, " "))
	b.count("n_predict", in.Turn.MaxTokens)
	b.flag("stream", in.Stream)
	b.extras()
	return b.end(), nil
}

// readGenerate reads what both servers say. TGI streams tokens as
// token.text and repeats the whole as generated_text in the last event;
// llama.cpp has content and, in the last event, its counts and timings.
func readGenerate(data []byte, stream bool) (Chunk, error) {
	var r generateReply
	if !stream && isList(data) { // TGI behind some gateways
		if err := r.list(data, r.first); err != nil {
			return Chunk{}, err
		}
	} else if ok, err := r.read(data, stream, r.member); !ok {
		return r.chunk, err
	}
	return r.done(stream)
}

// generateReply collects the parts of an event or an answer.
type generateReply struct {
	reply
	token, whole     string
	isToken, isWhole bool
	stopped          bool
}

// first reads the first answer of a list.
func (r *generateReply) first(i int) error {
	if i > 0 {
		return r.Skip()
	}
	return r.Object(r.member)
}

func (r *generateReply) member(key []byte) (err error) {
	switch string(key) {
	case "token":
		r.isToken = true
		special := false
		err = r.Object(func(key []byte) (err error) {
			switch string(key) {
			case "text":
				r.token, err = r.View()
			case "special": // a mark of the model, such as that of its end: no text of the answer
				special = r.Peek() == 't'
				err = r.Skip()
			default:
				err = r.Skip()
			}
			return err
		})
		if special {
			r.token = ""
		}
	case "content":
		r.isToken = r.Peek() == '"'
		r.token, err = r.View()
	case "generated_text":
		r.isWhole = r.Peek() == '"'
		r.whole, err = r.View()
	case "details":
		return r.Object(r.detail)
	case "stop":
		r.stopped = r.Peek() == 't'
		err = r.Skip()
	case "stop_type":
		r.chunk.Finish, err = r.Word()
	case "tokens_predicted":
		r.chunk.Usage.Completion, err = r.Count()
	case "tokens_evaluated":
		r.chunk.Usage.Prompt, err = r.Count()
	case "tokens_cached":
		err = r.Skip() // tokens in the cache afterwards, not those read from it
	case "timings":
		r.chunk.Timings, err = claims.ReadTimings(&r.Scanner, &r.chunk.Usage.Cached)
	case "message", "error_type":
		err = r.problem.entry(&r.Scanner, key)
	default:
		err = r.Skip()
	}
	return err
}

// detail takes one entry of TGI's details.
func (r *generateReply) detail(key []byte) (err error) {
	switch string(key) {
	case "finish_reason":
		r.chunk.Finish, err = r.Word()
	case "generated_tokens":
		r.chunk.Usage.Completion, err = r.Count()
	case "input_length":
		r.chunk.Usage.Prompt, err = r.Count()
	case "prefill":
		var n int64
		if n, err = length(&r.Scanner); n > 0 {
			r.chunk.Usage.Prompt = n
		}
	default:
		err = r.Skip()
	}
	return err
}

func (r *generateReply) done(stream bool) (Chunk, error) {
	text := r.token
	if !stream && r.isWhole {
		text = r.whole
	}
	if stream && r.isWhole && r.chunk.Finish == "" {
		r.chunk.Finish = "stop" // the whole text comes with the last token; not every gateway says why it ended
	}
	r.chunk.Last = stream && (r.isWhole || r.stopped)
	if !r.stopped && r.chunk.Finish == "none" { // llama.cpp's word for going on
		r.chunk.Finish = ""
	}
	return r.asText(text, "", "", unless(stream || r.isWhole || r.isToken, `neither "generated_text" nor "content"`))
}

func generateHasContent(data []byte) bool { return choicesHaveContent(data) }

func servedTGIToken(b []byte, s *Script, from, to int) []byte {
	b = fmt.Appendf(b, `data:{"index":%d,"token":{"id":%d,"text":"`, to, 1000+from)
	b = append(s.Words(b, from, to), `","logprob":-0.5,"special":false}`...)
	if to < s.Out {
		return append(b, `,"generated_text":null,"details":null}`+"\n\n"...)
	}
	b = append(s.Words(append(b, `,"generated_text":"`...), 0, s.Out), `",`...)
	return append(appendTGIDetails(b, s), "}\n\n"...)
}

func servedTGIEnd(b []byte, _ *Script) []byte { return b } // the last token was the end

func servedTGI(b []byte, s *Script) []byte {
	b = append(s.Words(append(b, `{"generated_text":"`...), 0, s.Out), `",`...)
	return append(appendTGIDetails(b, s), '}')
}

func appendTGIDetails(b []byte, s *Script) []byte {
	return fmt.Appendf(b, `"details":{"finish_reason":%q,"generated_tokens":%d,"input_length":%d,"seed":null}`,
		s.Finish("length", "eos_token", ""), s.Claimed(s.Out), s.Claimed(s.In))
}

func servedLlamaToken(b []byte, s *Script, from, to int) []byte {
	b = append(s.Words(append(b, `data: {"index":0,"content":"`...), from, to), `","tokens":[],"stop":false`...)
	return fmt.Appendf(b, `,"id_slot":-1,"tokens_predicted":%d,"tokens_evaluated":%d}`+"\n\n", to, s.In)
}

func servedLlamaEnd(b []byte, s *Script) []byte {
	b = append(b, `data: {"index":0,"content":"",`...)
	return append(appendLlamaEnd(b, s), "}\n\n"...)
}

func servedLlama(b []byte, s *Script) []byte {
	b = append(s.Words(append(b, `{"index":0,"content":"`...), 0, s.Out), `",`...)
	return append(appendLlamaEnd(b, s), '}')
}

func appendLlamaEnd(b []byte, s *Script) []byte {
	out := s.Claimed(s.Out)
	b = fmt.Appendf(b, `"stop":true,"model":%s,"tokens_predicted":%d,"tokens_evaluated":%d,"stop_type":%q,"truncated":false`,
		quoted(s.Call.Model), out, s.Claimed(s.In), s.Finish("limit", "eos", ""))
	read, made := s.Times()
	return fmt.Appendf(b, `,"timings":{"cache_n":%d,"prompt_n":%d,"prompt_ms":%.3f,"predicted_n":%d,"predicted_ms":%.3f}`,
		s.Cached, s.In-s.Cached, read, out, made)
}
