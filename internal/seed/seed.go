// Package seed derives independent random streams from one root seed. In goes
// the seed of a run and the name of a use ("arrivals/profiling", "prompts"),
// out comes a generator that nothing else draws from, so adding a use never
// shifts the numbers another one sees.
package seed

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
)

// Of is the seed of the stream called name under root: the first 8 bytes, big
// endian, of SHA-256(root as 8 bytes big endian, name).
func Of(root int64, name string) uint64 {
	h := sha256.New()
	var r [8]byte
	binary.BigEndian.PutUint64(r[:], uint64(root))
	h.Write(r[:])
	h.Write([]byte(name))
	return binary.BigEndian.Uint64(h.Sum(nil))
}

// Stream is the generator of the stream called name under root. It is not safe
// for concurrent use; every user takes its own.
func Stream(root int64, name string) *rand.Rand {
	s := Of(root, name)
	return rand.New(rand.NewPCG(s, s^0x9e3779b97f4a7c15))
}

// Mix spreads the bits of z: it is the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
func Mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
