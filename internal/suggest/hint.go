package suggest

import (
	"slices"
	"strings"
)

// Hint is the sentence for a misspelt word: the nearest one, or all of them when
// they are few.
func Hint(word string, among []string) string {
	if hint := DidYouMean(word, among); hint != "" {
		return hint
	}
	if len(among) == 0 || len(among) > 12 {
		return ""
	}
	return "known: " + strings.Join(slices.Sorted(slices.Values(among)), ", ")
}

// DidYouMean is the sentence for a misspelt word where the message has all of
// them.
func DidYouMean(word string, among []string) string {
	if w := Nearest(word, among); w != "" {
		return "did you mean " + w + "?"
	}
	return ""
}
