package tokenizer

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// pairModel merges the symbols of a piece, which are bytes or characters, by a
// table of pairs. The vocabulary is kept by plain bytes: the letters that
// stand for bytes in files of byte-level models are translated when loading.
type pairModel struct {
	vocabulary
	merges       map[uint64]mergeResult
	byteLevel    bool
	ignoreMerges bool // a piece that is a token is not merged but taken
	bytes        [256]int32
	byteFallback bool
	prefix       string // of symbols inside a word
	suffix       string // of the last symbol of a word (CLIP: </w>)
	unknown      int32  // -1 for none
	fuseUnknown  bool
	words        bool          // a piece may be cut before ▁: see inWords
	glue         map[rune]bool // but not behind these characters
	cache        pieceCache
}

type mergeResult struct{ rank, id int32 }

// absent marks a symbol without an id.
const absent = -1

func pairKey(a, b int32) uint64 { return uint64(uint32(a))<<32 | uint64(uint32(b)) }

func newPairModel(f *modelForm, byteLevel bool) (*pairModel, error) {
	m := &pairModel{
		merges:    make(map[uint64]mergeResult, len(f.lists.merges)),
		byteLevel: byteLevel, ignoreMerges: f.IgnoreMerges, byteFallback: f.ByteFallback, unknown: absent,
		fuseUnknown: f.FuseUnk,
	}
	if f.Prefix != nil {
		m.prefix = *f.Prefix
	}
	if f.Suffix != nil {
		m.suffix = *f.Suffix
	}
	if err := m.addVocab(f.lists.words); err != nil {
		return nil, err
	}
	if f.Unk != nil {
		if id, ok := m.ids[*f.Unk]; ok {
			m.unknown = id
		}
	}
	m.inWords()
	return m, m.addMerges(f.lists.merges)
}

// spaceMark is how SentencePiece and its like write a space.
const spaceMark = "▁"

// inWords finds out where a long piece may be cut without any change to its
// tokens: between a character and a ▁ that stand so in no token, since then no
// merge reaches across. Whole texts are one piece to some models; words are in
// the cache, and merging one costs less than its share of a text.
func (m *pairModel) inWords() {
	if _, known := m.ids[spaceMark]; !known || m.byteLevel || m.ignoreMerges || m.prefix != "" || m.suffix != "" {
		return
	}
	m.glue = map[rune]bool{}
	for text := range m.ids {
		for at := 1; at < len(text); {
			i := strings.Index(text[at:], spaceMark)
			if i < 0 {
				break
			}
			if r, _ := utf8.DecodeLastRuneInString(text[:at+i]); r != '▁' {
				m.glue[r] = true
			}
			at += i + len(spaceMark)
		}
	}
	m.words = true
}

// wordEnd is where the first word of a piece ends.
func (m *pairModel) wordEnd(piece string) int {
	for at := 1; at < len(piece); {
		i := strings.Index(piece[at:], spaceMark)
		if i < 0 {
			break
		}
		if r, _ := utf8.DecodeLastRuneInString(piece[:at+i]); r != '▁' && !m.glue[r] {
			return at + i
		}
		at += i + len(spaceMark)
	}
	return len(piece)
}

// addMerges looks the pairs up. Both parts are spelled as the vocabulary is.
func (m *pairModel) addMerges(list [][2]string) error {
	var s speller
	for rank, pair := range list {
		left, right := s.pair(m, pair[0], pair[1])
		a, okA := m.ids[string(s.buf[:left])]
		b, okB := m.ids[string(s.buf[left:right])]
		whole := s.buf[:right]
		if m.prefix != "" && strings.HasPrefix(string(s.buf[left:right]), m.prefix) {
			whole = append(s.buf[:left:left], s.buf[left+len(m.prefix):right]...)
		}
		id, ok := m.ids[string(whole)]
		if !okA || !okB || !ok {
			return fmt.Errorf("model: merge %d (%q, %q) is not in the vocabulary", rank, pair[0], pair[1])
		}
		m.merges[pairKey(a, b)] = mergeResult{int32(rank), id}
	}
	return nil
}

// speller writes tokens of byte-level files in plain bytes. Its memory is used
// again.
type speller struct{ buf []byte }

// pair spells both and says where the first and the second one end.
func (s *speller) pair(m *pairModel, left, right string) (int, int) {
	s.buf = m.spell(s.buf[:0], left)
	n := len(s.buf)
	s.buf = m.spell(s.buf, right)
	return n, len(s.buf)
}

