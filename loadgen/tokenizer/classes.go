package tokenizer

import (
	"unicode"
	"unicode/utf8"
)

// class says to which of the sets used by the splitters a character belongs.
type class uint8

// The sets. A letter without case (ª, あ, ʰ) is in both upper and lower, since
// the patterns of o200k_base let it stand in either place; so is a mark, which
// is no letter.
const (
	letter  class = 1 << iota // \p{L}
	number                    // \p{N}
	space                     // \s
	upper                     // \p{Lu} \p{Lt} \p{Lm} \p{Lo} \p{M}
	lower                     // \p{Ll} \p{Lm} \p{Lo} \p{M}
	newline                   // \r \n
	sign                      // \p{P} \p{S}

	word  = letter | number
	other = letter | number | space // none of them: punctuation, symbols, marks
)

// ascii are the classes of the first 128 characters.
var ascii = func() (t [128]class) {
	for r := range rune(128) {
		t[r] = classOf(r)
	}
	return t
}()

// classAt is the class and the width of the character at s[i]. A byte that is
// not UTF-8 is a character of no class.
func classAt(s string, i int) (class, int) {
	if c := s[i]; c < utf8.RuneSelf {
		return ascii[c], 1
	}
	r, w := utf8.DecodeRuneInString(s[i:])
	return classOf(r), w
}

func classOf(r rune) class {
	if r >= firstNew {
		if c := newClass(r); c != 0 {
			return c
		}
	}
	switch {
	case unicode.IsLower(r):
		return letter | lower
	case unicode.IsUpper(r), unicode.IsTitle(r):
		return letter | upper
	case unicode.IsLetter(r):
		return letter | upper | lower
	case unicode.IsMark(r):
		return upper | lower
	case unicode.IsNumber(r):
		return number
	case r == '\r' || r == '\n':
		return space | newline
	case unicode.IsSpace(r):
		return space
	case unicode.IsPunct(r), unicode.IsSymbol(r):
		return sign
	}
	return 0
}

// run is the end of the run of characters of class c that begins at i.
func run(s string, i int, c class) int {
	for i < len(s) {
		k, w := classAt(s, i)
		if k&c == 0 {
			break
		}
		i += w
	}
	return i
}

// runNot is the end of the run of characters not of class c.
func runNot(s string, i int, c class) int {
	for i < len(s) {
		k, w := classAt(s, i)
		if k&c != 0 {
			break
		}
		i += w
	}
	return i
}

// firstNew is the first character that the reference knows and Go does not.
const firstNew = 0x0897

// newClass is the class of such a character, 0 for all others.
func newClass(r rune) class {
	switch {
	case unicode.Is(moreLl, r):
		return letter | lower
	case unicode.Is(moreLu, r):
		return letter | upper
	case unicode.Is(moreL, r):
		return letter | upper | lower
	case unicode.Is(moreM, r):
		return upper | lower
	case unicode.Is(moreN, r):
		return number
	case unicode.Is(moreP, r), unicode.Is(moreS, r):
		return sign
	}
	return 0
}
