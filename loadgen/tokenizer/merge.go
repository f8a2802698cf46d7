package tokenizer

import "aiperf.dev/aiperf/internal/heap"

// symbol is a part of a piece on its way to become a token: at first a byte or
// a character, at the end a token.
type symbol struct {
	id     int32
	start  int32 // of its first byte in the piece, for vocabularies that look at the text
	rank   int32 // of the union with the next symbol, none where that is no token
	joined int32 // id of that union
}

// none is the rank of what is no token.
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
	heap    heap.Heap[candidate]
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
	m.next, m.prev = m.next[:0], m.prev[:0]
	m.heap.Clear()
	for i := range n {
		m.next, m.prev = append(m.next, i+1), append(m.prev, i-1)
	}
	offer := func(at int32) {
		right := m.next[at]
		if right == n {
			return
		}
		end := int32(len(piece))
		if after := m.next[right]; after < n {
			end = s[after].start
		}
		rank, id := j.join(s[at].id, s[right].id, piece[s[at].start:max(end, s[at].start)])
		if rank != none {
			m.heap.Push(candidate{rank, at, s[at].id, s[right].id, id})
		}
	}
	for i := range n {
		offer(i)
	}
	for m.heap.Len() > 0 {
		c := m.heap.Pop()
		right := m.next[c.at]
		if s[c.at].id != c.left || right == n || s[right].id != c.right {
			continue // one of the two was merged since
		}
		s[c.at].id, s[right].id = c.id, gone
		m.next[c.at] = m.next[right]
		if after := m.next[c.at]; after < n {
			m.prev[after] = c.at
		}
		offer(c.at)
		if m.prev[c.at] >= 0 {
			offer(m.prev[c.at])
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

// candidate says that two neighbours can be merged, at which rank, and into
// which token. It is stale when either of them has another id by then.
type candidate struct {
	rank        int32
	at          int32 // position: equal ranks merge from left to right
	left, right int32 // their ids
	id          int32 // of the union
}

// Before orders candidates: the next one to merge is on top.
func (c candidate) Before(d candidate) bool {
	return c.rank < d.rank || c.rank == d.rank && c.at < d.at
}