// spell turns letters back into bytes; text with other letters is kept.
func (m *pairModel) spell(dst []byte, text string) []byte {
	if !m.byteLevel {
		return append(dst, text...)
	}
	if !spelled(text) {
		return append(dst, text...)
	}
	for _, r := range text {
		dst = append(dst, byte(letterBytes[r]))
	}
	return dst
}

// id is the id of a token, as its text stands in the file.
func (m *pairModel) id(text string) (int32, bool) {
	if !m.byteLevel {
		return m.vocabulary.id(text)
	}
	if !spelled(text) {
		return 0, false
	}
	id, ok := m.ids[string(m.spell(nil, text))]
	return id, ok
}

// spelled says that text is written in the letters that stand for bytes.
func spelled(text string) bool {
	for _, r := range text {
		if int(r) >= len(letterBytes) || letterBytes[r] < 0 {
			return false
		}
	}
	return true
}

// letterBytes are the bytes that letters stand for, −1 for none.
var letterBytes = func() (t [256 + 68]int16) {
	for i := range t {
		t[i] = -1
	}
	for b, r := range byteLetters() {
		t[r] = int16(b)
	}
	return t
}()

// addVocab files the tokens under their bytes.
func (m *pairModel) addVocab(words []entry) error {
	if len(words) == 0 {
		return errVocab
	}
	if m.byteLevel {
		var buf []byte
		for i := range words {
			buf = m.spell(buf[:0], words[i].text)
			words[i].text = string(buf)
		}
	}
	if err := m.read(words); err != nil {
		return err
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

// encode appends the ids of piece to dst.
func (m *pairModel) encode(w *merger, dst []int32, piece string) []int32 {
	if !m.words {
		return m.whole(w, dst, piece)
	}
	for piece != "" {
		end := m.wordEnd(piece)
		dst = m.whole(w, dst, piece[:end])
		piece = piece[end:]
	}
	return dst
}

// whole encodes a piece that is not cut any more.
func (m *pairModel) whole(w *merger, dst []int32, piece string) []int32 {
	if ids := m.cache.get(piece); ids != nil {
		return append(dst, ids...)
	}
	if m.ignoreMerges {
		if id, ok := m.ids[piece]; ok {
			return append(dst, id)
		}
	}
	if len(piece) > window && m.prefix == "" && m.suffix == "" {
		eachWindow(w, window, piece, func(part string) { m.merge(w, part) },
			func(tokens []symbol) { dst = appendIDs(dst, tokens) })
		return dst
	}
	m.merge(w, piece)
	at := len(dst)
	dst = appendIDs(dst, w.symbols)
	m.cache.put(piece, dst[at:])
	return dst
}

func appendIDs(dst []int32, tokens []symbol) []int32 {
	for _, s := range tokens {
		dst = append(dst, s.id)
	}
	return dst
}

// merge leaves the tokens of piece in w.
func (m *pairModel) merge(w *merger, piece string) {
	w.begin()
	if m.byteLevel && m.prefix == "" && m.suffix == "" {
		for i := range len(piece) {
			if id := m.bytes[piece[i]]; id != absent {
				w.add(id, int32(i))
			} else {
				m.addUnknown(w, i)
			}
		}
	} else {
		m.characters(w, piece)
	}
	merge(w, m, piece)
}

// join makes a pairModel a joiner: a union is looked up by its two ids.
func (m *pairModel) join(left, right int32, _ string) (rank, id int32) {
	if r, ok := m.merges[pairKey(left, right)]; ok {
		return r.rank, r.id
	}
	return none, 0
}

// characters makes each character a symbol: its token, else its bytes, else
// the unknown token.
func (m *pairModel) characters(w *merger, piece string) {
	at := 0
	for first := true; len(piece) > 0; first = false {
		n, start := 1, at
		if !m.byteLevel {
			_, n = utf8.DecodeRuneInString(piece)
		}
		char := piece[:n]
		piece, at = piece[n:], at+n
		if !first {
			char = m.prefix + char
		}
		if piece == "" {
			char += m.suffix
		}
		if id, ok := m.ids[char]; ok {
			w.add(id, int32(start))
			continue
		}
		if m.byteFallback && m.spellable(char) {
			for i := range len(char) {
				w.add(m.bytes[char[i]], int32(start+i))
			}
			continue
		}
		m.addUnknown(w, start)
	}
}

// addUnknown adds the unknown token, if there is one, and only one of a row if
// the model fuses them.
func (m *pairModel) addUnknown(w *merger, at int) {
	n := len(w.symbols)
	if m.unknown != absent && !(m.fuseUnknown && n > 0 && w.symbols[n-1].id == m.unknown) {
		w.add(m.unknown, int32(at))
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
