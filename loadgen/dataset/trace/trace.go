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
	In, Out int64   // tokens
	Blocks  []int32 // what its input's blocks are called; equal names are equal text
}

// Names gives the hashes of a file small numbers in the order they first
// appear, so that a row takes four bytes a block.
type Names struct{ known map[uint64]int32 }

// Of is the number of hash h.
func (n *Names) Of(h uint64) int32 {
	if n.known == nil {
		n.known = map[uint64]int32{}
	}
	id, ok := n.known[h]
	if !ok {
		id = int32(len(n.known))
		n.known[h] = id
	}
	return id
}

// Len is the number of different hashes.
func (n *Names) Len() int { return len(n.known) }
