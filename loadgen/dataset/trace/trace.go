// Package trace knows recorded load as rows of lengths, times and hashes of
// token blocks, whatever format they came in: it puts them together as sessions
// (Group), measures how prefixes are shared (Analyze), changes a trace
// (Params.Apply, CloseGaps), and compares a replay with what was recorded (Compare).
// It reads and writes nothing.
package trace

import (
	"time"

	"aiperf.dev/aiperf/internal/seed"
)

// Row is one recorded request.
type Row struct {
	Session string
	At      time.Duration // since the trace's zero; says nothing unless Timed
	Delay   time.Duration // think time before it
	Timed   bool
	Line    int32   // its place in the file, from 0: changes keep it
	In, Out int64   // tokens
	Blocks  []int32 // what its input's blocks are called; equal names are equal text
}

// Tokens is how many tokens block k of the row stands for, in blocks of size: the
// last one may be a part.
func (r *Row) Tokens(k, size int) int64 { return max(0, min(int64(size), r.In-int64(k*size))) }

// Uneven are the blocks that stand for different numbers of tokens.
func Uneven(rows []Row, size int) map[int32]bool {
	short, out := map[int32]int64{}, map[int32]bool{}
	last := func(f func(b int32, n int64)) {
		for i := range rows {
			if k := len(rows[i].Blocks) - 1; k >= 0 {
				f(rows[i].Blocks[k], rows[i].Tokens(k, size))
			}
		}
	}
	last(func(b int32, n int64) {
		if n < int64(size) {
			short[b] = n
		}
	})
	last(func(b int32, n int64) {
		if before, ok := short[b]; ok && before != n {
			out[b] = true
		}
	})
	for i := range rows {
		for _, b := range rows[i].Blocks[:max(0, len(rows[i].Blocks)-1)] {
			if _, ok := short[b]; ok {
				out[b] = true
			}
		}
	}
	return out
}

// Names gives the hashes of a file small numbers in the order they first
// appear, so that a row takes four bytes a block.
type Names struct {
	small []int32 // by hash: its number + 1; for files that count their blocks
	// For all others a table with open addressing: a map of Go's takes three times
	// the room, and millions of hashes are usual.
	hashes [][]uint64 // by number among these, in pieces: growing copies nothing
	names  []int32    // their numbers among all, beside hashes
	slots  []uint32   // place in hashes + 1, by the mixed hash
	n      int32
}

// A piece of Names.hashes, and how full the slots get, as a fraction.
const pieceShift, fullOf, fullBy = 16, 4, 3

// direct is how many hashes are looked up by their value when nothing is known
// of them, and how many more for each that is known.
const direct, directEach = 1 << 12, 8

// Of is the number of hash h.
func (n *Names) Of(h uint64) int32 {
	if h < uint64(len(n.small)) && n.small[h] > 0 {
		return n.small[h] - 1
	}
	at := n.find(h)
	if at >= 0 && n.slots[at] > 0 {
		return n.names[n.slots[at]-1]
	}
	n.n++
	if h >= direct+directEach*uint64(n.n) {
		n.put(h, at)
		return n.n - 1
	}
	if missing := int(h) + 1 - len(n.small); missing > 0 {
		n.small = append(n.small, make([]int32, missing)...)
	}
	n.small[h] = n.n
	return n.n - 1
}

// find is the slot of h, or the free one where it belongs; −1 while there are
// none.
func (n *Names) find(h uint64) int {
	if len(n.slots) == 0 {
		return -1
	}
	mask := uint64(len(n.slots) - 1)
	for at := seed.Mix(h) & mask; ; at = (at + 1) & mask {
		if k := n.slots[at]; k == 0 || n.hashes[(k-1)>>pieceShift][(k-1)&(1<<pieceShift-1)] == h {
			return int(at)
		}
	}
}

// put gives h, which belongs into slot at, the newest number.
func (n *Names) put(h uint64, at int) {
	k := len(n.names)
	if fullOf*(k+1) > fullBy*len(n.slots) {
		n.slots = make([]uint32, max(1<<10, 2*len(n.slots)))
		for i := range k {
			n.slots[n.find(n.hashes[i>>pieceShift][i&(1<<pieceShift-1)])] = uint32(i + 1)
		}
		at = n.find(h)
	}
	if k>>pieceShift == len(n.hashes) {
		n.hashes = append(n.hashes, make([]uint64, 0, 1<<pieceShift))
	}
	piece := &n.hashes[k>>pieceShift]
	*piece = append(*piece, h)
	n.names = append(n.names, n.n-1)
	n.slots[at] = uint32(k + 1)
}

// Len is the number of different hashes.
func (n *Names) Len() int { return int(n.n) }
