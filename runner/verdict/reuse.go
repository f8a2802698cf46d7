package verdict

import (
	"fmt"
	"math"

	"aiperf.dev/aiperf/internal/words"
)

// Reuse is what the data set declares of text that a server's prefix cache is to
// know already; the zero value declares nothing.
type Reuse struct {
	Rate         float64 // share of the prompts' tokens, while each conversation is played once
	Entries      int64   // conversations there are
	Pool, Length int64   // so many prefixes of so many tokens, one drawn for each conversation
}

// cacheBlock is how many tokens a prefix cache may be unable to share at the end of
// a prefix: it knows whole blocks, of 16 tokens with most servers.
const cacheBlock = 16

// share is the part of n prompts with so many tokens in all that a cache that keeps
// everything knows: at least, and at most. A warmup may have sent the pool before.
// It is false where nothing can be said.
func (u Reuse) share(n, prompt int64) (low, high float64, ok bool) {
	switch {
	case n == 0 || prompt == 0:
		return 0, 0, false
	case u.Rate > 0:
		return u.Rate, u.Rate, n <= u.Entries
	case u.Pool > 0 && u.Length > cacheBlock:
		low = float64((u.Length-cacheBlock)*max(n-u.Pool, 0)) / float64(prompt)
		return low, math.Min(float64(u.Length*n)/float64(prompt), 1), true
	}
	return 0, 0, false
}

// cacheHits compares what the server says that it took from its prefix cache with
// what the data declares. A server that tells of no cache says nothing.
func cacheHits(e *Evidence) []Reading {
	return perPhase(func(p *PhaseEvidence) (Reading, bool) {
		low, high, ok := e.Reuse.share(p.CacheTold, p.Prompt)
		if !ok || p.CacheTold < p.OK {
			return Reading{}, false
		}
		is := float64(p.Cached) / float64(p.Prompt)
		said, try := words.Percent(low),
			"is the server's prefix cache on (--enable-prefix-caching), and large enough for the prefixes?"
		if high-low > 0.01 {
			said += " to " + words.Percent(high)
		}
		if is > high {
			try = "more entries, or a server whose cache is empty: it knew these prompts before"
		}
		return Reading{
			Value: max(low-is, is-high, 0), Warn: 0.05, Fail: never,
			Detail: fmt.Sprintf("%s of the prompt tokens came from the server's prefix cache, %s were declared",
				words.Percent(is), said),
			So: ": TTFT is not that of the declared reuse", Try: try,
		}, true
	})(e)
}
