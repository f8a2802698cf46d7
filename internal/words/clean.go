package words

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes text that somebody else wrote (a server, a file, a file name) fit
// for a screen or a file: escape sequences, control characters and marks that
// turn the direction of writing are taken out. Line ends and tabs stay.
func Clean(s string) string {
	if isClean(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if n := escape(s[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == '\u2028' || r == '\u2029' || r == '\r' && !strings.HasPrefix(s[i:], "\n"):
			b.WriteByte('\n')
		case allowed(r):
			b.WriteRune(r) // bytes that are no UTF-8 become U+FFFD
		}
	}
	return b.String()
}

// Line is Clean on one line: every run of blanks and line ends is one blank.
func Line(s string) string { return strings.Join(strings.Fields(Clean(s)), " ") }

// Clip is Line, cut to most columns.
func Clip(s string, most int) string { return Cut(Line(s), most) }

// Middle is s in most columns, at least 3, without its middle: names of one kind
// differ at either end.
func Middle(s string, most int) string {
	if Width(s) <= most {
		return s
	}
	most = max(most, 3)
	tail := (most - 1) / 2
	from := len(s)
	for {
		r, size := utf8.DecodeLastRuneInString(s[:from])
		if tail -= columns(r); tail < 0 {
			break
		}
		from -= size
	}
	return Cut(s, most-Width(s[from:])) + s[from:]
}

// Apart are two names in most columns each, at least 8, that can still be told apart: from
// the first word on that differs, without their middle, or from the first character on that
// differs. Equal names are numbered.
func Apart(a, b string, most int) (string, string) {
	if a == b {
		a, b = a+" (1)", b+" (2)"
	}
	common := 0
	for i, r := range a {
		if !strings.HasPrefix(b[min(i, len(b)):], string(r)) {
			break
		}
		common = i + len(string(r))
	}
	word := strings.LastIndexAny(a[:common], "/-_: &?=") + 1
	x, y := "…"+a[word:], "…"+b[word:]
	switch {
	case max(Width(a), Width(b)) <= most:
		return a, b
	case max(Width(x), Width(y)) <= most:
		return x, y
	case Cut(a, most) != Cut(b, most):
		return Cut(a, most), Cut(b, most)
	case Cut(x, most) != Cut(y, most):
		return Cut(x, most), Cut(y, most)
	}
	return Cut("…"+a[common:], most), Cut("…"+b[common:], most)
}

func isClean(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\n' && c != '\t' || c >= 0x7f {
			return false // or perhaps not: beyond ASCII the slow way decides
		}
	}
	return true
}

func allowed(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return true
	case unicode.IsControl(r), // C0, DEL and C1
		// direction
		r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069', r == '\u200e', r == '\u200f', r == '\u061c',
		r == '\u200b', r == '\u2060', r == '\ufeff', // no width at all
		r >= 0xe0000 && r <= 0xe007f: // tags: text that nobody sees
		return false
	}
	return true
}

// escape is the length of the escape sequence that s begins with, 0 if it
// begins with none. A sequence without its end takes only its introducer, so
// that the words behind it stay.
func escape(s string) int {
	var rest string
	head := 2
	switch {
	case strings.HasPrefix(s, "\x1b") && len(s) > 1:
		rest = s[1:]
	case strings.HasPrefix(s, "\u009b"): // CSI in one character
		return len("\u009b") + finalOf(s[len("\u009b"):])
	default:
		return 0
	}
	switch rest[0] {
	case '[':
		return head + finalOf(s[head:])
	case ']', 'P', 'X', '^', '_': // a string, up to BEL or ST
		for i := head; i < len(s); i++ {
			switch {
			case s[i] == '\a':
				return i + 1
			case s[i] == '\n':
				return head
			case strings.HasPrefix(s[i:], "\x1b\\"):
				return i + 2
			}
		}
		return head
	}
	if rest[0] >= 0x20 && rest[0] < 0x7f { // two-character sequences, with intermediates such as ESC ( B
		i := 1
		for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f {
			i++
		}
		if i < len(s) && s[i] < 0x7f && s[i] >= 0x30 {
			return i + 1
		}
	}
	return 1
}

// finalOf is the length of a control sequence behind its introducer, 0 for one
// that does not end.
func finalOf(s string) int {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 0x40 && c <= 0x7e:
			return i + 1
		case c < 0x20 || c > 0x3f:
			return 0
		}
	}
	return 0
}
