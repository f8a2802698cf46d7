package endpoint

// chat is OpenAI's chat completions API, with the additions of vLLM, SGLang,
// llama.cpp and DeepSeek to its answers.
var chat = Spec{
	Type: "chat", Path: "/v1/chat/completions", Title: "LLM Metrics",
	CanStream: true, ProducesTokens: true, TakesText: true,
	Body: chatBody, Read: readChoices, HasContent: choicesHaveContent,
}

func chatBody(dst []byte, in *Input) ([]byte, error) {
	if in.Turn.Raw != nil {
		return append(dst, in.Turn.Raw...), nil
	}
	b := newBody(dst, in)
	if b.key("messages") {
		b.dst = appendMessages(b.dst, in)
	}
	b.str("model", in.Model)
	b.flag("stream", in.Stream)
	if in.Legacy {
		b.count("max_tokens", in.Turn.MaxTokens)
	} else {
		b.count("max_completion_tokens", in.Turn.MaxTokens)
	}
	b.extras()
	b.streamOptions(in)
	return b.end()
}

// appendMessages writes system prompt, user context, history and turn.
func appendMessages(dst []byte, in *Input) []byte {
	dst = append(dst, '[')
	if in.System != "" {
		dst = appendMessage(dst, "system", in.System)
	}
	if in.Turn.Context != "" {
		dst = appendMessage(dst, "user", in.Turn.Context)
	}
	for _, m := range in.History {
		dst = appendMessage(dst, m.Role, m.Content)
	}
	dst = appendTurn(dst, roleOf(in), in.Turn.Texts)
	return append(dst, ']')
}

func roleOf(in *Input) string {
	if in.Turn.Role != "" {
		return in.Turn.Role
	}
	return "user"
}

func beginMessage(dst []byte, role string) []byte {
	if dst[len(dst)-1] != '[' {
		dst = append(dst, ',')
	}
	dst = append(dst, `{"role":`...)
	dst = appendString(dst, role)
	return append(dst, `,"content":`...)
}

func appendMessage(dst []byte, role, content string) []byte {
	return append(appendString(beginMessage(dst, role), content), '}')
}

// appendTurn writes one text as a string and several as parts.
func appendTurn(dst []byte, role string, texts []string) []byte {
	switch len(texts) {
	case 0:
		return appendMessage(dst, role, "")
	case 1:
		return appendMessage(dst, role, texts[0])
	}
	dst = append(beginMessage(dst, role), '[')
	for i, t := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"type":"text","text":`...)
		dst = append(appendString(dst, t), '}')
	}
	return append(dst, "]}"...)
}
