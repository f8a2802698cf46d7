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
	Normalized bool // looked for in normalized text, and normalized itself
}

// addedTokens are looked for twice: some in the text as it is, the others in
// what is between those, once it is normalized.
type addedTokens struct {
	raw, normalized tokenTexts
	content         map[int32]string
}

// newAddedTokens files the tokens. A text that the model has as a token, too,
// keeps the model's id: idOf says it.
func newAddedTokens(list []addedToken, normalize []normalizer, idOf func(text string) (int32, bool)) *addedTokens {
	a := &addedTokens{content: map[int32]string{}}
	for i := range list {
		token := &list[i]
		if id, ok := idOf(token.Content); ok {
			token.ID = id
		}
		if token.Normalized {
			text := token.Content
			for _, n := range normalize {
				text = n(text)
			}
			a.normalized.add(text, token)
		} else {
			a.raw.add(token.Content, token)
		}
		if token.Content != "" {
			a.content[token.ID] = token.Content
		}
	}
	return a
}

// tokenTexts finds the longest text at each position.
type tokenTexts struct {
	root   trie
	begins [256]bool // a text begins with this byte
}

// trie is a tree of bytes. A node with a token ends one.
type trie struct {
	next  map[byte]*trie
	token *addedToken
}

func (x *tokenTexts) add(text string, token *addedToken) {
	if text == "" {
		return
	}
	x.begins[text[0]] = true
	node := &x.root
	for j := range len(text) {
		if node.next == nil {
			node.next = map[byte]*trie{}
		}
		child := node.next[text[j]]
		if child == nil {
			child = &trie{}
			node.next[text[j]] = child
		}
		node = child
	}
	if node.token == nil { // of two with one text the first one counts
		node.token = token
	}
}

// split hands over the tokens in text, and what is between them. What a token
// takes on its right is searched all the same, as the reference does.
func (x *tokenTexts) split(text string, between func(string), found func(id int32)) {
	from := 0
	for i := 0; i < len(text); {
		if !x.begins[text[i]] {
			i++
			continue
		}
		token, n := x.root.longest(text[i:])
		if token == nil {
			i++
			continue
		}
		start, end := i, i+n
		i = end
		if token.SingleWord && (endsInWord(text[:start]) || beginsWord(text[end:])) {
			continue
		}
		if token.LStrip {
			start = max(from, len(strings.TrimRightFunc(text[:start], unicode.IsSpace)))
		}
		if token.RStrip {
			end = len(text) - len(strings.TrimLeftFunc(text[end:], unicode.IsSpace))
		}
		if from < start {
			between(text[from:start])
		}
		found(token.ID)
		from = end
	}
	if from < len(text) {
		between(text[from:])
	}
}

// longest is the longest token that text begins with, and its length.
func (t *trie) longest(text string) (token *addedToken, n int) {
	node := t
	for i := range len(text) {
		if node = node.next[text[i]]; node == nil {
			break
		}
		if node.token != nil {
			token, n = node.token, i+1
		}
	}
	return token, n
}

func endsInWord(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return s != "" && wordRune(r)
}

func beginsWord(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return s != "" && wordRune(r)
}

// wordRune is \w of the reference's second engine, which joiners belong to.
func wordRune(r rune) bool { return unicode.Is(wordSet, r) || r == '\u200c' || r == '\u200d' }
