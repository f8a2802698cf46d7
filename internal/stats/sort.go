package stats

import (
	"math"
	"slices"
)

// radixFrom is the length from which six passes over the data beat comparing.
// Measured: 2,048 values is about even, 10 M values 0.24 s against 1.09 s.
const radixFrom = 4096

// Sort sorts v ascending in place; v must hold no NaN. It needs scratch as
// large as v when v is long; a Sorter keeps that between calls.
func Sort(v []float64) {
	var s Sorter
	s.Sort(v)
}

// Sorter sorts many slices with one scratch buffer. The zero value is ready.
// Not for concurrent use.
type Sorter struct{ spare []float64 }

// Sort sorts v ascending in place; v must hold no NaN.
func (s *Sorter) Sort(v []float64) {
	if len(v) < radixFrom {
		slices.Sort(v)
		return
	}
	if cap(s.spare) < len(v) {
		s.spare = make([]float64, len(v))
	}
	radix(v, s.spare[:len(v)])
}

// radix is a least-significant-digit radix sort of float64 by 11 bits in six
// passes. A pass in which all keys share their digit is skipped.
func radix(v, spare []float64) {
	var count [6][2048]int
	for _, f := range v {
		k := key(f)
		for p := range count {
			count[p][k>>(11*p)&2047]++
		}
	}
	from, to := v, spare
	for p := range count {
		if pass(&count[p], p, from, to) {
			from, to = to, from
		}
	}
	if &from[0] != &v[0] {
		copy(v, from)
	}
}

// pass moves from to to, ordered by digit p; false when there was nothing to do.
func pass(count *[2048]int, p int, from, to []float64) bool {
	if count[key(from[0])>>(11*p)&2047] == len(from) {
		return false
	}
	at := 0
	for i, n := range count {
		count[i] = at
		at += n
	}
	for _, f := range from {
		d := key(f) >> (11 * p) & 2047
		to[count[d]] = f
		count[d]++
	}
	return true
}

// key maps a float to an integer of the same order: positive numbers get the
// top bit, negative ones are inverted.
func key(f float64) uint64 {
	b := math.Float64bits(f)
	return b ^ (uint64(int64(b)>>63) | 1<<63)
}
