package grade

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// strip takes white space from both ends, as Python's str.strip does.
func strip(s string) string { return strings.TrimFunc(s, space) }

// space is what Python takes for white space: Unicode's, and the four separators of ASCII.
func space(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// wordy is what \w of Python's re matches.
func wordy(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }

// wordBefore reports whether the rune that ends at i belongs to a word.
func wordBefore(s string, i int) bool {
	r, n := utf8.DecodeLastRuneInString(s[:i])
	return n > 0 && wordy(r)
}

// wordAt reports whether the rune at i belongs to a word.
func wordAt(s string, i int) bool {
	r, n := utf8.DecodeRuneInString(s[i:])
	return n > 0 && wordy(r)
}

// firstLine is what stands before the first line feed.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
