package glossary

import (
	"regexp"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/suggest"
)

// term is a word that screens, pages or messages use in a meaning of their own.
type term struct {
	word  string
	also  []string // other words for it, and short forms
	text  string   // one sentence
	flags []string // settings that it goes with, by the names of their flags
}

// Term is a word with its sentence, for a page.
type Term struct{ Word, Also, Text string }

// Terms are all of them, for a page.
func Terms() (out []Term) {
	for _, t := range terms {
		out = append(out, Term{t.word, strings.Join(t.also, ", "), t.text})
	}
	return out
}

func termNames() (names []string) {
	for _, t := range terms {
		names = append(append(names, t.word), t.also...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Within are the terms that a phrase consists of or contains, the longest first, such as "misses" and
// "so far" in "misses them so far"; no word of the phrase is in two of them.
func Within(phrase string) (found []string) {
	left := " " + strings.Join(strings.Fields(strings.ToLower(phrase)), " ") + " "
	names := termNames()
	slices.SortStableFunc(names, func(a, b string) int { return len(b) - len(a) })
	for _, name := range names {
		if at := " " + strings.ToLower(name) + " "; strings.Contains(left, at) {
			found, left = append(found, name), strings.Replace(left, at, " | ", 1)
		}
	}
	return found
}

// anyStatus stands for all errors that are a status of HTTP.
const anyStatus = "http_500"

var status = regexp.MustCompile(`^http [1-5][0-9][0-9]$`)

// explainTerm is what name means, in each of its meanings: ? marks two things.
func explainTerm(name string) (out [][]Line, err error) {
	fold := func(s string) string { return strings.ReplaceAll(suggest.Fold(s), "_", " ") }
	if status.MatchString(fold(name)) {
		name = anyStatus
	}
	for _, t := range terms {
		if fold(t.word) != fold(name) && !slices.ContainsFunc(t.also,
			func(w string) bool { return fold(w) == fold(name) }) {
			continue
		}
		lines := []Line{{t.word, t.text}}
		if len(t.also) > 0 {
			lines = append(lines, Line{"also", strings.Join(t.also, ", ")})
		}
		if len(t.flags) > 0 {
			lines = append(lines, Line{"flags", "--" + strings.Join(t.flags, ", --")})
		}
		out = append(out, lines)
	}
	if len(out) == 0 {
		err = unknown("term", name, suggest.Nearest(name, termNames()))
	}
	return out, err
}
