// Package suggest finds the word that somebody probably meant. In goes a
// misspelt word and the words there are, out comes the nearest one.
package suggest

import (
	"slices"
	"strings"
)

// Nearest is the word of among that was probably meant by word, or "". A
// word is close when it needs at most one edit and one more for every four
// letters; swapping two neighbours is one edit. Initials of three words or more
// stand for them, and so do its first three letters or more; where nothing else is
// near, initials of four words or more may have one mistake. Case and - or _ do not
// matter. Of two that are as near the one is taken that word begins with.
func Nearest(word string, among []string) string {
	word = Fold(word)
	if w := shortened(word, among); w != "" {
		return w
	}
	best, least := "", 2+len(word)/4
	for _, w := range among {
		if len(word) > 2 && word == initials(Fold(w)) {
			return w
		}
		d := Distance(word, Fold(w))
		if d < least || d == least && best != "" && strings.HasPrefix(word, Fold(w)) {
			best, least = w, d
		}
	}
	if best == "" {
		best = misspeltInitials(word, among)
	}
	return best
}

// misspeltInitials is the word of among whose four initials or more word has with one mistake, "" for none.
func misspeltInitials(word string, among []string) string {
	for _, w := range among {
		if of := initials(Fold(w)); len(of) > 3 && Distance(word, of) == 1 {
			return w
		}
	}
	return ""
}

// Some are at most n words of among that were probably meant by word, the nearest first.
func Some(word string, among []string, n int) (near []string) {
	among = slices.Clone(among)
	for len(near) < n {
		w := Nearest(word, among)
		if w == "" {
			break
		}
		near = append(near, w)
		among = slices.DeleteFunc(among, func(other string) bool { return Fold(other) == Fold(w) })
	}
	return near
}

// shortened is the shortest word of among that begins with word, "" for none.
func shortened(word string, among []string) (best string) {
	for _, w := range among {
		if len(word) > 2 && strings.HasPrefix(Fold(w), word) && (best == "" || len(w) < len(best)) {
			best = w
		}
	}
	return best
}

// initials are the first letters of the words that _ joins.
func initials(word string) string {
	var out []byte
	for i := range len(word) {
		if i == 0 || word[i-1] == '_' {
			out = append(out, word[i])
		}
	}
	return string(out)
}

// Fold makes words equal that differ only in case and in - or _.
func Fold(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "_") }

// Distance counts the edits between two words (optimal string alignment).
func Distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64 // long text is no misspelt word; keep the cost bounded
	}
	var two []int
	one, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range one {
		one[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(one[j]+1, row[j-1]+1, one[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], two[j-2]+1)
			}
		}
		two, one, row = one, row, make([]int, len(b)+1)
	}
	return one[len(b)]
}
