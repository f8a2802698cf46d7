package pcg

import (
	"math"
	"math/bits"
)

// Float64 is a number in [0, 1): the upper 53 bits of a word.
func (g *Generator) Float64() float64 { return float64(g.Uint64()>>11) * 0x1p-53 }

// Below is a whole number in [0, n), for n in 1…2³²−1. Nothing is drawn for 1.
//
// Lemire: the upper half of a 32-bit draw times n, with the draws refused that
// would make some numbers likelier.
func (g *Generator) Below(n uint32) uint32 {
	if n <= 1 {
		return 0
	}
	m := uint64(g.Uint32()) * uint64(n)
	if left := uint32(m & lowWord); left < n {
		least := (math.MaxUint32 - (n - 1)) % n
		for left < least {
			m = uint64(g.Uint32()) * uint64(n)
			left = uint32(m & lowWord)
		}
	}
	return uint32(m >> bitsPerWord)
}

// Shuffle puts n things in random order, from the last to the second.
func (g *Generator) Shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, int(g.upTo(uint32(i))))
	}
}

// upTo is a whole number in [0, last]: as many bits as last has are drawn until
// they make a number that is not larger. Generator shuffles with this, not with
// the method of Below.
func (g *Generator) upTo(last uint32) uint32 {
	mask := uint32(1)<<bits.Len32(last) - 1
	for {
		if v := g.Uint32() & mask; v <= last {
			return v
		}
	}
}
