package endpoint

import "errors"

// completions is OpenAI's text completions API.
var completions = Spec{
	Type: "completions", Path: "/v1/completions", Title: "LLM Metrics",
	CanStream: true, ProducesTokens: true, TakesText: true,
	Body: completionsBody, Read: readChoices, HasContent: choicesHaveContent,
}

func completionsBody(dst []byte, in *Input) ([]byte, error) {
	if in.Turn.Raw != nil {
		return append(dst, in.Turn.Raw...), nil
	}
	if err := alone("completions", in); err != nil {
		return dst, err
	}
	if len(in.Turn.Texts) == 0 {
		return dst, errors.New("completions: a turn without text")
	}
	b := newBody(dst, in)
	b.oneOrList("prompt", in.Turn.Texts)
	b.str("model", in.Model)
	b.flag("stream", in.Stream)
	b.count("max_tokens", in.Turn.MaxTokens)
	b.extras()
	b.streamOptions(in)
	return b.end()
}
