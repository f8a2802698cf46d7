package render

import (
	"encoding/binary"
	"encoding/hex"
	"math"

	"aiperf.dev/aiperf/internal/seed"
)

// Keys are the roots of a phase's choices, one stream each.
type Keys struct{ session, request, model, cancel, think uint64 }

// NewKeys are those of a phase: ids by the run's own seed, choices by the seed
// that it may share with others.
func NewKeys(shape, own int64, phase string) *Keys {
	return &Keys{
		session: seed.Of(own, "session/"+phase), request: seed.Of(own, "request/"+phase),
		model: seed.Of(shape, "model/"+phase), cancel: seed.Of(shape, "cancellation/"+phase),
		think: seed.Of(shape, "think/"+phase),
	}
}

// Continue has sessions keep the ids and models that they have in another phase.
func (k *Keys) Continue(other *Keys) { k.session, k.model = other.session, other.model }

// Cancels reports whether request (index, turn) is cancelled on purpose: Bernoulli
// with a probability in percent.
func (k *Keys) Cancels(index int64, turn int, percent float64) bool {
	return uniform(k.cancel, index, turn)*100 < percent
}

// Normal gives standard normal numbers that depend on a session's index alone,
// by the method of Box and Muller.
func (k *Keys) Normal(index int64) func() float64 {
	n := 0
	return func() float64 {
		n += 2
		return math.Sqrt(-2*math.Log(1-uniform(k.think, index, n))) * math.Cos(2*math.Pi*uniform(k.think, index, n+1))
	}
}

// draw is value (index, turn) of the stream with this key: reachable directly,
// so that it does not depend on the order in which requests come.
func draw(key uint64, index int64, turn int) uint64 {
	return seed.Mix(seed.Mix(key+uint64(index)*0x9e3779b97f4a7c15) + uint64(turn)*0xd1b54a32d192ed03)
}

// uniform is draw as a number in [0, 1).
func uniform(key uint64, index int64, turn int) float64 {
	return float64(draw(key, index, turn)>>11) / (1 << 53)
}

// uuid is a version 4 UUID out of the stream.
func uuid(key uint64, index int64, turn int) string {
	var b [16]byte
	z := draw(key, index, turn)
	binary.BigEndian.PutUint64(b[:8], z)
	binary.BigEndian.PutUint64(b[8:], seed.Mix(z+0x9e3779b97f4a7c15))
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	var s [36]byte
	hex.Encode(s[0:8], b[0:4])
	hex.Encode(s[9:13], b[4:6])
	hex.Encode(s[14:18], b[6:8])
	hex.Encode(s[19:23], b[8:10])
	hex.Encode(s[24:], b[10:])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}
