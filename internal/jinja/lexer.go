package jinja

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is what a token is.
type kind uint8

const (
	tokEnd       kind = iota // of the template
	tokData                  // text outside of tags
	tokBlock                 // {%
	tokBlockEnd              // %}
	tokOutput                // {{
	tokOutputEnd             // }}
	tokName
	tokText
	tokInteger
	tokFloat
	tokOperator
)

type token struct {
	kind kind
	text string
	line int
}

// shown is a token as a mistake names it.
func (t token) shown() string {
	switch t.kind {
	case tokEnd:
		return "the end of the template"
	case tokBlockEnd:
		return "%}"
	case tokOutputEnd:
		return "}}"
	case tokData, tokBlock, tokOutput:
		return "the end of the tag"
	}
	return fmt.Sprintf("%q", t.text)
}

// lexer cuts a template into tokens by the rules of jinja2/lexer.py.
type lexer struct {
	src    string
	at     int
	line   int
	trim   bool
	fresh  bool // what was read last ended a line
	tokens []token
}

func lex(src string, trim bool) ([]token, error) {
	src = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(src)
	src = strings.TrimSuffix(src, "\n")
	l := &lexer{src: src, line: 1, trim: trim, fresh: true}
	for l.at < len(l.src) {
		if err := l.next(); err != nil {
			return nil, err
		}
	}
	l.add(tokEnd, "")
	return l.tokens, nil
}

func (l *lexer) add(k kind, text string) { l.tokens = append(l.tokens, token{k, text, l.line}) }

func (l *lexer) fail(format string, args ...any) error {
	return &Error{Line: l.line, Text: fmt.Sprintf(format, args...)}
}

// skip moves on over n bytes and counts their lines.
func (l *lexer) skip(n int) {
	l.line += strings.Count(l.src[l.at:l.at+n], "\n")
	l.at += n
}

// next reads text up to a tag, and the tag.
func (l *lexer) next() error {
	rest := l.src[l.at:]
	begin := nextTag(rest)
	if begin < 0 {
		l.add(tokData, rest)
		l.skip(len(rest))
		return nil
	}
	kind, sign := rest[begin+1], byte(0)
	if begin+2 < len(rest) && (rest[begin+2] == '-' || rest[begin+2] == '+') {
		sign = rest[begin+2]
	}
	l.data(rest[:begin], kind, sign)
	l.skip(begin + 2)
	if sign != 0 {
		l.skip(1)
	}
	switch kind {
	case '#':
		return l.comment()
	case '%':
		if n := wordTag(l.src[l.at:], "raw"); n > 0 {
			return l.raw(n)
		}
		l.add(tokBlock, "")
		return l.expression('%')
	}
	l.add(tokOutput, "")
	return l.expression('}')
}

// nextTag is where the next tag begins, or −1.
func nextTag(s string) int {
	for from := 0; ; {
		i := strings.IndexByte(s[from:], '{')
		if i < 0 || from+i+1 >= len(s) {
			return -1
		}
		if strings.IndexByte("%{#", s[from+i+1]) >= 0 {
			return from + i
		}
		from += i + 1
	}
}

// data keeps the text before a tag of a kind, trimmed as the tag's sign and
// the dialect say.
func (l *lexer) data(text string, kind, sign byte) {
	switch {
	case sign == '-':
		text = strings.TrimRightFunc(text, isSpace)
	case sign != '+' && l.trim && kind != '{':
		if begin := strings.LastIndexByte(text, '\n') + 1; (begin > 0 || l.fresh) &&
			strings.TrimSpace(text[begin:]) == "" {
			text = text[:begin]
		}
	}
	if text != "" {
		l.add(tokData, text)
	}
	l.fresh = false
}

// close steps over the end of a tag that begins here, white space that goes
// with it included; false when there is none.
func (l *lexer) close(end string, trim bool) bool {
	rest := l.src[l.at:]
	n := 0
	switch {
	case strings.HasPrefix(rest, "-"+end):
		n = len(rest) - len(strings.TrimLeftFunc(rest[1+len(end):], isSpace))
	case trim && strings.HasPrefix(rest, "+"+end):
		n = 1 + len(end)
	case strings.HasPrefix(rest, end):
		n = len(end)
		if trim && l.trim && strings.HasPrefix(rest[n:], "\n") {
			n++
		}
	default:
		return false
	}
	l.skip(n)
	l.fresh = l.src[l.at-1] == '\n'
	return true
}

func (l *lexer) comment() error {
	n := strings.Index(l.src[l.at:], "#}")
	if n < 0 {
		return l.fail("a comment {# without its end #}")
	}
	if n > 0 && strings.IndexByte("-+", l.src[l.at+n-1]) >= 0 {
		n--
	}
	l.skip(n)
	l.close("#}", true)
	return nil
}

// wordTag is the length of a tag of one word at the beginning of s, its end
// left out; 0 when it is none.
func wordTag(s, word string) int {
	rest, ok := strings.CutPrefix(strings.TrimLeftFunc(s, isSpace), word)
	if !ok {
		return 0
	}
	rest = strings.TrimLeftFunc(rest, isSpace)
	if !strings.HasPrefix(rest, "%}") && !strings.HasPrefix(rest, "-%}") && !strings.HasPrefix(rest, "+%}") {
		return 0
	}
	return len(s) - len(rest)
}

