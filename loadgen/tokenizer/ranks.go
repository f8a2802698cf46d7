package tokenizer

import (
	"encoding/binary"
	"math/bits"
)

// ranks is a vocabulary in which a token's id is also its merge rank.
//
// Its stored form is the number of ids (uint32, little endian), one length
// byte per id, then the bytes of all tokens one after the other. An id that is
// not used has length 0. Nothing has to be decoded, so opening one costs no
// more than indexing it.
type ranks struct {
	text  string   // bytes of all tokens
	start []uint32 // start[id]..start[id+1] in text
	slots []uint32 // open addressing: id+1, or 0 for an empty slot
	shift uint     // hash >> shift is the first slot
}

// loadRanks indexes the stored form, which is embedded and known to be sound.
func loadRanks(data string) *ranks {
	n := int(binary.LittleEndian.Uint32([]byte(data[:4])))
	lengths, text := data[4:4+n], data[4+n:]
	width := uint(bits.Len(uint(n))) + 1 // at most half full
	r := &ranks{text: text, start: make([]uint32, n+1), slots: make([]uint32, 1<<width), shift: 64 - width}
	at := uint32(0)
	for id := range n {
		r.start[id] = at
		end := at + uint32(lengths[id])
		if end > at {
			r.insert(text[at:end], uint32(id))
		}
		at = end
	}
	r.start[n] = at
	return r
}

func (r *ranks) insert(token string, id uint32) {
	i := hash(token) >> r.shift
	for r.slots[i] != 0 {
		i = (i + 1) & uint64(len(r.slots)-1)
	}
	r.slots[i] = id + 1
}

// rank is the id of token, or none.
func (r *ranks) rank(token string) int32 {
	for i := hash(token) >> r.shift; ; i = (i + 1) & uint64(len(r.slots)-1) {
		slot := r.slots[i]
		if slot == 0 {
			return none
		}
		if r.text[r.start[slot-1]:r.start[slot]] == token {
			return int32(slot - 1)
		}
	}
}

// join makes ranks a joiner: a union is looked up by its text.
func (r *ranks) join(_, _ int32, union string) (rank, id int32) {
	rank = r.rank(union)
	return rank, rank
}

// each hands over the tokens of piece. They are borrowed.
func (r *ranks) each(m *merger, piece string, emit func([]symbol)) {
	if len(piece) > window {
		eachWindow(m, window, piece, func(part string) { r.merge(m, part) }, emit)
		return
	}
	r.merge(m, piece)
	emit(m.symbols)
}

// merge leaves the tokens of piece in m.
func (r *ranks) merge(m *merger, piece string) {
	m.begin()
	for i := range len(piece) {
		m.add(r.rank(piece[i:i+1]), int32(i))
	}
	merge(m, r, piece)
}

// token is the bytes of id, "" if there is none.
func (r *ranks) token(id int) string {
	if id < 0 || id >= len(r.start)-1 {
		return ""
	}
	return r.text[r.start[id]:r.start[id+1]]
}

// hash mixes eight bytes at a time; the high bits are the good ones.
func hash(s string) uint64 {
	const m = 0x9E3779B97F4A7C15
	h := uint64(len(s)) * m
	for len(s) >= 8 {
		w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		h = (bits.RotateLeft64(h, 29) ^ w) * m
		s = s[8:]
	}
	var w uint64
	for i := 0; i < len(s); i++ {
		w |= uint64(s[i]) << (8 * i)
	}
	h = (bits.RotateLeft64(h, 29) ^ w) * m
	return (h ^ h>>32) * m
}
