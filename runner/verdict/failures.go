package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"aiperf.dev/aiperf/internal/words"
)

// ErrorCount is one kind of failure with the server's own words.
type ErrorCount struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Count   int64  `json:"count"`
	Alike   bool   `json:"alike,omitempty"` // the messages differ in numbers and ids; this is one of them
	HTTP    int    `json:"http,omitempty"`  // the status the server answered with, where that is the failure
	Cause   string `json:"cause,omitempty"` // what is the matter beside the kind: html, refused, …
}

// Said are the kind and the message of a failure, to be read behind each other.
func (e ErrorCount) Said() (kind, message string) {
	switch {
	case e.Kind == "" || e.Message == "":
		return e.Kind, e.Message
	case e.Alike:
		return e.Kind + ", such as: ", e.Message
	}
	return e.Kind + ": ", e.Message
}

// othersNamed is how many kinds of failures are named behind the most frequent one.
const othersNamed = 3

// MostFrequent are the failures in a sentence: the first with its words, and with its count
// where there are others, which follow by kind and count; "" where there is none.
func MostFrequent(failures []ErrorCount) string {
	if len(failures) == 0 {
		return ""
	}
	kind, message := failures[0].Said()
	if len(failures) > 1 {
		kind = fmt.Sprintf("%d× %s", failures[0].Count, kind)
	}
	said := words.Clip(kind+message, mostForeign)
	var others []ErrorCount // one of a kind
	for _, e := range failures[1:] {
		if i := slices.IndexFunc(others, func(o ErrorCount) bool { return o.Kind == e.Kind }); i >= 0 {
			others[i].Count += e.Count
			continue
		}
		others = append(others, e)
	}
	for i, e := range others {
		if i == othersNamed {
			rest := int64(0)
			for _, e := range others[i:] {
				rest += e.Count
			}
			return said + fmt.Sprintf("; %d× something else", rest)
		}
		said += fmt.Sprintf("; %d× %s", e.Count, e.Kind)
		if e.Kind == failures[0].Kind {
			said += " with another message"
		}
	}
	return said
}

// Failures counts failures by their kind and by what their messages have in
// common: a server may put a number or an id of its own into every message.
type Failures map[[2]string]*ErrorCount

// MaxKinds bounds the different failures that are told apart.
const MaxKinds = 1000

// Add counts e. Of messages that differ in numbers only, the one that sorts
// first is kept, so that the order of the records does not matter.
func (f Failures) Add(e ErrorCount) {
	key := [2]string{e.Kind, shape(e.Message)}
	is := f[key]
	switch {
	case is == nil && len(f) >= MaxKinds:
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

// Frequent are the n most frequent failures.
func (f Failures) Frequent(n int) []ErrorCount {
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
