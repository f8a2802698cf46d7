package endpoint

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"aiperf.dev/aiperf/loadgen/endpoint/scan"
	"aiperf.dev/aiperf/schema"
)

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string. Bytes that are not UTF-8 become
// U+FFFD, as a server would read them. Nothing is escaped for HTML's sake.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0 // s[:done] is written
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, w := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && w == 1 {
				dst = append(dst, s[done:i]...)
				dst = append(dst, "\uFFFD"...)
				done = i + 1
			}
			i += w
			continue
		}
		if c >= 0x20 && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[done:i]...)
		dst = appendEscape(dst, c)
		i++
		done = i
	}
	dst = append(dst, s[done:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// appendKey appends "key": and, unless it is the first of its object, a comma.
func appendKey(dst []byte, key string) []byte {
	if n := len(dst); n > 0 && dst[n-1] != '{' {
		dst = append(dst, ',')
	}
	return append(appendString(dst, key), ':')
}

// appendMembers appends an object of them.
func appendMembers(dst []byte, m schema.Members) []byte {
	dst = append(dst, '{')
	for _, x := range m {
		dst = append(appendKey(dst, x.Name), x.Value...)
	}
	return append(dst, '}')
}

// jsonTexts are the texts inside a value that a server would tokenize: all
// strings but the words of the format, such as roles and types.
func jsonTexts(data []byte) (texts []string) {
	if len(data) == 0 {
		return nil
	}
	s := scan.Scanner{Data: data}
	var value func() error
	value = func() error {
		switch s.Peek() {
		case '"':
			t, err := s.Text()
			texts = append(texts, t)
			return err
		case '{':
			return s.Object(func(key []byte) error {
				switch string(key) {
				case "role", "type", "id", "tool_call_id", "call_id", "status", "signature", "image_url",
					"input_audio", "video_url", "audio_url", "source", "uuid":
					return s.Skip()
				}
				return value()
			})
		case '[':
			return s.Array(func(int) error { return value() })
		}
		return s.Skip()
	}
	_ = value() // what could be read counts
	return texts
}

// toolTexts are the texts of tool definitions: name, description and the
// parameters as JSON.
func toolTexts(data []byte) (texts []string) {
	if len(data) == 0 {
		return nil
	}
	s := scan.Scanner{Data: data}
	var entry func(key []byte) error
	entry = func(key []byte) error {
		switch string(key) {
		case "function":
			return s.Object(entry)
		case "name", "description":
			t, err := s.Text()
			texts = append(texts, t)
			return err
		case "parameters", "input_schema":
			s.Peek()
			start := s.At
			err := s.Skip()
			var plain bytes.Buffer // as servers write it, however the dataset has it
			if err == nil && json.Compact(&plain, s.Data[start:s.At]) == nil {
				texts = append(texts, plain.String())
			}
			return err
		}
		return s.Skip()
	}
	_ = s.Array(func(int) error { return s.Object(entry) }) // what could be read counts
	return texts
}

// bodyTexts are the texts of a body that the dataset holds ready: what the text
// APIs have for their prompts, in whatever order the body names it, and the tools
// last; and how many tokens it has in their place. Nothing, where the body is
// none of theirs.
func bodyTexts(body []byte) (texts []string, tokens int64) {
	tools, texts, tokens := Texts(body)
	return append(texts, tools...), tokens
}

// Texts are the same apart: the texts of the tools, which a server puts before all others,
// and these. A prompt that begins with the former begins like that of the turn before.
func Texts(body []byte) (tools, texts []string, tokens int64) {
	s := scan.Scanner{Data: body}
	found := map[string][]byte{}
	err := s.Object(func(key []byte) error {
		s.Peek()
		start := s.At
		err := s.Skip()
		found[string(key)] = s.Data[start:s.At]
		return err
	})
	if err != nil {
		return nil, nil, 0
	}
	for _, head := range []string{"instructions", "system"} {
		texts = append(texts, jsonTexts(found[head])...)
	}
	for _, members := range [][]string{
		{"messages"},
		{"prompt"},
		{"input"},
		{"query", "queries", "passages", "documents", "texts"},
		{"inputs"},
	} {
		before := len(texts)
		for _, m := range members {
			texts = append(texts, jsonTexts(found[m])...)
			tokens += numbersIn(found[m])
		}
		if len(texts) > before || tokens > 0 {
			break
		}
	}
	empty := func(t string) bool { return t == "" }
	return slices.DeleteFunc(toolTexts(found["tools"]), empty), slices.DeleteFunc(texts, empty), tokens
}

// numbersIn is how many numbers a list, or a list of lists, consists of.
func numbersIn(data []byte) (n int64) {
	s := scan.Scanner{Data: data}
	var value func(int) error
	value = func(int) error {
		switch c := s.Peek(); {
		case c == '[':
			return s.Array(value)
		case c >= '0' && c <= '9':
			n++
		}
		return s.Skip()
	}
	if s.Peek() == '[' {
		_ = s.Array(value) // what could be read counts
	}
	return n
}
