package dataset

import (
	"fmt"
	"math"
	"strings"

	"aiperf.dev/aiperf/loadgen/dataset/conversation"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
)

// DefaultBlock is the number of tokens in a block of a server's prefix cache
// when none is said (vLLM's default).
const DefaultBlock = 16

// hitTolerance is how far the planned prefix hit rate may be from the one asked for.
const hitTolerance = 0.01

// sharing makes prompts whose prefixes a server knows to a declared share.
//
// All prompts begin with the first blocks of one long master text; what
// follows is their own. Prompt i shares as many whole blocks as brings the
// sum of known tokens nearest to rate·(tokens so far), so that the rate holds
// over any stretch of the set and not only at its end. A block counts as known
// when an earlier prompt has sent it.
type sharing struct {
	rate   float64
	block  int      // tokens
	master []string // the blocks, made as they are needed
	depth  int      // blocks of master that have been sent
	total  float64  // tokens so far
	known  float64  // of them in known blocks
}

func newSharing(g *synthetic, p *schema.Prefix) (*sharing, error) {
	s := &sharing{rate: p.HitRate, block: p.BlockSize}
	if s.block == 0 {
		s.block = DefaultBlock
	}
	switch {
	case !(s.rate < 1):
		return nil, fmt.Errorf("prefix_prompts.hit_rate: %g is not below 1", s.rate)
	case s.block < 1 || s.block > conversation.MaxTokens:
		return nil, fmt.Errorf("prefix_prompts.block_size: %d is not a number of tokens", s.block)
	case p.Length > 0 || p.SharedSystemLength > 0 || p.UserContextLength > 0:
		return nil, fmt.Errorf("prefix_prompts.hit_rate: cannot be combined with another kind of prefix: it makes its own")
	}
	return s, nil
}

// prompt is the next prompt, of n tokens. Its last block is never shared: a
// server computes at least one token of every prompt.
func (s *sharing) prompt(g *synthetic, n int) string {
	s.total += float64(n)
	most := (n - 1) / s.block
	share := int(math.Round((s.rate*s.total - s.known) / float64(s.block)))
	share = min(max(share, 0), most)
	s.known += float64(min(share, s.depth) * s.block)
	s.depth = max(s.depth, share)
	for len(s.master) < share {
		g.texts++
		s.master = append(s.master, g.writer.Block(g.texts-1, s.block))
	}
	if share == 0 {
		return g.writer.Text(g.texts-1, n)
	}
	head := strings.Join(s.master[:share], "")
	g.texts++
	return g.writer.Whole(head, g.writer.Block(g.texts-1, n-share*s.block), n)
}

// doubt is that the rate asked for cannot be had, "" when it can: of a prompt only
// whole blocks before its last token can be known, and of the first one nothing.
func (s *sharing) doubt() string {
	planned := s.known / s.total
	if math.Abs(planned-s.rate) <= hitTolerance {
		return ""
	}
	return fmt.Sprintf("prefix hit rate: %.4g was asked for, but these prompts reach %.4f at most; use longer prompts, more of them, or smaller blocks (prompts.isl, entries, prefix_prompts.block_size)", s.rate, planned)
}

// report says what the server's cache will find, counted on the token ids of
// the finished prompts.
func (s *sharing) report(set *Set, tok tokenizer.Tokenizer) string {
	known, total := 0, 0
	seen := map[uint64]bool{}
	for i := range set.conversations {
		ids := tok.Encode(nil, set.conversations[i].Turns[0].Texts[0])
		total += len(ids)
		known += countKnown(seen, ids, s.block)
	}
	return fmt.Sprintf("prefix hit rate: asked %.4f, planned %.4f, on the token ids %.4f (blocks of %d tokens, each conversation played once)",
		s.rate, s.known/s.total, float64(known)/float64(max(total, 1)), s.block)
}

// countKnown is how many tokens of ids lie in leading whole blocks that were
// seen before, the last token never counted; it remembers all blocks.
func countKnown(seen map[uint64]bool, ids []int, block int) (known int) {
	hash, leading := uint64(14695981039346656037), true
	for at := 0; at+block <= len(ids); at += block {
		for _, id := range ids[at : at+block] {
			hash = (hash ^ uint64(id)) * 1099511628211
			hash ^= hash >> 29
		}
		if leading = leading && seen[hash] && at+block < len(ids); leading {
			known += block
		}
		seen[hash] = true
	}
	return known
}
