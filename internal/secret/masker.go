package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Masker masks the secrets of an experiment wherever they turn up: its own words
// in every form they travel in, and what looks like a credential. A nil one knows
// no words.
type Masker struct {
	words []string // longest first, so that one that contains another is masked whole
	whole *strings.Replacer
}

// NewMasker masks words in all their forms. Those that would garble innocent text
// are left out: see Telling.
func NewMasker(words ...string) *Masker {
	var all []string
	for _, w := range words {
		if w != "" && strings.Trim(w, "*") != "" && !strings.Contains(Mask, w) {
			all = append(all, forms(w)...)
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	m := &Masker{words: slices.Compact(all)}
	var pairs []string
	for _, w := range m.words {
		pairs = append(pairs, w, Gap)
	}
	m.whole = strings.NewReplacer(pairs...)
	return m
}

// Own is text without the secrets of the experiment; what else it holds is
// somebody else's and stays.
func (m *Masker) Own(text string) string {
	if m == nil || len(m.words) == 0 {
		return text
	}
	return m.whole.Replace(text)
}

// Text is text without the secrets of the experiment and without what looks like
// a credential.
func (m *Masker) Text(text string) string { return Shapes(m.Own(text)) }

// mostOfPanic is how many characters of a panic are told.
const mostOfPanic = 200

// Panic is what a panic that was caught says, in one line: it may quote any value
// that was being read.
func (m *Masker) Panic(fault any) string {
	text := []rune(strings.Join(strings.Fields(m.Text(fmt.Sprint(fault))), " "))
	if len(text) > mostOfPanic {
		return string(text[:mostOfPanic-3]) + "..."
	}
	return string(text)
}

// Panic is what a panic that was caught says where no experiment is known.
func Panic(fault any) string { return (*Masker)(nil).Panic(fault) }

// shortestCut is how much of a secret at the end of a text is masked, too: a
// text may be the beginning of an answer, cut within one.
const shortestCut = 4

// Cut is Text of what may be the beginning of a longer text.
func (m *Masker) Cut(text string) string {
	text = m.Own(text)
	body, quote := strings.CutSuffix(text, `"`)
	if m != nil {
		for _, w := range m.words {
			for n := min(len(w)-1, len(body)); n >= shortestCut; n-- {
				if strings.HasSuffix(body, w[:n]) {
					body = body[:len(body)-n] + Gap
					break
				}
			}
		}
	}
	if quote {
		body += `"`
	}
	return Shapes(body)
}

// OwnJSON is Own of every string in JSON text; the names of members and numbers
// stay, so that the text stays JSON of the same form. Other text is taken as text.
func (m *Masker) OwnJSON(raw []byte) []byte { return values(raw, m.Own) }

// JSON is Text of every string in JSON text.
func (m *Masker) JSON(raw []byte) []byte { return values(raw, m.Text) }

// values is JSON text with its strings masked.
func values(raw []byte, masked func(string) string) []byte {
	if text := string(raw); masked(text) == text {
		return raw // the forms of a word have those of JSON
	}
	if !json.Valid(raw) {
		return []byte(masked(string(raw)))
	}
	var out bytes.Buffer
	for at := 0; at < len(raw); {
		if raw[at] != '"' {
			out.WriteByte(raw[at])
			at++
			continue
		}
		end := at + 1
		for raw[end] != '"' {
			if raw[end] == '\\' {
				end++
			}
			end++
		}
		end++
		out.Write(value(raw[at:end], isName(raw[end:]), masked))
		at = end
	}
	return out.Bytes()
}

// isName tells by what follows a string whether it is the name of a member.
func isName(rest []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(":")) }

// value is one quoted string, masked.
func value(quoted []byte, name bool, masked func(string) string) []byte {
	var text string
	if name || json.Unmarshal(quoted, &text) != nil {
		return quoted
	}
	hidden := masked(text)
	if hidden == text {
		return quoted
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(hidden) // a string cannot fail
	return bytes.TrimRight(out.Bytes(), "\n")
}

// forms are the ways a word is written where it travels.
func forms(w string) []string {
	out := []string{
		w, url.QueryEscape(w), url.PathEscape(w), html.EscapeString(w),
		base64.StdEncoding.EncodeToString([]byte(w)), base64.RawStdEncoding.EncodeToString([]byte(w)),
		base64.URLEncoding.EncodeToString([]byte(w)), base64.RawURLEncoding.EncodeToString([]byte(w)),
	}
	for _, quoted := range []string{strconv.Quote(w), strconv.QuoteToASCII(w)} {
		out = append(out, quoted[1:len(quoted)-1])
	}
	if js, err := json.Marshal(w); err == nil {
		out = append(out, string(js[1:len(js)-1]))
	}
	return out
}

// The length from which a word is masked in running text: one that is known to be
// a credential, and one that may be one.
const (
	shortest = 4
	longer   = 8
	phrase   = 16
)

// Telling reports whether a word is told apart from innocent text, so that it is
// masked wherever it turns up, and not only where it was said. Known says that it
// is a credential; else it only may be one, as the value of any header or variable.
// "8", "true", "EMPTY" and "production" are not.
func Telling(w string, known bool) bool {
	_, err := strconv.ParseFloat(w, 64)
	number := err == nil
	switch {
	case len(w) < shortest:
		return false
	case known && len(w) >= longer:
		return true
	case known:
		return !number && !plain(w)
	}
	return len(w) >= longer && !number && !(plain(w) && len(w) < phrase)
}

// plain reports whether w may be a word of a language: letters, all in one case but
// for the first.
func plain(w string) bool {
	for _, r := range w {
		if !unicode.IsLetter(r) {
			return false
		}
	}
	_, tail := w[:1], w[1:]
	return tail == strings.ToLower(tail) || w == strings.ToUpper(w)
}
