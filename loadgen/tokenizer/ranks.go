package tokenizer

import (
	"encoding/binary"
	"math/bits"
)

// ranks is a vocabulary in which a token's id is also its merge rank.
//
// Its stored form is the number of ids (uint32, little endian), one length
// byte per id, then the bytes of all tokens one after the other. An id that is
// not used has length 0. Nothing has to be decoded.
type ranks struct {
	text  string   // bytes of all tokens
	start []uint32 // start[id]..start[id+1] in text
	slots string   // open addressing: id+1 as uint32, little endian, or 0 for an empty slot
	shift uint     // hash >> shift is the first slot
}

// loadRanks reads the stored form, which is embedded and known to be sound. The slots
// are those of its tokens (slotsOf); where they are stored beside it, opening a large
// vocabulary touches the pages that are looked up, and no others.
func loadRanks(data, slots string) *ranks {
	n, lengths, text := parts(data)
	r := &ranks{text: text, start: make([]uint32, n+1), slots: slots, shift: 64 - slotBits(n)}
	at := uint32(0)
	for id := range n {
		r.start[id] = at
		at += uint32(lengths[id])
	}
	r.start[n] = at
	return r
}

// parts are the number of ids of the stored form, their lengths, and their tokens.
func parts(data string) (n int, lengths, text string) {
	n = int(binary.LittleEndian.Uint32([]byte(data[:4])))
	return n, data[4 : 4+n], data[4+n:]
}

// slotBits is how many bits number the slots of n tokens, at most half of them taken.
func slotBits(n int) uint { return uint(bits.Len(uint(n))) + 1 }

// slotsOf places the tokens of the stored form.
func slotsOf(data string) string {
	n, lengths, text := parts(data)
	width := slotBits(n)
	slots := make([]byte, 4<<width)
	for id := range n {
		token := text[:lengths[id]]
		text = text[lengths[id]:]
		if token == "" {
			continue
		}
		i := hash(token) >> (64 - width)
		for binary.LittleEndian.Uint32(slots[4*i:]) != 0 {
			i = (i + 1) & (1<<width - 1)
		}
		binary.LittleEndian.PutUint32(slots[4*i:], uint32(id)+1)
	}
	return string(slots)
}

// rank is the id of token, or none.
func (r *ranks) rank(token string) int32 {
	for i := hash(token) >> r.shift; ; i = (i + 1) & uint64(len(r.slots)/4-1) {
		b := r.slots[4*i : 4*i+4]
		slot := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
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
