package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// addedToken is text that is a token by itself wherever it stands.
type addedToken struct {
	ID         int32
	Content    string
	SingleWord bool `json:"single_word"` // only between characters that are no word characters
	LStrip     bool // takes the white space on its left
	RStrip     bool // and on its right
}

// addedTokens finds the longest added token at each position.
type addedTokens struct {
	root    trie
	content map[int32]string
}

// trie is a tree of bytes. A node with a token ends one.
type trie struct {
	next  map[byte]*trie
	token *addedToken
}

func newAddedTokens(list []addedToken) *addedTokens {
	a := &addedTokens{content: map[int32]string{}}
	for i := range list {
		token := &list[i]
		if token.Content == "" {
			continue
		}
		node := &a.root
		for j := range len(token.Content) {
			if node.next == nil {
				node.next = map[byte]*trie{}
			}
			child := node.next[token.Content[j]]
			if child == nil {
				child = &trie{}
				node.next[token.Content[j]] = child
			}
			node = child
		}
		node.token = token
		a.content[token.ID] = token.Content
	}
	return a
}

// next cuts text at its first added token.
func (a *addedTokens) next(text string) (before string, id int32, rest string, found bool) {
	for i := 0; i < len(text); i++ {
		if a.root.next[text[i]] == nil {
			continue
		}
		token := a.root.longest(text[i:])
		if token == nil {
			continue
		}
		end := i + len(token.Content)
		if token.SingleWord && (endsInWord(text[:i]) || beginsWord(text[end:])) {
			continue
		}
		before, rest = text[:i], text[end:]
		if token.LStrip {
			before = strings.TrimRightFunc(before, unicode.IsSpace)
		}
		if token.RStrip {
			rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
		}
		return before, token.ID, rest, true
	}
	return text, 0, "", false
}

func (t *trie) longest(text string) (token *addedToken) {
	node := t
	for i := range len(text) {
		if node = node.next[text[i]]; node == nil {
			break
		}
		if node.token != nil {
			token = node.token
		}
	}
	return token
}

func endsInWord(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return s != "" && wordRune(r)
}

func beginsWord(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return s != "" && wordRune(r)
}

// wordRune is \w.
func wordRune(r rune) bool { return unicode.Is(wordSet, r) }
