package runner

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// failures counts failures by their kind and by what their messages have in
// common: a server may put a number or an id of its own into every message.
type failures map[[2]string]*ErrorCount

// maxKinds bounds the different failures that are told apart.
const maxKinds = 1000

// add counts e. Of messages that differ in numbers only, the one that sorts
// first is kept, so that the order of the records does not matter.
func (f failures) add(e ErrorCount) {
	key := [2]string{e.Kind, shape(e.Message)}
	is := f[key]
	switch {
	case is == nil && len(f) >= maxKinds:
		return
	case is == nil:
		f[key] = &e
		return
	case is.Message != e.Message:
		is.Alike, is.Message = true, min(is.Message, e.Message)
	}
	is.Alike = is.Alike || e.Alike
	is.Count += e.Count
}

// frequent are the n most frequent failures.
func (f failures) frequent(n int) []ErrorCount {
	var out []ErrorCount
	for _, e := range f {
		out = append(out, *e)
	}
	slices.SortFunc(out, func(a, b ErrorCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Kind+a.Message, b.Kind+b.Message))
	})
	return out[:min(n, len(out))]
}

// shape is a message with # for every word that holds a digit: a number, an
// address, an id.
func shape(message string) string {
	var b strings.Builder
	word := func(r rune) bool { return r == '_' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	for message != "" {
		n := strings.IndexFunc(message, func(r rune) bool { return !word(r) })
		if n < 0 {
			n = len(message)
		}
		if w := message[:n]; strings.ContainsFunc(w, unicode.IsDigit) {
			b.WriteByte('#')
		} else {
			b.WriteString(w)
		}
		message = message[n:]
		end := strings.IndexFunc(message, word)
		if end < 0 {
			end = len(message)
		}
		b.WriteString(message[:end])
		message = message[end:]
	}
	return b.String()
}
