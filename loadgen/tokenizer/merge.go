package tokenizer

// merger merges the bytes of one piece into tokens: again and again the
// neighbours whose union has the lowest rank, leftmost first, until no union
// is a token. Its memory is reused from piece to piece.
//
// parts[i] begins at byte parts[i].start and ends where the next one begins;
// parts[i].rank is the rank of part i joined with part i+1. The last part is a
// sentinel at the end of the piece.
type merger struct {
	parts []part
	heap  mergeHeap
	first [64]part // room for ordinary words without an allocation
}

type part struct {
	start int32
	rank  int32
}

// longPiece is where looking for the lowest rank by a scan, which is quadratic
// in total, becomes slower than a heap.
const longPiece = 96

// encode appends the ids of piece.
func (m *merger) encode(dst []int, r *ranks, piece string) []int {
	m.merge(r, piece)
	for i := 0; i+1 < len(m.parts); i++ {
		dst = append(dst, int(r.rank(piece[m.parts[i].start:m.parts[i+1].start])))
	}
	return dst
}

// merge leaves the tokens of piece in m.parts and says how many there are.
func (m *merger) merge(r *ranks, piece string) int {
	if len(piece) > longPiece {
		m.mergeLong(r, piece)
		return len(m.parts) - 1
	}
	m.split(r, piece)
	for {
		low, at := none, -1
		for i, p := range m.parts {
			if p.rank < low {
				low, at = p.rank, i
			}
		}
		if at < 0 {
			return len(m.parts) - 1
		}
		m.parts = append(m.parts[:at+1], m.parts[at+2:]...)
		m.parts[at].rank = m.join(r, piece, at)
		if at > 0 {
			m.parts[at-1].rank = m.join(r, piece, at-1)
		}
	}
}

// split makes every byte a part.
func (m *merger) split(r *ranks, piece string) {
	if m.parts == nil {
		m.parts = m.first[:0]
	}
	m.parts = m.parts[:0]
	for i := range len(piece) + 1 {
		rank := none
		if i+2 <= len(piece) {
			rank = r.rank(piece[i : i+2])
		}
		m.parts = append(m.parts, part{int32(i), rank})
	}
}

// join is the rank of part i with part i+1, none at the end.
func (m *merger) join(r *ranks, piece string, i int) int32 {
	if i+2 >= len(m.parts) {
		return none
	}
	return r.rank(piece[m.parts[i].start:m.parts[i+2].start])
}
