package tokenizer

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normalForm is a normal form as the reference knows it: what is younger than
// its tables stays as it is, and nothing is moved across it.
func normalForm(form norm.Form) normalizer {
	return func(s string) string {
		if form.IsNormalString(s) && !hasStranger(s) {
			return s
		}
		var out strings.Builder
		for s != "" {
			i := strings.IndexFunc(s, stranger)
			if i < 0 {
				i = len(s)
			}
			out.WriteString(formOf(form, s[:i]))
			if s = s[i:]; s != "" {
				_, n := utf8.DecodeRuneInString(s)
				out.WriteString(s[:n])
				s = s[n:]
			}
		}
		return out.String()
	}
}

func stranger(r rune) bool { return r >= firstStranger && unicode.Is(strangers, r) }

const firstStranger = 0x07fd

func hasStranger(s string) bool { return strings.IndexFunc(s, stranger) >= 0 }

// Package norm writes the stream-safe text format: in a run of more than 30
// marks it puts U+034F, a character that nobody wrote. The reference does not.
// So long runs, which no language has, are put into their normal form here.

// manyMarks is how many characters in a row that do not begin a segment norm
// is given. None has more than three marks, so 8 of them and what stands
// before them stay below the 30 at which norm would insert.
const manyMarks = 8

// formOf is the normal form of s, without anything inserted.
func formOf(form norm.Form, s string) string {
	var out strings.Builder
	done := 0    // s[:done] is in out
	segment := 0 // where the segment that i is in begins
	run := 0     // characters of the segment, without its first
	flush := func(end int) {
		if run > manyMarks {
			out.WriteString(form.String(s[done:segment]))
			out.Write(segmentForm(form, s[segment:end]))
			done = end
		}
	}
	for i, r := range s {
		if !beginsSegment(s[i:], r) {
			run++
			continue
		}
		flush(i)
		segment, run = i, 0
	}
	flush(len(s))
	if done == 0 {
		return form.String(s)
	}
	out.WriteString(form.String(s[done:]))
	return out.String()
}

// beginsSegment tells that r, which s begins with, is neither moved nor joined
// to what stands before it in any form, and not counted as a mark by norm. For
// that NFKC is asked, whatever the form: norm counts in all of them what a
// character becomes there. The vowels of modern and half-width Korean letters
// are the ones it counts without saying so.
func beginsSegment(s string, r rune) bool {
	if r < 0x300 {
		return true
	}
	korean := r >= 0x3131 && r <= 0x318E || r >= 0xFFA0 && r <= 0xFFDC
	return !korean && norm.NFKC.PropertiesString(s).BoundaryBefore()
}

// segmentForm is the normal form of one segment by the algorithm of the
// standard: taken apart, ordered, and joined again where the form asks for it.
func segmentForm(form norm.Form, s string) []byte {
	apart, joined := form, false
	switch form {
	case norm.NFC:
		apart, joined = norm.NFD, true
	case norm.NFKC:
		apart, joined = norm.NFKD, true
	}
	var list []mark
	var one []byte
	for s != "" {
		_, n := utf8.DecodeRuneInString(s)
		one = apart.AppendString(one[:0], s[:n])
		for s = s[n:]; len(one) > 0; {
			_, n := utf8.DecodeRune(one)
			list = append(list, mark{string(one[:n]), norm.NFD.Properties(one).CCC()})
			one = one[n:]
		}
	}
	order(list)
	if joined {
		list = compose(list)
	}
	var out []byte
	for _, m := range list {
		out = append(out, m.text...)
	}
	return out
}

// mark is one character and its canonical combining class: 0 is a starter.
type mark struct {
	text  string
	class uint8
}

// order sorts each run of marks between starters by their classes.
func order(list []mark) {
	for i := 0; i < len(list); i++ {
		j := i
		for j < len(list) && list[j].class != 0 {
			j++
		}
		slices.SortStableFunc(list[i:j], func(a, b mark) int { return int(a.class) - int(b.class) })
		i = j
	}
}

// compose joins each character to the last starter unless one that stands
// between them blocks it. It works in place.
func compose(list []mark) []mark {
	out := list[:0]
	starter := -1 // in out
	for _, m := range list {
		// What is between the starter and m is in order, so its last one is
		// the highest.
		free := starter >= 0 && (starter == len(out)-1 || out[len(out)-1].class < m.class)
		if free {
			if one := norm.NFC.String(out[starter].text + m.text); utf8.RuneCountInString(one) == 1 {
				out[starter].text = one
				continue
			}
		}
		if m.class == 0 {
			starter = len(out)
		}
		out = append(out, m)
	}
	return out
}

// without drops the characters of a set: marks, once letters are taken apart.
func without(set *unicode.RangeTable) normalizer {
	return func(s string) string {
		return strings.Map(func(r rune) rune {
			if unicode.Is(set, r) {
				return -1
			}
			return r
		}, s)
	}
}

