package dataset

import (
	"hash/maphash"
	"math"
)

// A prefix is looked at in blocks of hitBlock bytes, some 32 tokens, and a set up to
// mostHashed bytes of it: that takes a tenth of a second.
const (
	hitBlock   = 128
	mostHashed = 64 << 20
)

// PrefixHit is the share of the input, in bytes, that a prefix cache which forgets nothing
// would know if each conversation were played once: of a turn, all that came before it in
// the conversation without the server's answers, and what other conversations begin with.
// Bodies that were recorded whole count as they stand. NaN without any text.
func (s *Set) PrefixHit() float64 {
	h := hits{seed: maphash.MakeSeed(), seen: map[uint64]struct{}{}}
	for c := range s.Each() {
		h.conversation(c)
		if h.hashed > mostHashed {
			break
		}
	}
	if h.total == 0 {
		return math.NaN()
	}
	return h.known / h.total
}

// hits counts blocks that were seen before behind the same blocks.
type hits struct {
	seed         maphash.Seed
	seen         map[uint64]struct{}
	hashed       int     // bytes
	known, total float64 // bytes of all prompts
}

// prompt is one that grows.
type prompt struct {
	chain        uint64
	rest         []byte // what is no whole block yet
	known, total float64
	strange      bool // a block was new: what follows is, too
}

func (h *hits) conversation(c *Conversation) {
	var history prompt
	for i := range c.Turns {
		t := &c.Turns[i]
		if t.Raw != nil || t.Messages != nil {
			var whole prompt
			h.grow(&whole, string(t.Raw))
			h.grow(&whole, string(t.Messages))
			h.count(&whole)
			continue
		}
		if i == 0 {
			h.grow(&history, c.System)
			h.grow(&history, t.Context)
		}
		for _, text := range t.Texts {
			h.grow(&history, text)
		}
		h.count(&history)
		h.grow(&history, t.Answer)
		history.known, history.strange = history.total, false // the next turn repeats all of it
	}
}

func (h *hits) count(p *prompt) { h.known, h.total = h.known+p.known, h.total+p.total }

// grow adds a text to a prompt.
func (h *hits) grow(p *prompt, text string) {
	h.hashed += len(text)
	p.total += float64(len(text))
	p.rest = append(p.rest, text...)
	at := 0
	for ; at+hitBlock <= len(p.rest); at += hitBlock {
		var sum maphash.Hash
		sum.SetSeed(h.seed)
		for i := range 8 {
			sum.WriteByte(byte(p.chain >> (8 * i))) //nolint:errcheck // it never fails
		}
		sum.Write(p.rest[at : at+hitBlock]) //nolint:errcheck // the same
		p.chain = sum.Sum64()
		_, had := h.seen[p.chain]
		h.seen[p.chain] = struct{}{}
		if p.strange = p.strange || !had; !p.strange {
			p.known += hitBlock
		}
	}
	p.rest = append(p.rest[:0], p.rest[at:]...)
}
