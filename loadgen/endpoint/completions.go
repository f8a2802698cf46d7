package endpoint

import (
	"errors"
	"fmt"
)

// completions is OpenAI's text completions API.
var completions = Spec{
	Type: "completions", Path: "/v1/completions", Title: "LLM",
	Doc: "OpenAI text completions", GenAI: []string{"completions"},
	OpenAI: true, CanStream: true, ProducesTokens: true, TakesText: true, UsageAsked: true,
	Body: completionsBody, Read: readChoices, HasContent: choicesHaveContent,
	Served: Served{
		Texts: []string{"prompt"}, Asked: []string{"max_tokens", "max_completion_tokens"}, Least: "min_tokens",
		Token: servedTextToken, End: servedTextEnd, Whole: servedText,
	},
}

func completionsBody(dst []byte, in *Input) ([]byte, error) {
	if len(in.Turn.Texts) == 0 {
		return dst, errors.New("completions: a turn without text")
	}
	b := newBody(dst, in)
	b.oneOrList("prompt", in.Turn.Texts)
	b.str("model", in.Model)
	b.flag("stream", in.Stream)
	b.count("max_tokens", in.Turn.MaxTokens)
	b.extrasAndUsage(in, in.Usage)
	return b.end(), nil
}

func servedTextToken(b []byte, s *Script, from, to int) []byte {
	b = servedHead(append(b, "data: {"...), s, "text_completion")
	b = s.Words(append(b, `,"choices":[{"index":0,"text":"`...), from, to)
	return closeEvent(append(b, `","finish_reason":null}]`...), s, to)
}

func servedTextEnd(b []byte, s *Script) []byte {
	b = servedHead(append(b, "data: {"...), s, "text_completion")
	b = fmt.Appendf(b, `,"choices":[{"index":0,"text":"","finish_reason":"%s"}]`,
		s.Finish("length", "stop", "tool_calls"))
	return servedTail(closeEvent(b, s, s.Made), s, "text_completion")
}

func servedText(b []byte, s *Script) []byte {
	b = servedHead(append(b, '{'), s, "text_completion")
	b = s.Words(append(b, `,"choices":[{"index":0,"text":"`...), 0, s.Out)
	return closeWhole(append(b, '"'), s)
}
