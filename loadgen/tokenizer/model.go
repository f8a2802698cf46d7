package tokenizer

import (
	"fmt"
	"strings"
	"sync/atomic"
)

// model turns one piece of text into ids.
type model interface {
	// encode appends the ids of piece to dst; w is memory that it may use.
	encode(w *merger, dst []int32, piece string) []int32
	// token is the text of an id.
	token(id int) (string, bool)
	// id is the id of a token, as its text stands in the file.
	id(text string) (int32, bool)
}

// models are the kinds that tokenizer.json knows, by their types.
var models = map[string]func(f *modelForm, byteLevel bool) (model, error){
	"BPE":       func(f *modelForm, byteLevel bool) (model, error) { return newPairModel(f, byteLevel) },
	"WordPiece": func(f *modelForm, _ bool) (model, error) { return newWordPiece(f) },
	"WordLevel": func(f *modelForm, _ bool) (model, error) { return newWordLevel(f) },
	"Unigram":   func(f *modelForm, _ bool) (model, error) { return newUnigram(f) },
}

// vocabulary is tokens by their text and by their ids.
type vocabulary struct {
	ids    map[string]int32
	tokens []string // by id; "" for none
}

// maxID bounds the ids of a vocabulary: a table is as long as its largest.
const maxID = 64 << 20

// read files the words under their texts and ids.
func (v *vocabulary) read(words []entry) error {
	if len(words) == 0 {
		return errVocab
	}
	v.ids = make(map[string]int32, len(words))
	v.tokens = make([]string, 0, len(words))
	for _, w := range words {
		v.ids[w.text] = w.id
		if err := v.add(w.text, w.id); err != nil {
			return err
		}
	}
	return nil
}

func (v *vocabulary) add(text string, id int32) error {
	if id < 0 || id > maxID {
		return fmt.Errorf("model: token %q has the id %d", text, id)
	}
	if grow := int(id) + 1 - len(v.tokens); grow > 0 {
		v.tokens = append(v.tokens, make([]string, grow)...)
	}
	v.tokens[id] = text
	return nil
}

func (v *vocabulary) id(text string) (int32, bool) {
	id, ok := v.ids[text]
	return id, ok
}

func (v *vocabulary) token(id int) (string, bool) {
	if id < 0 || id >= len(v.tokens) {
		return "", false
	}
	return v.tokens[id], v.tokens[id] != ""
}

// pieceCache remembers the ids of short pieces. Each piece has one place,
// which a newer piece takes over, so that it is bounded and needs no lock.
type pieceCache [1 << 14]atomic.Pointer[cachedPiece]

type cachedPiece struct {
	text string
	ids  []int32
}

// maxCached is the longest piece worth remembering, in bytes.
const maxCached = 48

func (c *pieceCache) place(piece string) *atomic.Pointer[cachedPiece] {
	return &c[hash(piece)>>(64-14)]
}

// get is the ids of piece, nil if they are not known. They are read only.
func (c *pieceCache) get(piece string) []int32 {
	if p := c.place(piece).Load(); p != nil && p.text == piece {
		return p.ids
	}
	return nil
}

func (c *pieceCache) put(piece string, ids []int32) {
	if len(piece) > maxCached || len(ids) == 0 {
		return
	}
	c.place(piece).Store(&cachedPiece{strings.Clone(piece), append([]int32(nil), ids...)})
}
