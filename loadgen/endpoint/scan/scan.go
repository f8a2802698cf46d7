// Package scan reads JSON answers once, from left to right, without building a
// value of them: a stream of them is read while a request is timed.
package scan

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

// Scanner reads JSON once from left to right and checks all of it, so that a
// cut or garbled answer never passes for a whole one. Each method reads one
// value. It accepts exactly what encoding/json accepts.
type Scanner struct {
	Data  []byte
	At    int // what of Data was read
	depth int
}

var errSyntax = errors.New("malformed JSON")

// maxDepth is the nesting at which encoding/json gives up too.
const maxDepth = 10000

// Peek is the first byte of the next value, 0 at the end.
func (s *Scanner) Peek() byte {
	if s.At < len(s.Data) && s.Data[s.At] > ' ' { // nearly always; small enough to be inlined
		return s.Data[s.At]
	}
	return s.peekOver()
}

// peekOver is Peek over blanks.
func (s *Scanner) peekOver() byte {
	for ; s.At < len(s.Data); s.At++ {
		switch c := s.Data[s.At]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

func (s *Scanner) consume(c byte) bool {
	if s.Peek() != c {
		return false
	}
	s.At++
	return true
}

// Object calls each for every entry, with the scanner before its value, which
// each must read. A value that is no object is skipped.
func (s *Scanner) Object(each func(key []byte) error) error {
	if s.Peek() != '{' {
		return s.Skip()
	}
	s.At++
	if s.depth++; s.depth > maxDepth {
		return errSyntax
	}
	if s.consume('}') {
		s.depth--
		return nil
	}
	for {
		key, err := s.key()
		if err != nil {
			return err
		}
		if !s.consume(':') {
			return errSyntax
		}
		if err := each(key); err != nil {
			return err
		}
		switch {
		case s.consume(','):
		case s.consume('}'):
			s.depth--
			return nil
		default: // an error is final: nobody asks for the depth after it
			return errSyntax
		}
	}
}

// Array calls each for every element, with the scanner before it. A value that
// is no array is skipped.
func (s *Scanner) Array(each func(i int) error) error {
	if s.Peek() != '[' {
		return s.Skip()
	}
	s.At++
	if s.depth++; s.depth > maxDepth {
		return errSyntax
	}
	if s.consume(']') {
		s.depth--
		return nil
	}
	for i := 0; ; i++ {
		if err := each(i); err != nil {
			return err
		}
		switch {
		case s.consume(','):
		case s.consume(']'):
			s.depth--
			return nil
		default:
			return errSyntax
		}
	}
}

func (s *Scanner) key() ([]byte, error) {
	raw, plain, err := s.Raw()
	if err != nil || plain {
		return raw, err
	}
	return []byte(unescape(raw)), nil
}

// Text reads a string; any other value is skipped and gives "".
func (s *Scanner) Text() (string, error) {
	if s.Peek() != '"' {
		return "", s.Skip()
	}
	raw, plain, err := s.Raw()
	if err != nil {
		return "", err
	}
	if plain {
		return string(raw), nil
	}
	return unescape(raw), nil
}

// View reads a string as text does, but without a copy where there are no
// escapes: what it gives lasts as long as the data.
func (s *Scanner) View() (string, error) {
	if s.Peek() != '"' {
		return "", s.Skip()
	}
	raw, plain, err := s.Raw()
	if err != nil || len(raw) == 0 {
		return "", err
	}
	if plain {
		return unsafe.String(&raw[0], len(raw)), nil
	}
	return unescape(raw), nil
}

// Is reads a value and reports whether it is this string.
func (s *Scanner) Is(word string) (bool, error) {
	v, err := s.View()
	return v == word, err
}

// Word reads a string that is one of few, such as a finish reason.
func (s *Scanner) Word() (string, error) {
	v, err := s.View()
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
// Is special.
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

// Raw reads a string and returns what stands between its quotes; plain says
// that it is its own meaning: no escapes and, as far as bytes tell, no
// characters outside ASCII that might be malformed.
func (s *Scanner) Raw() (raw []byte, plain bool, err error) {
	if !s.consume('"') {
		return nil, false, errSyntax
	}
	start, simple, wide := s.At, true, false
	for s.At < len(s.Data) {
		if s.At += ordinary(s.Data[s.At:]); s.At == len(s.Data) {
			break
		}
		switch c := s.Data[s.At]; {
		case c == '"':
			raw = s.Data[start:s.At]
			s.At++
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
			s.At++
		}
	}
	return nil, false, errSyntax
}

// escape checks one escape and steps over it.
func (s *Scanner) escape() error {
	if s.At+1 >= len(s.Data) {
		return errSyntax
	}
	switch s.Data[s.At+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.At += 2
		return nil
	case 'u':
		if s.At+6 <= len(s.Data) && hex4(s.Data[s.At+2:]) >= 0 {
			s.At += 6
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

// Integer reads a whole number; any other value is skipped and gives None.
func (s *Scanner) Integer() (int64, error) {
	if c := s.Peek(); c != '-' && (c < '0' || c > '9') {
		return record.None, s.Skip()
	}
	start := s.At
	if err := s.Number(); err != nil {
		return record.None, err
	}
	text := string(s.Data[start:s.At])
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f), nil
	}
	return record.None, nil
}

// Count reads a number of tokens; what can be none, as it is negative or larger
// than any, gives None.
func (s *Scanner) Count() (int64, error) {
	n, err := s.Integer()
	if n < 0 || n > math.MaxInt32 {
		n = record.None
	}
	return n, err
}

// Skip reads any value.
func (s *Scanner) Skip() error {
	switch c := s.Peek(); c {
	case '{':
		return s.Object(func([]byte) error { return s.Skip() })
	case '[':
		return s.Array(func(int) error { return s.Skip() })
	case '"':
		_, _, err := s.Raw()
		return err
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	}
	return s.Number()
}

func (s *Scanner) literal(word string) error {
	if len(s.Data)-s.At < len(word) || string(s.Data[s.At:s.At+len(word)]) != word {
		return errSyntax
	}
	s.At += len(word)
	return nil
}

// Number is -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func (s *Scanner) Number() error {
	s.Peek()
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

func (s *Scanner) accept(set string) bool {
	for i := range len(set) {
		if s.At < len(s.Data) && s.Data[s.At] == set[i] {
			s.At++
			return true
		}
	}
	return false
}

func (s *Scanner) digits() int {
	start := s.At
	for s.At < len(s.Data) && s.Data[s.At] >= '0' && s.Data[s.At] <= '9' {
		s.At++
	}
	return s.At - start
}

// End checks that nothing follows.
func (s *Scanner) End() error {
	if s.Peek() != 0 || s.At < len(s.Data) {
		return errSyntax
	}
	return nil
}

// Decimal reads a number that is not negative; any other value is skipped and
// gives NaN.
func (s *Scanner) Decimal() (float64, error) {
	if c := s.Peek(); c < '0' || c > '9' {
		return math.NaN(), s.Skip()
	}
	start := s.At
	if err := s.Number(); err != nil {
		return math.NaN(), err
	}
	f, err := strconv.ParseFloat(string(s.Data[start:s.At]), 64)
	if err != nil || math.IsInf(f, 0) {
		return math.NaN(), nil
	}
	return f, nil
}
