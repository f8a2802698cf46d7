package tokenizer

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

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
