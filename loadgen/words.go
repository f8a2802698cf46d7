package loadgen

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"aiperf.dev/aiperf/internal/words"
)

// maxWords bounds an error message, maxBody an answer that refused a request, in
// bytes.
const (
	maxWords = 1 << 10
	maxBody  = 4 << 10
)

// OwnWords is what a refusing server said: the message of a JSON error, which
// reads and groups better than its wrapping, else the body; other when there is
// neither.
func OwnWords(body []byte, other string) string {
	var doc struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  string          `json:"detail"`
	}
	// A field of an unexpected type leaves the others readable.
	_ = json.Unmarshal(body, &doc)
	var inner struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(doc.Error, &inner)
	var word string
	_ = json.Unmarshal(doc.Error, &word)
	for _, s := range []string{inner.Message, word, doc.Message, doc.Detail, strings.TrimSpace(string(body))} {
		if s != "" {
			return s
		}
	}
	return other
}

// clean makes text fit for a record: valid, without secrets, at most 1 KB.
func (f *finisher) clean(text string) string { return f.masked(text, maxWords) }

// verbatim is an answer as it came, but for secrets, control characters and what is
// behind 4 KB.
func (f *finisher) verbatim(body []byte) string { return f.masked(string(body), maxBody) }

// masked is at most n bytes of a text, without secrets.
func (f *finisher) masked(text string, n int) string {
	if text == "" {
		return ""
	}
	// Masked before it is cut: half a secret is still one.
	text = words.Clean(f.hide.Cut(strings.ToValidUTF8(text, "\uFFFD")))
	if len(text) <= n {
		return text
	}
	for text = text[:n]; !utf8.ValidString(text); {
		text = text[:len(text)-1]
	}
	return text
}
