package words

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Width is how many columns a terminal takes to show s: characters of East Asian
// scripts and most pictures take two, marks above others none.
func Width(s string) (n int) {
	for _, r := range s {
		n += columns(r)
	}
	return n
}

func columns(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
		return 2
	}
	return 1
}

// Cut is at most n columns of s. Where something is left out, it ends in "…".
func Cut(s string, n int) string {
	if Width(s) <= n {
		return s
	}
	if n < 1 {
		return ""
	}
	room, end := n-1, 0
	for end < len(s) {
		r, size := utf8.DecodeRuneInString(s[end:])
		if room -= columns(r); room < 0 {
			break
		}
		end += size
	}
	return s[:end] + "…"
}

// Pad is s with blanks behind it, n columns wide; a longer one stays as it is.
func Pad(s string, n int) string { return s + strings.Repeat(" ", max(n-Width(s), 0)) }
