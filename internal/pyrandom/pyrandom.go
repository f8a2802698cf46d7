// Package pyrandom draws what CPython's random.Random draws: a Mersenne Twister,
// seeded with an integer, and its shuffle and randrange on top. Choices that other
// programs made with it can be made again. Go's generators know nothing of it.
package pyrandom

import "math/bits"

const (
	size  = 624
	shift = 397
)

// Random is the generator. It is not safe for concurrent use.
type Random struct {
	state [size]uint32
	at    int
}

// New is random.Random(seed) for a seed of 32 bits (init_by_array with one key).
func New(seed uint32) *Random {
	r := &Random{at: size}
	s := &r.state
	s[0] = 19650218
	for i := uint32(1); i < size; i++ {
		s[i] = 1812433253*(s[i-1]^s[i-1]>>30) + i
	}
	i := uint32(1)
	wrap := func() {
		if i++; i >= size {
			s[0], i = s[size-1], 1
		}
	}
	for range size {
		s[i] = (s[i] ^ (s[i-1]^s[i-1]>>30)*1664525) + seed
		wrap()
	}
	for range size - 1 {
		s[i] = (s[i] ^ (s[i-1]^s[i-1]>>30)*1566083941) - i
		wrap()
	}
	s[0] = 1 << 31
	return r
}

// Next is the next 32 bits.
func (r *Random) Next() uint32 {
	if r.at == size {
		r.twist()
	}
	y := r.state[r.at]
	r.at++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

func (r *Random) twist() {
	s := &r.state
	for i := range s {
		y := s[i]&(1<<31) | s[(i+1)%size]&(1<<31-1)
		s[i] = s[(i+shift)%size] ^ y>>1 ^ y&1*0x9908b0df
	}
	r.at = 0
}

// Below is randrange(n), for n from 1.
func (r *Random) Below(n int) int {
	k := bits.Len(uint(n))
	for {
		if v := int(r.Next() >> (32 - k)); v < n {
			return v
		}
	}
}

// Shuffle calls swap as random.shuffle exchanges elements.
func (r *Random) Shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, r.Below(i+1))
	}
}
