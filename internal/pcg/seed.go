// Package pcg draws the random numbers of numpy.random.default_rng.
//
// A seed goes in; out comes the same sequence that NumPy's Generator gives for
// it, so that a design sampled there can be drawn again here: the seed is
// spread over the state by SeedSequence (seed.go), the state steps as PCG64
// (pcg.go), and doubles, bounded integers and shuffles are made from its output
// as Generator makes them (draw.go).
//
// Sources: M. O'Neill, "PCG: a family of simple fast space-efficient
// statistically good algorithms for random number generation", 2014, and
// "Developing a seed_seq alternative", 2015; D. Lemire, "Fast random integer
// generation in an interval", 2019; NumPy's NEP 19.
package pcg

// poolSize is the number of 32-bit words that a seed is spread over.
const poolSize = 4

// Constants of the two hashes, of mixing and of the final shift.
const (
	hashInA, hashMulA        = 0x43b0d7e5, 0x931e8875
	hashInB, hashMulB        = 0x8b51f9dd, 0x58f38ded
	mixLeft, mixRight        = 0xca01f9dd, 0x4973f715
	halfWord                 = 16
	bitsPerWord              = 32
	lowWord           uint64 = 1<<bitsPerWord - 1
)

// hash is a multiplicative hash whose multiplier changes with every word.
type hash struct{ factor, step uint32 }

func (h *hash) word(v uint32) uint32 {
	v ^= h.factor
	h.factor *= h.step
	v *= h.factor
	return v ^ v>>halfWord
}

func mix(x, y uint32) uint32 {
	r := mixLeft*x - mixRight*y
	return r ^ r>>halfWord
}

// pool spreads a seed over its words: every word depends on every bit of it.
func pool(seed uint64) [poolSize]uint32 {
	entropy := []uint32{uint32(seed & lowWord)}
	if high := uint32(seed >> bitsPerWord); high != 0 {
		entropy = append(entropy, high)
	}
	var out [poolSize]uint32
	h := hash{hashInA, hashMulA}
	for i := range out {
		var v uint32
		if i < len(entropy) {
			v = entropy[i]
		}
		out[i] = h.word(v)
	}
	for from := range out {
		for to := range out {
			if from != to {
				out[to] = mix(out[to], h.word(out[from]))
			}
		}
	}
	return out
}

// state makes n words of 64 bits from a pool, the lower half of each first.
func state(p [poolSize]uint32, n int) []uint64 {
	h := hash{hashInB, hashMulB}
	out := make([]uint64, n)
	for i := range out {
		low := h.word(p[2*i%poolSize])
		high := h.word(p[(2*i+1)%poolSize])
		out[i] = uint64(low) | uint64(high)<<bitsPerWord
	}
	return out
}