// raw reads text that is not a template, up to its end tag.
func (l *lexer) raw(n int) error {
	l.skip(n)
	l.close("%}", false)
	for from := l.at; ; {
		i := strings.Index(l.src[from:], "{%")
		if i < 0 {
			return l.fail("a raw block without its {%% endraw %%}")
		}
		from += i
		tag := l.src[from+2:]
		sign := byte(0)
		if tag != "" && (tag[0] == '-' || tag[0] == '+') {
			sign, tag = tag[0], tag[1:]
		}
		if k := wordTag(tag, "endraw"); k > 0 {
			l.data(l.src[l.at:from], '%', sign)
			l.skip(len(l.src) - len(tag) + k - l.at)
			l.close("%}", true)
			return nil
		}
		from += 2
	}
}

// operators, the longer ones first.
var operators = []string{
	"**", "//", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", "<", ">", "=", ".",
	":", "|", ",", ";",
}

// expression reads the tokens of a tag up to its end, which mark tells.
func (l *lexer) expression(mark byte) error {
	end, closes, began := "%}", tokBlockEnd, l.line
	if mark == '}' {
		end, closes = "}}", tokOutputEnd
	}
	open := 0 // brackets
	for l.at < len(l.src) {
		rest := l.src[l.at:]
		if trimmed := strings.TrimLeftFunc(rest, isSpace); len(trimmed) < len(rest) {
			l.skip(len(rest) - len(trimmed))
			continue
		}
		if open == 0 {
			if line := l.line; l.close(end, mark == '%') {
				l.tokens = append(l.tokens, token{closes, "", line})
				return nil
			}
		}
		if err := l.item(rest, &open); err != nil {
			return err
		}
	}
	return &Error{Line: began, Text: "a tag without its end " + end}
}

// item reads one token.
func (l *lexer) item(rest string, open *int) error {
	c := rest[0]
	switch {
	case c >= '0' && c <= '9':
		return l.number(rest)
	case c == '\'' || c == '"':
		return l.quoted(rest)
	}
	if r, _ := utf8.DecodeRuneInString(rest); r == '_' || unicode.IsLetter(r) {
		n := len(rest) - len(strings.TrimLeftFunc(rest, func(r rune) bool {
			return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
		}))
		l.add(tokName, rest[:n])
		l.skip(n)
		return nil
	}
	for _, op := range operators {
		if !strings.HasPrefix(rest, op) {
			continue
		}
		switch op {
		case "(", "[", "{":
			*open++
		case ")", "]", "}":
			if *open--; *open < 0 {
				return l.fail("%s without its beginning, or a tag without its end", op)
			}
		}
		l.add(tokOperator, op)
		l.skip(len(op))
		return nil
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return l.fail("unexpected %q", r)
}

// number reads digits, and a fraction and an exponent unless a dot is before
// it: items.0.1 are two members.
func (l *lexer) number(rest string) error {
	digits := func(i int) int {
		for i < len(rest) && (rest[i] >= '0' && rest[i] <= '9' || rest[i] == '_' &&
			i+1 < len(rest) && rest[i+1] >= '0' && rest[i+1] <= '9') {
			i++
		}
		return i
	}
	n, k := digits(0), tokInteger
	if len(rest) > 2 && rest[0] == '0' && strings.IndexByte("xXoObB", rest[1]) >= 0 {
		for n = 2; n < len(rest) && (rest[n] == '_' || isHex(rest[n])); n++ {
		}
	} else if last := l.tokens[len(l.tokens)-1]; last.kind != tokOperator || last.text != "." {
		if n+1 < len(rest) && rest[n] == '.' && rest[n+1] >= '0' && rest[n+1] <= '9' {
			n, k = digits(n+1), tokFloat
		}
		if n < len(rest) && (rest[n] == 'e' || rest[n] == 'E') {
			i := n + 1
			if i < len(rest) && (rest[i] == '+' || rest[i] == '-') {
				i++
			}
			if end := digits(i); end > i {
				n, k = end, tokFloat
			}
		}
	}
	l.add(k, strings.ReplaceAll(rest[:n], "_", ""))
	l.skip(n)
	return nil
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

// quoted reads a text in quotes, with Python's escapes.
func (l *lexer) quoted(rest string) error {
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case rest[0]:
			text, err := unescape(rest[1:i])
			if err != nil {
				return l.fail("%v", err)
			}
			l.add(tokText, text)
			l.skip(i + 1)
			return nil
		}
	}
	return l.fail("a text without its closing quote")
}

// unescape undoes Python's escapes in a text.
func unescape(s string) (string, error) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, nil
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out.WriteByte(s[i])
			continue
		}
		i++
		if to := strings.IndexByte("abfnrtv\\'\"", s[i]); to >= 0 {
			out.WriteByte("\a\b\f\n\r\t\v\\'\""[to])
			continue
		}
		switch c := s[i]; {
		case c == '\n':
		case c == 'x' || c == 'u' || c == 'U':
			n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
			var r rune
			if i+n >= len(s) {
				return "", fmt.Errorf("the escape \\%s is cut short", s[i:])
			}
			if _, err := fmt.Sscanf(s[i+1:i+1+n], fmt.Sprintf("%%%dx", n), &r); err != nil {
				return "", fmt.Errorf("\\%s is not an escape", s[i:i+1+n])
			}
			out.WriteRune(r)
			i += n
		case c >= '0' && c <= '7':
			v, n := 0, 0
			for ; n < 3 && i+n < len(s) && s[i+n] >= '0' && s[i+n] <= '7'; n++ {
				v = v*8 + int(s[i+n]-'0')
			}
			out.WriteRune(rune(v))
			i += n - 1
		default:
			out.WriteByte('\\')
			out.WriteByte(c)
		}
	}
	return out.String(), nil
}

// isSpace is Python's white space, which has four controls more than Go's.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }
