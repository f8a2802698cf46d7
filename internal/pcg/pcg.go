package pcg

import "math/bits"

// The multiplier of the 128-bit linear congruential generator.
const (
	mulHigh = 0x2360ed051fc65da4
	mulLow  = 0x4385df649fccf645
)

// Generator is PCG64 as NumPy seeds and reads it. It is not for concurrent use.
type Generator struct {
	high, low       uint64 // state
	incHigh, incLow uint64 // odd: which of the sequences
	half            uint32 // upper half of the last word that was read by halves
	halved          bool
}

// New is the generator of a seed.
func New(seed uint64) *Generator {
	s := state(pool(seed), 4)
	g := &Generator{incHigh: s[2]<<1 | s[3]>>63, incLow: s[3]<<1 | 1}
	g.step()
	var carry uint64
	g.low, carry = bits.Add64(g.low, s[1], 0)
	g.high, _ = bits.Add64(g.high, s[0], carry)
	g.step()
	return g
}

// step: state ← state · multiplier + increment, modulo 2¹²⁸.
func (g *Generator) step() {
	high, low := bits.Mul64(g.low, mulLow)
	high += g.high*mulLow + g.low*mulHigh
	var carry uint64
	g.low, carry = bits.Add64(low, g.incLow, 0)
	g.high, _ = bits.Add64(high, g.incHigh, carry)
}

// Uint64 is the next word: both halves of the state combined and rotated by
// its topmost six bits.
func (g *Generator) Uint64() uint64 {
	g.step()
	return bits.RotateLeft64(g.high^g.low, -int(g.high>>58))
}

// Uint32 is the next half word: the lower half of a word, then the upper.
func (g *Generator) Uint32() uint32 {
	if g.halved {
		g.halved = false
		return g.half
	}
	w := g.Uint64()
	g.half, g.halved = uint32(w>>bitsPerWord), true
	return uint32(w)
}
