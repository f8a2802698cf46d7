package tokenizer

import (
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
			s = strings.ToLower(s)
		}
		return s
	}
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
	return r >= 0x4E00 && r <= 0x9FFF || r >= 0x3400 && r <= 0x4DBF || r >= 0x20000 && r <= 0x2A6DF || r >= 0x2A700 && r <= 0x2B73F ||
		r >= 0x2B740 && r <= 0x2B81F || r >= 0x2B920 && r <= 0x2CEAF || r >= 0xF900 && r <= 0xFAFF || r >= 0x2F800 && r <= 0x2FA1F
}

// nmt is the clean-up of SentencePiece's nmt rules: controls go, other kinds of
// white space become a space.
func nmt(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 1 && r <= 8, r == 0x0b, r >= 0x0e && r <= 0x1f, r == 0x7f, r == 0x8f, r == 0x9f:
			return -1
		case r == '\t', r == '\n', r == '\f', r == '\r', r == 0x1680, r >= 0x200b && r <= 0x200f, r == 0x2028, r == 0x2029, r == 0x2581, r == 0xfeff, r == 0xfffd:
			return ' '
		}
		return r
	}, s)
}
