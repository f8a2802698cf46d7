package tokenizer

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// pairModel merges the symbols of a piece, which are bytes or characters, by a
// table of pairs. The vocabulary is kept by plain bytes: the letters that
// stand for bytes in files of byte-level models are translated when loading.
type pairModel struct {
	ids          map[string]int32
	tokens       []string // by id; "" for none
	merges       map[uint64]mergeResult
	byteLevel    bool
	ignoreMerges bool // a piece that is a token is not merged but taken
	bytes        [256]int32
	byteFallback bool
	unknown      int32 // -1 for none
	fuseUnknown  bool
	cache        pieceCache
}

type mergeResult struct{ rank, id int32 }

// absent marks a symbol without an id.
const absent = -1

func pairKey(a, b int32) uint64 { return uint64(uint32(a))<<32 | uint64(uint32(b)) }

func newPairModel(f *modelForm, byteLevel bool) (*pairModel, error) {
	if f.Prefix != nil && *f.Prefix != "" || f.Suffix != nil && *f.Suffix != "" {
		return nil, fmt.Errorf("model: continuing_subword_prefix and end_of_word_suffix: not supported")
	}
	var vocab map[string]int32
	if err := json.Unmarshal(f.Vocab, &vocab); err != nil {
		return nil, errVocab
	}
	m := &pairModel{
		ids: make(map[string]int32, len(vocab)), merges: make(map[uint64]mergeResult, len(f.Merges)),
		byteLevel: byteLevel, ignoreMerges: f.IgnoreMerges, byteFallback: f.ByteFallback, unknown: absent, fuseUnknown: f.FuseUnk,
	}
	if err := m.addVocab(vocab); err != nil {
		return nil, err
	}
	if f.Unk != nil {
		if id, ok := vocab[*f.Unk]; ok {
			m.unknown = id
		}
	}
	for rank, pair := range f.Merges {
		a, okA := vocab[pair.left]
		b, okB := vocab[pair.right]
		id, ok := vocab[pair.left+pair.right]
		if !okA || !okB || !ok {
			return nil, fmt.Errorf("model: merge %d (%q, %q) is not in the vocabulary", rank, pair.left, pair.right)
		}
		m.merges[pairKey(a, b)] = mergeResult{int32(rank), id}
	}
	return m, nil
}

// addVocab files the tokens under their bytes.
func (m *pairModel) addVocab(vocab map[string]int32) error {
	toByte := map[rune]byte{}
	for b, r := range byteLetters() {
		toByte[r] = byte(b)
	}
	for text, id := range vocab {
		if id < 0 || int(id) > 64<<20 {
			return fmt.Errorf("model: token %q has the id %d", text, id)
		}
		if m.byteLevel {
			text = spelled(text, toByte)
		}
		m.ids[text] = id
		if grow := int(id) + 1 - len(m.tokens); grow > 0 {
			m.tokens = append(m.tokens, make([]string, grow)...)
		}
		m.tokens[id] = text
	}
	for b := range m.bytes {
		text := string([]byte{byte(b)})
		if !m.byteLevel {
			text = fmt.Sprintf("<0x%02X>", b)
		}
		id, ok := m.ids[text]
		if !ok {
			id = absent
		}
		m.bytes[b] = id
	}
	return nil
}

// byteLetters are the characters that byte-level files write for bytes: the
// printable ones of Latin-1 for themselves, the others from U+0100 on.
func byteLetters() (letters [256]rune) {
	next := rune(256)
	for b := range letters {
		if b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE {
			letters[b] = rune(b)
			continue
		}
		letters[b] = next
		next++
	}
	return letters
}

// spelled turns letters back into bytes; text with other letters is kept.
func spelled(text string, toByte map[rune]byte) string {
	out := make([]byte, 0, len(text))
	for _, r := range text {
		b, ok := toByte[r]
		if !ok {
			return text
		}
		out = append(out, b)
	}
	return string(out)
}

func (m *pairModel) token(id int) (string, bool) {
	if id < 0 || id >= len(m.tokens) {
		return "", false
	}
	return m.tokens[id], m.tokens[id] != ""
}

// encode is the ids of piece. They are valid until the next call with w.
func (m *pairModel) encode(w *pairMerger, piece string) []int32 {
	if ids := m.cache.get(piece); ids != nil {
		return ids
	}
	if m.ignoreMerges {
		if id, ok := m.ids[piece]; ok {
			return append(w.ids[:0], id)
		}
	}
	w.ids = w.ids[:0]
	if m.byteLevel {
		for i := range len(piece) {
			if id := m.bytes[piece[i]]; id != absent {
				w.ids = append(w.ids, id)
			} else {
				m.addUnknown(w)
			}
		}
	} else {
		m.characters(w, piece)
	}
	w.merge(m)
	m.cache.put(piece, w.ids)
	return w.ids
}