// bertNormalizer is what BERT's tokenizers do to text first.
func bertNormalizer(c *component) normalizer {
	on := func(b *bool) bool { return b == nil || *b }
	lower := on(c.Lowercase)
	strip := lower
	if c.StripAccents != nil {
		strip = *c.StripAccents
	}
	nfd, bare := normalForm(norm.NFD), without(nonspacingSet)
	return func(s string) string {
		if on(c.CleanText) {
			s = strings.Map(clean, s)
		}
		if on(c.ChineseChars) {
			s = spaceOut(s)
		}
		if strip {
			s = bare(nfd(s))
		}
		if lower {
			s = lowered(s)
		}
		return s
	}
}

// lowered is s in small letters, each character by itself: a Σ at the end of a
// word is no exception.
func lowered(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r == 'İ' || r >= firstNew && newLower(r) != r }) {
		return strings.ToLower(s)
	}
	var out strings.Builder
	for _, r := range s {
		switch {
		case r == 'İ':
			out.WriteString("i\u0307")
		case newLower(r) != r:
			out.WriteRune(newLower(r))
		default:
			out.WriteRune(unicode.ToLower(r))
		}
	}
	return out.String()
}

// newLower is the small letter of a capital that the reference knows and Go
// does not; all others are themselves.
func newLower(r rune) rune {
	switch {
	case r == 0x1C89, r == 0xA7CC, r == 0xA7DA:
		return r + 1
	case r == 0xA7CB:
		return 0x0264
	case r == 0xA7DC:
		return 0x019B
	case r >= 0x10D50 && r <= 0x10D65: // Garay
		return r + 0x20
	}
	return r
}

// clean drops control characters and makes white space a space.
func clean(r rune) rune {
	switch {
	case r == '\t', r == '\n', r == '\r':
		return ' '
	case unicode.Is(controlSet, r):
		return -1
	case unicode.IsSpace(r):
		return ' '
	}
	return r
}

// spaceOut puts spaces around the characters of Chinese.
func spaceOut(s string) string {
	if strings.IndexFunc(s, ideograph) < 0 {
		return s
	}
	var out strings.Builder
	for _, r := range s {
		if ideograph(r) {
			out.WriteByte(' ')
			out.WriteRune(r)
			out.WriteByte(' ')
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}

// ideograph is BERT's list of blocks.
func ideograph(r rune) bool {
	return r >= 0x4E00 && r <= 0x9FFF || r >= 0x3400 && r <= 0x4DBF || r >= 0x20000 && r <= 0x2A6DF || r >= 0x2A700 &&
		r <= 0x2B73F ||
		r >= 0x2B740 && r <= 0x2B81F || r >= 0x2B920 && r <= 0x2CEAF || r >= 0xF900 && r <= 0xFAFF || r >= 0x2F800 &&
		r <= 0x2FA1F
}

// nmt is the clean-up of SentencePiece's nmt rules: controls go, other kinds of
// white space become a space.
func nmt(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 1 && r <= 8, r == 0x0b, r >= 0x0e && r <= 0x1f, r == 0x7f, r == 0x8f, r == 0x9f:
			return -1
		case r == '\t', r == '\n', r == '\f', r == '\r', r == 0x1680, r >= 0x200b && r <= 0x200f, r == 0x2028,
			r == 0x2029, r == 0x2581, r == 0xfeff, r == 0xfffd:
			return ' '
		}
		return r
	}, s)
}

// wellFormed is text with U+FFFD in place of bytes that are not UTF-8: one for
// as many bytes as could have begun a character, as Unicode recommends and as
// Python hands text to the reference library.
func wellFormed(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	var out strings.Builder
	for text != "" {
		r, n := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && n == 1 {
			n = brokenLength(text)
		}
		out.WriteRune(r)
		text = text[n:]
	}
	return out.String()
}

// brokenLength is how many bytes at the beginning of s, which is not a character,
// could have begun one; at least 1.
func brokenLength(s string) int {
	more, low, high := 0, byte(0x80), byte(0xBF) // bytes that may follow, bounds of the first of them
	switch c := s[0]; {
	case c >= 0xC2 && c <= 0xDF:
		more = 1
	case c >= 0xE0 && c <= 0xEF:
		more = 2
	case c >= 0xF0 && c <= 0xF4:
		more = 3
	}
	switch s[0] {
	case 0xE0:
		low = 0xA0
	case 0xED:
		high = 0x9F
	case 0xF0:
		low = 0x90
	case 0xF4:
		high = 0x8F
	}
	n := 1
	for n <= more && n < len(s) && s[n] >= low && s[n] <= high {
		n++
		low, high = 0x80, 0xBF
	}
	return n
}
