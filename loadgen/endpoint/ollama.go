package endpoint

import (
	"errors"
	"fmt"
	"strings"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/endpoint/claims"
	"aiperf.dev/aiperf/loadgen/endpoint/scan"
)

// ollama is the native API of Ollama for a prompt and its continuation. Its
// streams are lines of JSON; the last one says counts, and times in ns.
var ollama = Spec{
	Type: "ollama_generate", Path: "/api/generate", Title: "LLM",
	Doc:       "Ollama's own generate",
	CanStream: true, ProducesTokens: true, TakesText: true,
	Body: ollamaBody, Read: readOllama, HasContent: ollamaHasContent,
	MayEnd: func(data []byte) bool { return has(data, `"done"`, 't') },
	Served: Served{
		Texts: []string{"prompt"}, Asked: []string{"options.num_predict"}, Reasons: true, Lines: true,
		Token: servedOllamaToken, End: servedOllamaEnd, Whole: servedOllama,
	},
}

// ollamaBody has the length among the options, beside those of the extra inputs.
func ollamaBody(dst []byte, in *Input) ([]byte, error) {
	if len(in.Turn.Texts) == 0 {
		return dst, errors.New("ollama_generate: a turn without text")
	}
	b := newBody(dst, in)
	b.str("model", in.Model)
	b.str("prompt", strings.Join(in.Turn.Texts, " "))
	b.flag("stream", in.Stream) // without it, it streams
	given := b.extra.Raw("options")
	if in.Turn.MaxTokens != 0 && (given == nil || given[0] == '{') {
		o := &body{dst: append(appendKey(b.dst, "options"), '{')}
		if given != nil {
			_ = o.extra.UnmarshalJSON(given) // an object
		}
		o.count("num_predict", in.Turn.MaxTokens)
		o.extras()
		b.dst, b.done = o.end(), append(b.done, "options")
	}
	b.extras()
	return b.end(), nil
}

func readOllama(data []byte, stream bool) (Chunk, error) {
	var (
		r                reply
		text, reasoning  string
		isAnswer, isDone bool
		why              string
		times            = claims.NoTimings
	)
	if ok, err := r.read(data, stream, func(key []byte) (err error) {
		switch string(key) {
		case "response":
			isAnswer = r.Peek() == '"'
			text, err = r.View()
		case "thinking":
			reasoning, err = r.View()
		case "message": // of /api/chat
			isAnswer = r.Peek() == '{'
			return r.Object(func(key []byte) (err error) {
				switch string(key) {
				case "content":
					text, err = r.View()
				case "thinking":
					reasoning, err = r.View()
				default:
					err = r.Skip()
				}
				return err
			})
		case "done":
			isDone = r.Peek() == 't'
			err = r.Skip()
		case "done_reason":
			why, err = r.Word()
		case "prompt_eval_count":
			r.chunk.Usage.Prompt, err = r.Count()
		case "eval_count":
			r.chunk.Usage.Completion, err = r.Count()
		case "prompt_eval_duration":
			err = nanoseconds(&r.Scanner, &times.Prefill)
		case "eval_duration":
			err = nanoseconds(&r.Scanner, &times.Decode)
		case "total_duration":
			err = nanoseconds(&r.Scanner, &times.Total)
		default:
			err = r.Skip()
		}
		return err
	}); !ok {
		return r.chunk, err
	}
	if isDone {
		if r.chunk.Finish = why; why == "" {
			r.chunk.Finish = "stop" // older servers do not say why
		}
	}
	if times.Said() {
		said := times // times itself stays where events without any need no memory
		r.chunk.Timings = &said
	}
	c, err := r.asText(text, "", reasoning, unless(isAnswer || isDone, `no "response"`))
	if stream && isDone && c.Empty && c.ErrKind == "" {
		c.Kind = record.Done // no line follows
	}
	return c, err
}

// nanoseconds reads a time in ns into ms.
func nanoseconds(s *scan.Scanner, ms *float64) error {
	ns, err := s.Decimal()
	*ms = ns / 1e6
	return err
}

func ollamaHasContent(data []byte) bool {
	c, err := readOllama(data, true)
	return err == nil && !c.Empty
}

func servedOllamaToken(b []byte, s *Script, from, to int) []byte {
	b = append(servedOllamaHead(b, s), `,"response":"`...)
	if from < s.Reasoning {
		b = append(b, `","thinking":"`...)
	}
	return append(s.Words(b, from, to), `","done":false}`+"\n"...)
}

func servedOllamaEnd(b []byte, s *Script) []byte {
	b = append(servedOllamaHead(b, s), `,"response":""`...)
	return append(appendOllamaEnd(b, s), '\n')
}

func servedOllama(b []byte, s *Script) []byte {
	b = s.Words(append(servedOllamaHead(b, s), `,"response":"`...), s.Reasoning, s.Out)
	b = append(b, '"')
	if s.Reasoning > 0 {
		b = append(s.Words(append(b, `,"thinking":"`...), 0, s.Reasoning), '"')
	}
	return appendOllamaEnd(b, s)
}

func servedOllamaHead(b []byte, s *Script) []byte {
	return fmt.Appendf(b, `{"model":%s`, quoted(s.Call.Model))
}

func appendOllamaEnd(b []byte, s *Script) []byte {
	b = fmt.Appendf(b, `,"done":true,"done_reason":%q`, s.Finish("length", "stop", ""))
	if s.UsageOff {
		return append(b, '}')
	}
	read, made := s.Times()
	return fmt.Appendf(b, `,"total_duration":%.0f,"prompt_eval_count":%d,"prompt_eval_duration":%.0f,"eval_count":%d,"eval_duration":%.0f}`,
		(read+made)*1e6, s.Claimed(s.In), read*1e6, s.Claimed(s.Out), made*1e6)
}
