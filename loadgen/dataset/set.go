package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"

	"aiperf.dev/aiperf/internal/seed"
)

// Set is all conversations of a dataset, in a fixed order. It is immutable and
// may be shared.
type Set struct {
	conversations []Conversation
	warnings      []string
	sampling      string
}

// Len is the number of conversations, at least 1.
func (s *Set) Len() int { return len(s.conversations) }

// At is conversation i. It belongs to the set: read only.
func (s *Set) At(i int) *Conversation { return &s.conversations[i] }

// Warnings are what a person should know about the set, one line each.
func (s *Set) Warnings() []string { return s.warnings }

// Turns is the number of turns of all conversations.
func (s *Set) Turns() int {
	n := 0
	for i := range s.conversations {
		n += len(s.conversations[i].Turns)
	}
	return n
}

// Timed tells whether the set is a trace: its first turn has a timestamp.
func (s *Set) Timed() bool { return s.conversations[0].Turns[0].Timestamp != nil }

// Digest is the SHA-256 of the whole content, in hex. Equal digests mean equal
// requests.
func (s *Set) Digest() string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for i := range s.conversations {
		if err := enc.Encode(&s.conversations[i]); err != nil {
			// Extra holds what JSON gave us, so it can be JSON again.
			panic("dataset: a conversation is not plain data: " + err.Error())
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Sampler starts an order of play. Its randomness comes from root alone.
func (s *Set) Sampler(root int64) *Sampler {
	return &Sampler{set: s, rng: seed.Stream(root, "dataset.sampling")}
}

// Sampler says which conversation is played next. It has one user.
type Sampler struct {
	set   *Set
	rng   *rand.Rand
	next  int
	order []int // shuffle's current deck
}

// Next is the next conversation. It never ends: sequential starts over,
// shuffle deals all of them and shuffles again, random draws with replacement.
func (p *Sampler) Next() *Conversation {
	switch p.set.sampling {
	case "random":
		return p.set.At(p.rng.IntN(p.set.Len()))
	case "shuffle":
		return p.set.At(p.deal())
	}
	c := p.set.At(p.next)
	p.next = (p.next + 1) % p.set.Len()
	return c
}

func (p *Sampler) deal() int {
	if p.next == 0 {
		p.order = p.rng.Perm(p.set.Len())
	}
	i := p.order[p.next]
	p.next = (p.next + 1) % len(p.order)
	return i
}
