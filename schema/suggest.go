package schema

import (
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/suggest"
)

// Suggest is the word of among that was probably meant by word, or "".
func Suggest(word string, among []string) string { return suggest.Nearest(word, among) }

// didYouMean is a hint for a misspelt word: the nearest one, or all of them
// when they are few.
func didYouMean(word string, among []string) string {
	if hint := nearest(word, among); hint != "" {
		return hint
	}
	if len(among) == 0 || len(among) > 12 {
		return ""
	}
	sorted := slices.Sorted(slices.Values(among))
	return "known: " + strings.Join(sorted, ", ")
}

// nearest is a hint for a misspelt word where the message has all of them.
func nearest(word string, among []string) string {
	if w := Suggest(word, among); w != "" {
		return "did you mean " + w + "?"
	}
	return ""
}

// fold makes words equal that differ only in case and in - or _.
func fold(s string) string { return suggest.Fold(s) }
