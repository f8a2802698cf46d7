// Package trace knows recorded load as rows of lengths, times and hashes of
// token blocks, whatever format they came in: it measures how prefixes are
// shared (Analyze), changes a trace (Params.Apply), and compares a replay with
// what was recorded (Compare). It reads and writes nothing.
package trace

import "time"

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

// Names gives the hashes of a file small numbers in the order they first
// appear, so that a row takes four bytes a block.
type Names struct {
	small []int32 // by hash: its number + 1; for files that count their blocks
	known map[uint64]int32
	n     int32
}

// direct is how many hashes are looked up by their value when nothing is known
// of them, and how many more for each that is known.
const direct, directEach = 1 << 12, 8

// Of is the number of hash h.
func (n *Names) Of(h uint64) int32 {
	if h < uint64(len(n.small)) && n.small[h] > 0 {
		return n.small[h] - 1
	}
	if id, ok := n.known[h]; ok {
		return id
	}
	n.n++
	if h >= direct+directEach*uint64(n.n) {
		if n.known == nil {
			n.known = map[uint64]int32{}
		}
		n.known[h] = n.n - 1
		return n.n - 1
	}
	if missing := int(h) + 1 - len(n.small); missing > 0 {
		n.small = append(n.small, make([]int32, missing)...)
	}
	n.small[h] = n.n
	return n.n - 1
}

// Len is the number of different hashes.
func (n *Names) Len() int { return int(n.n) }
