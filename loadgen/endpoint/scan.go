package endpoint

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"aiperf.dev/aiperf/internal/record"
)

// scanner reads JSON once from left to right and checks all of it, so that a
// cut or garbled answer never passes for a whole one. Each method reads one
// value. It accepts exactly what encoding/json accepts.
type scanner struct {
	data  []byte
	at    int
	depth int
}

var errSyntax = errors.New("malformed JSON")

// maxDepth is the nesting at which encoding/json gives up too.
const maxDepth = 10000

// peek is the first byte of the next value, 0 at the end.
func (s *scanner) peek() byte {
	if s.at < len(s.data) && s.data[s.at] > ' ' { // nearly always; small enough to be inlined
		return s.data[s.at]
	}
	return s.peekOver()
}

// peekOver is peek over blanks.
func (s *scanner) peekOver() byte {
	for ; s.at < len(s.data); s.at++ {
		switch c := s.data[s.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

// object calls each for every entry, with the scanner before its value, which
// each must read. A value that is no object is skipped.
func (s *scanner) object(each func(key []byte) error) error {
	if s.peek() != '{' {
		return s.skip()
	}
	s.at++
	if s.depth++; s.depth > maxDepth {
		return errSyntax
	}
	if s.take('}') {
		s.depth--
		return nil
	}
	for {
		key, err := s.key()
		if err != nil {
			return err
		}
		if !s.take(':') {
			return errSyntax
		}
		if err := each(key); err != nil {
			return err
		}
		switch {
		case s.take(','):
		case s.take('}'):
			s.depth--
			return nil
		default: // an error is final: nobody asks for the depth after it
			return errSyntax
		}
	}
}

// array calls each for every element, with the scanner before it. A value that
// is no array is skipped.
func (s *scanner) array(each func(i int) error) error {
	if s.peek() != '[' {
		return s.skip()
	}
	s.at++
	if s.depth++; s.depth > maxDepth {
		return errSyntax
	}
	if s.take(']') {
		s.depth--
		return nil
	}
	for i := 0; ; i++ {
		if err := each(i); err != nil {
			return err
		}
		switch {
		case s.take(','):
		case s.take(']'):
			s.depth--
			return nil
		default:
			return errSyntax
		}
	}
}

func (s *scanner) key() ([]byte, error) {
	raw, plain, err := s.raw()
	if err != nil || plain {
		return raw, err
	}
	return []byte(unescape(raw)), nil
}

// text reads a string; any other value is skipped and gives "".
func (s *scanner) text() (string, error) {
	if s.peek() != '"' {
		return "", s.skip()
	}
	raw, plain, err := s.raw()
	if err != nil {
		return "", err
	}
	if plain {
		return string(raw), nil
	}
	return unescape(raw), nil
}

// view reads a string as text does, but without a copy where there are no
// escapes: what it gives lasts as long as the data.
func (s *scanner) view() (string, error) {
	if s.peek() != '"' {
		return "", s.skip()
	}
	raw, plain, err := s.raw()
	if err != nil || len(raw) == 0 {
		return "", err
	}
	if plain {
		return unsafe.String(&raw[0], len(raw)), nil
	}
	return unescape(raw), nil
}

// is reads a value and tells whether it is this string.
func (s *scanner) is(word string) (bool, error) {
	v, err := s.view()
	return v == word, err
}

// word reads a string that is one of few, such as a finish reason.
func (s *scanner) word() (string, error) {
	v, err := s.view()
	for _, w := range usualWords {
		if v == w {
			return w, err
		}
	}
	return strings.Clone(v), err
}

// usualWords are the finish reasons of all APIs.
var usualWords = []string{
	"", "stop", "length", "tool_calls", "content_filter", "function_call",
	"end_turn", "max_tokens", "stop_sequence", "tool_use", "eos_token", "completed", "incomplete",
}

// ordinary is how many bytes at the beginning of b need no care in a string:
// ASCII but quotes, backslashes and control characters. It looks at eight at a
// time: the high bit of a byte of m is set where that byte, or one before it,
// is special.
func ordinary(b []byte) int {
	const each, high = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; n+8 <= len(b); n += 8 {
		x := binary.LittleEndian.Uint64(b[n:])
		quote, backslash := x^each*'"', x^each*'\\'
		if m := (x | (x - each*0x20) | (quote - each) | (backslash - each)) & high; m != 0 {
			return n + bits.TrailingZeros64(m)/8
		}
	}
	for n < len(b) && b[n] >= 0x20 && b[n] != '"' && b[n] != '\\' && b[n] < utf8.RuneSelf {
		n++
	}
	return n
}

// raw reads a string and returns what stands between its quotes; plain says
// that it is its own meaning: no escapes and, as far as bytes tell, no
// characters outside ASCII that might be malformed.
func (s *scanner) raw() (raw []byte, plain bool, err error) {
	if !s.take('"') {
		return nil, false, errSyntax
	}
	start, simple, wide := s.at, true, false
	for s.at < len(s.data) {
		if s.at += ordinary(s.data[s.at:]); s.at == len(s.data) {
			break
		}
		switch c := s.data[s.at]; {
		case c == '"':
			raw = s.data[start:s.at]
			s.at++
			return raw, simple && (!wide || utf8.Valid(raw)), nil
		case c == '\\':
			simple = false
			if err := s.escape(); err != nil {
				return nil, false, err
			}
		case c < 0x20:
			return nil, false, errSyntax
		default:
			wide = wide || c >= utf8.RuneSelf
			s.at++
		}
	}
	return nil, false, errSyntax
}

// escape checks one escape and steps over it.
func (s *scanner) escape() error {
	if s.at+1 >= len(s.data) {
		return errSyntax
	}
	switch s.data[s.at+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.at += 2
		return nil
	case 'u':
		if s.at+6 <= len(s.data) && hex4(s.data[s.at+2:]) >= 0 {
			s.at += 6
			return nil
		}
	}
	return errSyntax
}

// hex4 is the value of four hexadecimal digits, -1 if they are none.
func hex4(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return -1
		}
	}
	return r
}

// unescape is the meaning of a checked string. Lone surrogates and bytes that
// are not UTF-8 become U+FFFD.
func unescape(raw []byte) string {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		c := raw[i]
		switch {
		case c != '\\' && c < utf8.RuneSelf:
			out = append(out, c)
			i++
		case c != '\\':
			r, w := utf8.DecodeRune(raw[i:])
			out = utf8.AppendRune(out, r)
			i += w
		case raw[i+1] == 'u':
			var r rune
			r, i = unescapeRune(raw, i)
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, meaning(raw[i+1]))
			i += 2
		}
	}
	return string(out)
}

