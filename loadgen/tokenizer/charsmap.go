package tokenizer

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// charsMap is SentencePiece's compiled table of replacements: a double-array
// trie whose values are offsets into a list of texts, each ended by a zero.
type charsMap struct {
	units []uint32
	texts []byte
}

// newCharsMap reads the size of the trie in bytes, the trie, the texts.
func newCharsMap(b []byte) (*charsMap, error) {
	if len(b) < 4 {
		return nil, errors.New("precompiled_charsmap: too short")
	}
	size := int(binary.LittleEndian.Uint32(b))
	if size%4 != 0 || size < 4 || size > len(b)-4 {
		return nil, errors.New("precompiled_charsmap: the size of its trie is wrong")
	}
	m := &charsMap{units: make([]uint32, size/4), texts: b[4+size:]}
	for i := range m.units {
		m.units[i] = binary.LittleEndian.Uint32(b[4+4*i:])
	}
	return m, nil
}

func decodeCharsMap(s string) (*charsMap, error) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil, errors.New("precompiled_charsmap: cannot be decoded")
	}
	return newCharsMap(b)
}

func unitOffset(u uint32) uint32 { return u >> 10 << (u & (1 << 9) >> 6) }

// find is the replacement of the shortest beginning of s that has one, which
// is how the reference library reads the table.
func (m *charsMap) find(s string) (text string, ok bool) {
	m.each(s, func(t string, _ int) bool { text, ok = t, true; return false })
	return text, ok
}

// match is the replacement of the longest beginning of s, and its length; 0
// when there is none.
func (m *charsMap) match(s string) (text string, n int) {
	m.each(s, func(t string, end int) bool { text, n = t, end; return true })
	return text, n
}

// each hands over the replacements of the beginnings of s, shortest first,
// until f has enough.
func (m *charsMap) each(s string, f func(text string, end int) bool) {
	at := unitOffset(m.units[0])
	for i := range len(s) {
		if s[i] == 0 {
			return
		}
		at ^= uint32(s[i])
		if at >= uint32(len(m.units)) {
			return
		}
		u := m.units[at]
		if u&(1<<31|0xff) != uint32(s[i]) {
			return
		}
		at ^= unitOffset(u)
		if at >= uint32(len(m.units)) {
			return
		}
		if u>>8&1 == 1 && !f(m.text(m.units[at]&(1<<31-1)), i+1) {
			return
		}
	}
}

// text is the replacement that begins at start.
func (m *charsMap) text(start uint32) string {
	if start > uint32(len(m.texts)) {
		return ""
	}
	text := m.texts[start:]
	if end := bytes.IndexByte(text, 0); end >= 0 {
		text = text[:end]
	}
	return string(text)
}

// longest replaces as SentencePiece itself does: at each place the longest
// beginning that the table has.
func (m *charsMap) longest(s string) string {
	var out strings.Builder
	out.Grow(len(s))
	for s != "" {
		text, n := m.match(s)
		if n == 0 {
			_, n = utf8.DecodeRuneInString(s)
			text = s[:n]
		}
		out.WriteString(text)
		s = s[n:]
	}
	return out.String()
}

// normalize replaces whole characters with their marks where the table has
// them, else each code point.
func (m *charsMap) normalize(s string) string {
	var out strings.Builder
	out.Grow(len(s))
	for s != "" {
		n := grapheme(s)
		if n < 6 {
			if text, ok := m.find(s[:n]); ok {
				out.WriteString(text)
				s = s[n:]
				continue
			}
		}
		for _, r := range s[:n] {
			one := string(r)
			if text, ok := m.find(one); ok {
				one = text
			}
			out.WriteString(one)
		}
		s = s[n:]
	}
	return out.String()
}

// grapheme is the length of the character at the beginning of s as a reader
// sees it: a line end, or a code point with what is attached to it.
func grapheme(s string) int {
	if strings.HasPrefix(s, "\r\n") {
		return 2
	}
	r, n := utf8.DecodeRuneInString(s)
	if r == '\r' || r == '\n' || unicode.Is(unicode.Cc, r) {
		return n
	}
	for n < len(s) {
		next, w := utf8.DecodeRuneInString(s[n:])
		if !unicode.In(next, unicode.Mn, unicode.Me, unicode.Mc) &&
			next != 0x200d && (next < 0x1f3fb || next > 0x1f3ff) {
			break
		}
		n += w
	}
	return n
}