// characters makes each character a symbol: its token, else its bytes, else
// the unknown token.
func (m *pairModel) characters(w *pairMerger, piece string) {
	for len(piece) > 0 {
		_, n := utf8.DecodeRuneInString(piece)
		char := piece[:n]
		piece = piece[n:]
		if id, ok := m.ids[char]; ok {
			w.ids = append(w.ids, id)
			continue
		}
		if m.byteFallback && m.spellable(char) {
			for i := range len(char) {
				w.ids = append(w.ids, m.bytes[char[i]])
			}
			continue
		}
		m.addUnknown(w)
	}
}

// addUnknown adds the unknown token, if there is one, and only one of a row if
// the model fuses them.
func (m *pairModel) addUnknown(w *pairMerger) {
	if n := len(w.ids); m.unknown != absent && !(m.fuseUnknown && n > 0 && w.ids[n-1] == m.unknown) {
		w.ids = append(w.ids, m.unknown)
	}
}

func (m *pairModel) spellable(char string) bool {
	for i := range len(char) {
		if m.bytes[char[i]] == absent {
			return false
		}
	}
	return true
}

// pairMerger merges the symbols in ids, lowest rank first, then leftmost. Its
// memory is reused from piece to piece.
type pairMerger struct {
	ids  []int32
	next []int32 // next symbol that is left, -1 for none
	prev []int32
	heap mergeHeap
}

const noRank = math.MaxInt32

func (w *pairMerger) merge(m *pairModel) {
	if len(w.ids) > 32 {
		w.mergeLong(m)
		return
	}
	for len(w.ids) > 1 {
		best, at := mergeResult{rank: noRank}, -1
		for i := range len(w.ids) - 1 {
			if r, ok := m.merges[pairKey(w.ids[i], w.ids[i+1])]; ok && r.rank < best.rank {
				best, at = r, i
			}
		}
		if at < 0 {
			return
		}
		w.ids[at] = best.id
		w.ids = append(w.ids[:at+1], w.ids[at+2:]...)
	}
}

// mergeLong is merge in O(n log n). A candidate's left and right are the ids
// it joins.
func (w *pairMerger) mergeLong(m *pairModel) {
	n := int32(len(w.ids))
	w.next, w.prev, w.heap = w.next[:0], w.prev[:0], w.heap[:0]
	for i := range n {
		w.next, w.prev = append(w.next, i+1), append(w.prev, i-1)
	}
	w.next[n-1] = -1
	for i := range n {
		w.offer(m, i)
	}
	for len(w.heap) > 0 {
		c := w.heap.pop()
		right := w.next[c.at]
		if w.ids[c.at] != c.left || right < 0 || w.ids[right] != c.right {
			continue
		}
		w.ids[c.at] = m.merges[pairKey(c.left, c.right)].id
		w.ids[right] = gone
		w.next[c.at] = w.next[right]
		if after := w.next[c.at]; after >= 0 {
			w.prev[after] = c.at
		}
		w.offer(m, c.at)
		if w.prev[c.at] >= 0 {
			w.offer(m, w.prev[c.at])
		}
	}
	kept := w.ids[:0]
	for _, id := range w.ids {
		if id != gone {
			kept = append(kept, id)
		}
	}
	w.ids = kept
}

// gone marks a symbol that was merged into the one before it.
const gone = -2

func (w *pairMerger) offer(m *pairModel, at int32) {
	right := w.next[at]
	if right < 0 {
		return
	}
	if r, ok := m.merges[pairKey(w.ids[at], w.ids[right])]; ok {
		w.heap.push(candidate{r.rank, at, w.ids[at], w.ids[right]})
	}
}

// withoutByteMarks joins runs of <0xNN> into the text they spell.
func withoutByteMarks(pieces []string) []string {
	var out []string
	var spelt []byte
	flush := func() {
		if len(spelt) > 0 {
			out = append(out, strings.ToValidUTF8(string(spelt), "\ufffd"))
			spelt = spelt[:0]
		}
	}
	for _, p := range pieces {
		var b byte
		if n, err := fmt.Sscanf(p, "<0x%02X>", &b); n == 1 && err == nil && len(p) == 6 {
			spelt = append(spelt, b)
			continue
		}
		flush()
		out = append(out, p)
	}
	flush()
	return out
}