// unescapeRune reads \uXXXX, or a pair of surrogates, at raw[i].
func unescapeRune(raw []byte, i int) (rune, int) {
	r := hex4(raw[i+2:])
	i += 6
	if !utf16.IsSurrogate(r) {
		return r, i
	}
	if i+6 <= len(raw) && raw[i] == '\\' && raw[i+1] == 'u' {
		if both := utf16.DecodeRune(r, hex4(raw[i+2:])); both != utf8.RuneError {
			return both, i + 6
		}
	}
	return utf8.RuneError, i
}

func meaning(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// integer reads a whole number; any other value is skipped and gives None.
func (s *scanner) integer() (int64, error) {
	if c := s.peek(); c != '-' && (c < '0' || c > '9') {
		return record.None, s.skip()
	}
	start := s.at
	if err := s.number(); err != nil {
		return record.None, err
	}
	text := string(s.data[start:s.at])
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f), nil
	}
	return record.None, nil
}

// skip reads any value.
func (s *scanner) skip() error {
	switch c := s.peek(); c {
	case '{':
		return s.object(func([]byte) error { return s.skip() })
	case '[':
		return s.array(func(int) error { return s.skip() })
	case '"':
		_, _, err := s.raw()
		return err
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	}
	return s.number()
}

func (s *scanner) literal(word string) error {
	if len(s.data)-s.at < len(word) || string(s.data[s.at:s.at+len(word)]) != word {
		return errSyntax
	}
	s.at += len(word)
	return nil
}

// number is -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func (s *scanner) number() error {
	s.peek()
	s.accept("-")
	if !s.accept("0") && s.digits() == 0 {
		return errSyntax
	}
	if s.accept(".") && s.digits() == 0 {
		return errSyntax
	}
	if s.accept("eE") {
		s.accept("+-")
		if s.digits() == 0 {
			return errSyntax
		}
	}
	return nil
}

func (s *scanner) accept(set string) bool {
	for i := range len(set) {
		if s.at < len(s.data) && s.data[s.at] == set[i] {
			s.at++
			return true
		}
	}
	return false
}

func (s *scanner) digits() int {
	start := s.at
	for s.at < len(s.data) && s.data[s.at] >= '0' && s.data[s.at] <= '9' {
		s.at++
	}
	return s.at - start
}

// end checks that nothing follows.
func (s *scanner) end() error {
	if s.peek() != 0 || s.at < len(s.data) {
		return errSyntax
	}
	return nil
}
