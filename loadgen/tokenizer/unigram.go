package tokenizer

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// unigram finds the split of a piece whose tokens have the highest sum of
// scores (Kudo 2018), by Viterbi's algorithm over the characters.
type unigram struct {
	vocabulary
	scores   []float64
	longest  int // bytes of the longest token
	unknown  int32
	penalty  float64 // score of a character that no token covers
	fallback bool    // unknown characters are spelled in bytes
	single   bool    // scores are added up in 32 bits, as SentencePiece does: it decides ties
	bytes    [256]int32
	cache    pieceCache
}

// belowLeast is how far the score of an unknown character lies below the least
// score of a token.
const belowLeast = 10

func newUnigram(f *modelForm) (model, error) {
	if len(f.lists.scored) == 0 {
		return nil, errors.New("model: the vocabulary of a Unigram model is a list of [token, score]")
	}
	return unigramOf(f.lists.scored, f.UnkID, f.ByteFallback)
}

func unigramOf(list []scored, unknown *int32, fallback bool) (*unigram, error) {
	m := &unigram{vocabulary: vocabulary{ids: make(map[string]int32, len(list))}, unknown: absent, fallback: fallback}
	least := math.Inf(1)
	for i, s := range list {
		if s.text == "" {
			s.text = "\x00" // takes its id, matches nothing
		}
		m.ids[s.text] = int32(i)
		m.tokens, m.scores = append(m.tokens, s.text), append(m.scores, s.score)
		m.longest, least = max(m.longest, len(s.text)), min(least, s.score)
	}
	m.penalty = least - belowLeast
	if unknown != nil {
		if *unknown < 0 || int(*unknown) >= len(list) {
			return nil, fmt.Errorf("model: unk_id %d is not in the vocabulary", *unknown)
		}
		m.unknown = *unknown
	}
	for b := range m.bytes {
		id, ok := m.ids[fmt.Sprintf("<0x%02X>", b)]
		if !ok {
			id = absent
		}
		m.bytes[b] = id
	}
	return m, nil
}

// scored is [token, score].
type scored struct {
	text  string
	score float64
}

// step is the best way to a place in a piece: where its last token begins.
type step struct {
	score float64
	from  int32
	id    int32 // absent for an unknown character
}

func (m *unigram) encode(_ *merger, dst []int32, piece string) []int32 {
	if ids := m.cache.get(piece); ids != nil {
		return append(dst, ids...)
	}
	best := make([]step, len(piece)+1)
	for i := range best {
		best[i].from = -1
	}
	best[0].from = 0
	for at := 0; at < len(piece); {
		_, width := utf8.DecodeRuneInString(piece[at:])
		covered := false
		for end := at + 1; end <= min(len(piece), at+m.longest); end++ {
			id, ok := m.ids[piece[at:end]]
			if !ok {
				continue
			}
			reach(&best[end], m.sum(best[at].score, m.scores[id]), at, id)
			covered = covered || end == at+width
		}
		if !covered {
			reach(&best[at+width], m.sum(best[at].score, m.penalty), at, absent)
		}
		at += width
	}
	from := len(dst)
	dst = m.collect(dst, best, piece)
	m.cache.put(piece, dst[from:])
	return dst
}

func (m *unigram) sum(a, b float64) float64 {
	if m.single {
		return float64(float32(a) + float32(b))
	}
	return a + b
}

// reach takes the way by token id if it is better than what there is.
func reach(s *step, score float64, from int, id int32) {
	if s.from < 0 || score > s.score {
		*s = step{score, int32(from), id}
	}
}

// collect walks back from the end. Neighbouring unknown characters are one
// unknown token, or the bytes they are spelled with.
func (m *unigram) collect(dst []int32, best []step, piece string) []int32 {
	type part struct {
		start, end, id int32
	}
	var parts []part
	for at := int32(len(piece)); at > 0; at = best[at].from {
		parts = append(parts, part{best[at].from, at, best[at].id})
	}
	for i := len(parts) - 1; i >= 0; i-- {
		p := parts[i]
		if p.id != absent && p.id != m.unknown {
			dst = append(dst, p.id)
			continue
		}
		for i > 0 && (parts[i-1].id == absent || parts[i-1].id == m.unknown) {
			i--
			p.end = parts[i].end
		}
		dst = m.unspelled(dst, piece[p.start:p.end])
	}
	return dst
}

// unspelled is the ids of text that no token covers.
func (m *unigram) unspelled(dst []int32, text string) []int32 {
	if id, ok := m.ids[text]; ok {
		return append(dst, id)
	}
	if m.fallback {
		spelled := true
		for i := range len(text) {
			spelled = spelled && m.bytes[text[i]] != absent
		}
		if spelled {
			for i := range len(text) {
				dst = append(dst, m.bytes[text[i]])
			}
			return dst
		}
	}
	if m.unknown != absent {
		dst = append(dst, m.unknown)
	}
	return dst
}
