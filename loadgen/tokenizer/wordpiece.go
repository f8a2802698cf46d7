package tokenizer

import (
	"errors"
	"unicode/utf8"
)

// wordPiece takes from the left the longest token that fits; what follows in
// the same word carries a mark. A word that cannot be spelled is one unknown
// token.
type wordPiece struct {
	vocabulary
	mark    string // ## in BERT
	longest int    // characters of a word that is still looked at
	unknown int32
}

func newWordPiece(f *modelForm) (model, error) {
	m := &wordPiece{mark: "##", longest: 100}
	if err := m.read(f.lists.words); err != nil {
		return nil, err
	}
	if f.Prefix != nil {
		m.mark = *f.Prefix
	}
	if f.MaxChars > 0 {
		m.longest = f.MaxChars
	}
	unk := "[UNK]"
	if f.Unk != nil {
		unk = *f.Unk
	}
	id, ok := m.ids[unk]
	if !ok {
		return nil, errors.New("model: WordPiece needs its unknown token " + unk + " in the vocabulary")
	}
	m.unknown = id
	return m, nil
}

func (m *wordPiece) encode(_ *merger, dst []int32, word string) []int32 {
	if utf8.RuneCountInString(word) > m.longest {
		return append(dst, m.unknown)
	}
	at := len(dst)
	for start := 0; start < len(word); {
		id, end := m.longestAt(word, start)
		if end == start {
			return append(dst[:at], m.unknown)
		}
		dst, start = append(dst, id), end
	}
	return dst
}

func (m *wordPiece) longestAt(word string, start int) (id int32, end int) {
	for end = len(word); end > start; {
		part := word[start:end]
		if start > 0 {
			part = m.mark + part
		}
		if id, ok := m.ids[part]; ok {
			return id, end
		}
		_, n := utf8.DecodeLastRuneInString(word[start:end])
		end -= n
	}
	return 0, start
}

// wordLevel knows whole words.
type wordLevel struct {
	vocabulary
	unknown int32
}

func newWordLevel(f *modelForm) (model, error) {
	m := &wordLevel{unknown: absent}
	if err := m.read(f.lists.words); err != nil {
		return nil, err
	}
	if f.Unk != nil {
		if id, ok := m.ids[*f.Unk]; ok {
			m.unknown = id
		}
	}
	return m, nil
}

func (m *wordLevel) encode(_ *merger, dst []int32, word string) []int32 {
	if id, ok := m.ids[word]; ok {
		return append(dst, id)
	}
	if m.unknown == absent {
		return dst
	}
	return append(dst, m.unknown)
}
