package loadgen

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/schema"
)

// maxWords bounds an error message, in bytes.
const maxWords = 1024

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

// mask stands where a secret stood.
const mask = "***"

// masker masks everything that must not get into a file.
type masker struct {
	words []string
	whole *strings.Replacer
}

// secrets are those of e: the key, the values of headers that carry one, what
// URLs hold.
func secrets(e *schema.Endpoint) masker {
	m := masker{words: secret.Words(e.APIKey, e.Headers, e.URLs, e.Extra)}
	var pairs []string
	for _, w := range m.words {
		pairs = append(pairs, w, mask)
	}
	m.whole = strings.NewReplacer(pairs...)
	return m
}

// shortestCut is how much of a secret at the end of a text is masked, too: a
// text may be the beginning of an answer, cut within one.
const shortestCut = 4

func (m masker) mask(text string) string {
	text = m.whole.Replace(text)
	body, quote := strings.CutSuffix(text, `"`)
	for _, w := range m.words {
		for n := min(len(w)-1, len(body)); n >= shortestCut; n-- {
			if strings.HasSuffix(body, w[:n]) {
				body = body[:len(body)-n] + mask
				break
			}
		}
	}
	if quote {
		body += `"`
	}
	return body
}

// clean makes text fit for a record: valid, without secrets, at most 1 KB.
func (f *finisher) clean(text string) string {
	if text == "" {
		return ""
	}
	// Masked before it is cut: half a secret is still one.
	text = words.Clean(f.secret.mask(strings.ToValidUTF8(text, "\uFFFD")))
	for len(text) > maxWords {
		text = text[:maxWords]
		for !utf8.ValidString(text) {
			text = text[:len(text)-1]
		}
	}
	return text
}
