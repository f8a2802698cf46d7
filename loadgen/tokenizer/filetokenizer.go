package tokenizer

import (
	"strings"
	"sync/atomic"
)

// fileTokenizer is a tokenizer.json ready for use. It is never written to but
// for its cache and its trouble, so it may be shared.
//
// Steps of Encode: cut out added tokens; normalize what is between them, cut out
// the added tokens that are normalized, too; split the rest into pieces; merge
// each piece.
type fileTokenizer struct {
	name      string
	added     *addedTokens
	normalize []normalizer
	splits    []splitter
	model     model
	decode    []decoder
	trouble
}

func (t *fileTokenizer) Name() string { return t.name }

func (t *fileTokenizer) Encode(dst []int, text string) []int {
	t.each(text, func(ids []int32) {
		for _, id := range ids {
			dst = append(dst, int(id))
		}
	})
	return dst
}

func (t *fileTokenizer) Count(text string) int {
	n := 0
	t.each(text, func(ids []int32) { n += len(ids) })
	return n
}

// each hands over the ids of text, piece by piece. They are borrowed.
func (t *fileTokenizer) each(text string, emit func([]int32)) {
	var m merger
	var ids []int32
	first := true
	token := func(id int32) {
		ids = append(ids[:0], id)
		emit(ids)
		first = false
	}
	piece := func(piece string) {
		ids = t.model.encode(&m, ids[:0], piece)
		emit(ids)
	}
	t.added.raw.split(wellFormed(text), func(between string) {
		for _, n := range t.normalize {
			between = n(between)
		}
		t.added.normalized.split(between, func(plain string) {
			if t.Err() == nil {
				t.cut(plain, first, t.splits, piece)
			}
			first = false
		}, token)
	}, token)
}

// cut applies the first splitter and hands its pieces to the others. first says
// that text begins the whole text; an empty piece in front says that a splitter
// has dropped what did.
func (t *fileTokenizer) cut(text string, first bool, splits []splitter, emit func(string)) {
	if len(splits) == 0 {
		if text != "" {
			emit(text)
		}
		return
	}
	splits[0](text, first, func(piece string) {
		if piece != "" {
			t.cut(piece, first, splits[1:], emit)
		}
		first = false
	})
}

func (t *fileTokenizer) Decode(ids []int) string {
	pieces := make([]string, 0, len(ids))
	for _, id := range ids {
		if s, ok := t.added.content[int32(id)]; ok {
			pieces = append(pieces, s)
		} else if s, ok := t.model.token(id); ok {
			pieces = append(pieces, s)
		}
	}
	for _, d := range t.decode {
		pieces = d(pieces)
	}
	return strings.Join(pieces, "")
}

// trouble keeps the first thing that went wrong in a tokenizer.
type trouble struct{ first atomic.Pointer[error] }

func (t *trouble) note(err error) { t.first.CompareAndSwap(nil, &err) }

// Err is the first thing that went wrong: the counts since then are 0.
func (t *trouble) Err() error {
	if err := t.first.Load(); err != nil {
		return *err
	}
	return nil
}
