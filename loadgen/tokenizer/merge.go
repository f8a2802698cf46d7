package tokenizer

import "unicode/utf8"

// symbol is a part of a piece on its way to become a token: at first a byte or
// a character, at the end a token.
type symbol struct {
	id     int32
	start  int32 // of its first byte in the piece, for vocabularies that look at the text
	rank   int32 // of the union with the next symbol, none where that is no token
	joined int32 // id of that union
}

// window is how many bytes of a piece are merged at once. It keeps the memory of
// a piece of megabytes (a text without a space, a line of dashes) small and near.
// Measured from 2 KiB to 64 KiB it makes no difference.
const window = 4 << 10

// eachWindow merges a piece of any length, size bytes at first: part merges a stretch of it, emit
// gets the tokens from the first to the last one. They are those of the piece as
// a whole: a list of tokens is the encoding of its text exactly if each two
// neighbours are the encoding of theirs, since the first merge across a seam
// would be the first one in the two alone. So a window may end before a token
// with which the next one, merged anew from there, begins as well.
func eachWindow(m *merger, size int, piece string, part func(piece string), emit func([]symbol)) {
	at := 0
	part(piece[:until(piece, 0, size)])
	for at+size < len(piece) {
		held := append(m.held[:0], m.symbols...)
		m.held = held
		seam := len(held)
		for seam > 0 && int(held[seam-1].start) >= size*3/4 {
			seam--
		}
		if seam > 0 && seam+1 < len(held) {
			from := at + int(held[seam].start)
			part(piece[from:until(piece, from, size)])
			if m.begins(held[seam], held[seam+1]) {
				emit(held[:seam])
				at = from
				continue
			}
		}
		size *= 2 // a token that depends on what is far away: look further
		part(piece[at:until(piece, at, size)])
	}
	emit(m.symbols)
}

// until is the end of a window that begins at from; it cuts no character.
func until(piece string, from, size int) int {
	end := from + size
	if end >= len(piece) {
		return len(piece)
	}
	for i := 0; i < utf8.UTFMax && end > from+1 && !utf8.RuneStart(piece[end]); i++ {
		end--
	}
	return end
}

// begins reports whether m's first token is the one between two starts.
func (m *merger) begins(first, second symbol) bool {
	s := m.symbols
	return len(s) > 1 && s[0].id == first.id && s[1].start-s[0].start == second.start-first.start
}

// none is the rank of what is not a token.
const none = int32(1<<31 - 1)

// joiner is a vocabulary that knows which two neighbours make a token: by their
// ids, or by the text of their union.
type joiner interface {
	join(left, right int32, union string) (rank, id int32)
}

// merger merges the symbols of one piece into tokens: again and again the
// neighbours whose union has the lowest rank, leftmost first, until no union
// is a token. Its memory is reused from piece to piece.
type merger struct {
	symbols []symbol
	next    []int32 // next symbol that is left, for long pieces
	prev    []int32
	held    []symbol // the window before this one
	unions  unions
	first   [64]symbol // room for ordinary words without an allocation
}

// longPiece is where looking for the lowest rank by a scan, which is quadratic
// in total, becomes slower than a heap. Measured on both kinds of vocabulary:
// between 64 and 160 symbols it makes no difference.
const longPiece = 96

// begin empties the merger for the next piece.
func (m *merger) begin() {
	if m.symbols == nil {
		m.symbols = m.first[:0]
	}
	m.symbols = m.symbols[:0]
}

func (m *merger) add(id, start int32) { m.symbols = append(m.symbols, symbol{id: id, start: start}) }

// merge turns m.symbols, which are the symbols of piece, into its tokens.
func merge[J joiner](m *merger, j J, piece string) {
	if len(m.symbols) > longPiece {
		mergeLong(m, j, piece)
		return
	}
	s := m.symbols
	for i := range s {
		meet(s, j, piece, i)
	}
	for {
		low, at := none, -1
		for i := range s {
			if s[i].rank < low {
				low, at = s[i].rank, i
			}
		}
		if at < 0 {
			m.symbols = s
			return
		}
		s[at].id = s[at].joined
		s = append(s[:at+1], s[at+2:]...)
		meet(s, j, piece, at)
		if at > 0 {
			meet(s, j, piece, at-1)
		}
	}
}

// meet finds out what symbol i and the next one make.
func meet[J joiner](s []symbol, j J, piece string, i int) {
	if i+1 >= len(s) {
		s[i].rank = none
		return
	}
	end := int32(len(piece))
	if i+2 < len(s) {
		end = s[i+2].start
	}
	s[i].rank, s[i].joined = j.join(s[i].id, s[i+1].id, piece[s[i].start:max(end, s[i].start)])
}

// mergeLong is merge in O(n log n), for pieces of hundreds of symbols and more
// (a line of dashes, a text without spaces).
func mergeLong[J joiner](m *merger, j J, piece string) {
	s, n := m.symbols, int32(len(m.symbols))
	m.next, m.prev, m.unions = m.next[:0], m.prev[:0], m.unions[:0]
	for i := range n {
		m.next, m.prev = append(m.next, i+1), append(m.prev, i-1)
	}
	offer := func(at int32) {
		right := m.next[at]
		if right == n {
			s[at].rank = none
			return
		}
		end := int32(len(piece))
		if after := m.next[right]; after < n {
			end = s[after].start
		}
		s[at].rank, s[at].joined = j.join(s[at].id, s[right].id, piece[s[at].start:max(end, s[at].start)])
		if s[at].rank != none {
			m.unions.push(unionOf(s[at].rank, at))
		}
	}
	for i := range n {
		offer(i)
	}
	for len(m.unions) > 0 {
		rank, at := m.unions.pop().parts()
		if s[at].rank != rank {
			continue // it was merged since, or met another neighbour
		}
		right := m.next[at]
		s[at].id, s[right].id, s[right].rank = s[at].joined, gone, none
		m.next[at] = m.next[right]
		if after := m.next[at]; after < n {
			m.prev[after] = at
		}
		offer(at)
		if m.prev[at] >= 0 {
			offer(m.prev[at])
		}
	}
	kept := s[:0]
	for _, one := range s {
		if one.id != gone {
			kept = append(kept, one)
		}
	}
	m.symbols = kept
}

// gone marks a symbol that was merged into the one before it.
const gone = -2

// union says that a symbol can be merged with the next one: the rank, above the
// symbol's place, so that the least one is the next to merge. It is stale when
// the symbol's union has another rank by then.
type union uint64

func unionOf(rank, at int32) union { return union(uint32(rank))<<32 | union(uint32(at)) }

func (u union) parts() (rank, at int32) { return int32(u >> 32), int32(u) }

// unions is a heap with the least one on top. Long pieces spend most of their
// time here: the room heap, which knows its elements by a method only, takes
// twice as long.
type unions []union

func (h *unions) push(u union) {
	q := append(*h, u)
	i := len(q) - 1
	for i > 0 && u < q[(i-1)/2] {
		q[i] = q[(i-1)/2]
		i = (i - 1) / 2
	}
	q[i] = u
	*h = q
}

func (h *unions) pop() union {
	q := *h
	top, last := q[0], q[len(q)-1]
	q = q[:len(q)-1]
	i := 0
	for k := 1; k < len(q); k = 2*i + 1 {
		if k+1 < len(q) && q[k+1] < q[k] {
			k++
		}
		if last <= q[k] {
			break
		}
		q[i], i = q[k], k
	}
	if len(q) > 0 {
		q[i] = last
	}
	*h = q
	return top
}
