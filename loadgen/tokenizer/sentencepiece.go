package tokenizer

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// The parts of SentencePiece's ModelProto (sentencepiece_model.proto) that
// encoding needs, by the numbers of their fields.
const (
	modelPieces     = 1
	modelTrainer    = 2
	modelNormalizer = 3

	pieceText  = 1
	pieceScore = 2
	pieceType  = 3

	trainerType     = 3
	trainerFallback = 35
	trainerSuffix   = 24

	normalizerMap    = 2
	normalizerPrefix = 3
	normalizerExtra  = 4
	normalizerEscape = 5
)

// Types of pieces and models.
const (
	userDefined  = 4
	controlPiece = 3
	unknownPiece = 2

	unigramType = 1
	bpeType     = 2
)

// sentencePiece is a tokenizer.model as it was read.
type sentencePiece struct {
	list     []scored
	types    []uint64
	kind     uint64
	fallback bool
	suffix   bool
	charsMap []byte
	prefix   bool // a space is put in front
	extra    bool // runs of spaces become one
	escape   bool // spaces are written as ▁
}

// parseSentencePiece reads a tokenizer.model: Unigram or BPE.
func parseSentencePiece(name string, data []byte) (Tokenizer, error) {
	sp := &sentencePiece{kind: unigramType, prefix: true, extra: true, escape: true}
	err := eachField(data, func(n protowire.Number, v []byte, _ uint64) error {
		switch n {
		case modelPieces:
			return sp.piece(v)
		case modelTrainer:
			return eachField(v, sp.trainer)
		case modelNormalizer:
			return eachField(v, sp.normalizer)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("not a SentencePiece model: %w", err)
	}
	if len(sp.list) == 0 || sp.suffix {
		return nil, errors.New("not a SentencePiece model that can be read: no pieces, or white space as a suffix")
	}
	return sp.build(name)
}

// eachField walks over the fields of a message; v is set for texts and
// messages, number for the others.
func eachField(b []byte, f func(n protowire.Number, v []byte, number uint64) error) error {
	for len(b) > 0 {
		n, typ, k := protowire.ConsumeTag(b)
		if k < 0 {
			return protowire.ParseError(k)
		}
		b = b[k:]
		var v []byte
		var number uint64
		switch typ {
		case protowire.BytesType:
			v, k = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			number, k = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			var w uint32
			w, k = protowire.ConsumeFixed32(b)
			number = uint64(w)
		default:
			k = protowire.ConsumeFieldValue(n, typ, b)
		}
		if k < 0 {
			return protowire.ParseError(k)
		}
		if err := f(n, v, number); err != nil {
			return err
		}
		b = b[k:]
	}
	return nil
}

func (sp *sentencePiece) piece(b []byte) error {
	s, typ := scored{}, uint64(1)
	err := eachField(b, func(n protowire.Number, v []byte, number uint64) error {
		switch n {
		case pieceText:
			s.text = string(v)
		case pieceScore:
			s.score = float64(math.Float32frombits(uint32(number)))
		case pieceType:
			typ = number
		}
		return nil
	})
	sp.list, sp.types = append(sp.list, s), append(sp.types, typ)
	return err
}

func (sp *sentencePiece) trainer(n protowire.Number, _ []byte, number uint64) error {
	switch n {
	case trainerType:
		sp.kind = number
	case trainerFallback:
		sp.fallback = number != 0
	case trainerSuffix:
		sp.suffix = number != 0
	}
	return nil
}

func (sp *sentencePiece) normalizer(n protowire.Number, v []byte, number uint64) error {
	switch n {
	case normalizerMap:
		sp.charsMap = v
	case normalizerPrefix:
		sp.prefix = number != 0
	case normalizerExtra:
		sp.extra = number != 0
	case normalizerEscape:
		sp.escape = number != 0
	}
	return nil
}

func (sp *sentencePiece) build(name string) (Tokenizer, error) {
	t := &fileTokenizer{name: name}
	if len(sp.charsMap) > 0 {
		m, err := newCharsMap(sp.charsMap)
		if err != nil {
			return nil, err
		}
		t.normalize = append(t.normalize, m.longest)
	}
	t.normalize = append(t.normalize, sp.spaces)
	var added []addedToken
	var unknown *int32
	for i, typ := range sp.types {
		id := int32(i)
		switch typ {
		case userDefined:
			added = append(added, addedToken{ID: id, Content: sp.list[i].text})
		case unknownPiece:
			unknown = &id
		}
	}
	t.added = newAddedTokens(added, nil, func(string) (int32, bool) { return 0, false })
	if sp.escape {
		if sp.prefix || sp.extra {
			t.decode = append(t.decode, withoutFirstSpace)
		}
		t.decode = append(t.decode, eachPiece(func(s string) string { return strings.ReplaceAll(s, "▁", " ") }),
			withoutByteMarks)
	}
	var err error
	switch sp.kind {
	case unigramType:
		var m *unigram
		if m, err = unigramOf(sp.encodable(), unknown, sp.fallback); err == nil {
			m.single = true
			t.model = m
		}
	case bpeType:
		t.model, err = sp.pairs(unknown)
	default:
		err = fmt.Errorf("model type %d: only Unigram and BPE are known", sp.kind)
	}
	return t, err
}

// withoutFirstSpace drops the space that encoding put in front.
func withoutFirstSpace(pieces []string) []string {
	if len(pieces) > 0 {
		pieces[0] = strings.TrimPrefix(pieces[0], spaceMark)
	}
	return pieces
}

// encodable are the pieces that text may become; the others keep their ids.
func (sp *sentencePiece) encodable() []scored {
	list := slices.Clone(sp.list)
	for i, typ := range sp.types {
		if typ == controlPiece || typ == unknownPiece {
			list[i].text = ""
		}
	}
	return list
}

// spaces is SentencePiece's way with white space.
func (sp *sentencePiece) spaces(s string) string {
	if sp.extra {
		s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' }), " ")
	}
	if sp.prefix && s != "" {
		s = " " + s
	}
	if sp.escape {
		s = strings.ReplaceAll(s, " ", "▁")
	}
	return s
}

// pairs is a BPE model: a union is a token when the vocabulary has it, and the
// one with the highest score comes first.
func (sp *sentencePiece) pairs(unknown *int32) (*pairModel, error) {
	m := &pairModel{
		vocabulary: vocabulary{ids: make(map[string]int32, len(sp.list))}, merges: map[uint64]mergeResult{},
		unknown: absent, byteFallback: sp.fallback, fuseUnknown: true,
	}
	if unknown != nil {
		m.unknown = *unknown
	}
	for i, s := range sp.list {
		if sp.types[i] != controlPiece && sp.types[i] != unknownPiece {
			m.ids[s.text] = int32(i)
		}
		if err := m.add(s.text, int32(i)); err != nil {
			return nil, err
		}
	}
	order := make([]int32, 0, len(sp.list))
	for i := range sp.list {
		order = append(order, int32(i))
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(sp.list[b].score, sp.list[a].score) })
	for rank, id := range order {
		text := sp.list[id].text
		if m.ids[text] != id {
			continue
		}
		for i := range text {
			if i == 0 {
				continue
			}
			left, okLeft := m.ids[text[:i]]
			right, okRight := m.ids[text[i:]]
			if okLeft && okRight {
				m.merges[pairKey(left, right)] = mergeResult{int32(rank), id}
			}
		}
	}
	m.inWords()
	for b := range m.bytes {
		id, ok := m.ids[fmt.Sprintf("<0x%02X>", b)]
		if !ok {
			id = absent
		}
		m.bytes[b] = id
	}
	return m, nil
}
