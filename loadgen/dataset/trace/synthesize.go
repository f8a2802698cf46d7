package trace

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Params changes a trace. 0 and 1 leave a thing as it is; Output of nil too.
type Params struct {
	Speedup   float64 // times and delays are divided by it
	PrefixLen float64 // factor on the length of shared prefixes
	Roots     int     // number of trees that prefixes are spread over
	PromptLen float64 // factor on the length of what follows the prefix
	OutputLen *float64
	MaxISL    int64 // rows above it are dropped
	MaxOSL    int64 // outputs above it are cut
	BlockSize int
}

// Changes reports whether lengths, prefixes or times are touched at all.
func (p *Params) Changes() bool {
	return !one(p.Speedup) || !one(p.PrefixLen) || p.Roots > 1 || !one(p.PromptLen) || p.OutputLen != nil &&
		*p.OutputLen != 1
}

func one(v float64) bool { return v == 0 || v == 1 }

// Apply is the changed trace; rows is not touched, and returned where nothing is
// to be changed. The rules are AIPerf's: a
// row's prefix is its leading blocks that appear at least twice in the trace,
// what follows is its prompt. A prefix grows by splitting every block into
// ⌊k⌋ and adding fresh ones up to ⌈n·k⌉, or is cut to max(1, ⌊n·k⌋) blocks; a
// prompt gets fresh blocks for its new length; each row goes to one of the
// trees at random.
func (p *Params) Apply(rows []Row, rng *rand.Rand) ([]Row, error) {
	if !p.Changes() && p.MaxISL == 0 && p.MaxOSL == 0 {
		return rows, nil
	}
	var shared map[int32]bool
	var fresh int32
	if p.Changes() {
		shared, fresh = repeats(rows)
	}
	s := shaper{Params: p, shared: shared, fresh: fresh, rng: rng}
	out := make([]Row, 0, len(rows))
	for i := range rows {
		r := rows[i]
		if p.MaxISL > 0 && r.In > p.MaxISL {
			continue
		}
		if p.Changes() {
			if err := s.shape(&r); err != nil {
				return nil, fmt.Errorf("row %d: %w", i+1, err)
			}
		}
		if p.MaxISL > 0 {
			r.In = min(r.In, p.MaxISL)
			r.Blocks = r.Blocks[:min(len(r.Blocks), blocks(r.In, p.BlockSize))]
		}
		if p.MaxOSL > 0 {
			r.Out = min(r.Out, p.MaxOSL)
		}
		out = append(out, r)
	}
	if p.Roots > 1 {
		s.plant(out)
	}
	return out, nil
}

// repeats are the blocks that appear at least twice, and the first free name.
func repeats(rows []Row) (shared map[int32]bool, fresh int32) {
	count := map[int32]int{}
	for i := range rows {
		for _, b := range rows[i].Blocks {
			count[b]++
			fresh = max(fresh, b+1)
		}
	}
	shared = map[int32]bool{}
	for b, n := range count {
		if n > 1 {
			shared[b] = true
		}
	}
	return shared, fresh
}

// shaper carries what Apply needs from row to row.
type shaper struct {
	*Params
	shared map[int32]bool
	fresh  int32
	grown  map[int32][]int32 // blocks that a block was split into
	rng    *rand.Rand
}

func (s *shaper) shape(r *Row) error {
	if !one(s.Speedup) {
		r.At, r.Delay = time.Duration(float64(r.At)/s.Speedup), time.Duration(float64(r.Delay)/s.Speedup)
	}
	if s.OutputLen != nil {
		r.Out = max(1, int64(math.RoundToEven(float64(r.Out)**s.OutputLen)))
	}
	n := 0
	for n < len(r.Blocks) && s.shared[r.Blocks[n]] {
		n++
	}
	prefixLen := int64(n * s.BlockSize)
	if len(r.Blocks) == n {
		prefixLen = min(prefixLen, r.In) // the last block may be a part
	}
	prompt := r.In - prefixLen
	if prompt < 0 {
		return fmt.Errorf("%d blocks of %d tokens are more than its %d input tokens", n, s.BlockSize, r.In)
	}
	if len(r.Blocks) == 0 {
		r.In = max(1, int64(float64(r.In)*or(s.PromptLen)))
		return nil
	}
	head := s.prefix(r.Blocks[:n])
	if len(head) != n {
		prefixLen = int64(len(head) * s.BlockSize)
	}
	tail := r.Blocks[n:]
	if !one(s.PromptLen) {
		prompt = int64(float64(prompt) * s.PromptLen)
		tail = make([]int32, blocks(prompt, s.BlockSize))
		for i := range tail {
			tail[i] = s.next()
		}
	}
	r.Blocks = append(append(make([]int32, 0, len(head)+len(tail)), head...), tail...)
	r.In = max(1, prefixLen+prompt)
	return nil
}

// prefix is head made longer or shorter.
func (s *shaper) prefix(head []int32) []int32 {
	k := or(s.PrefixLen)
	if k == 1 || len(head) == 0 {
		return head
	}
	if k < 1 {
		return head[:max(1, int(float64(len(head))*k))]
	}
	whole, want := int(k), int(math.Ceil(float64(len(head))*k))
	out := make([]int32, 0, want)
	for _, b := range head {
		out = append(out, s.split(b, whole)...)
	}
	for last := head[len(head)-1]; len(out) < want; last = out[len(out)-1] {
		out = append(out, s.split(^last, 1)...) // the same for all rows with this prefix
	}
	return out[:want]
}

// split is the n blocks that b became, the same wherever it appears.
func (s *shaper) split(b int32, n int) []int32 {
	if s.grown == nil {
		s.grown = map[int32][]int32{}
	}
	parts := s.grown[b]
	for len(parts) < n {
		if len(parts) == 0 && b >= 0 {
			parts = append(parts, b)
			continue
		}
		parts = append(parts, s.next())
	}
	s.grown[b] = parts
	return parts
}

func (s *shaper) next() int32 { s.fresh++; return s.fresh - 1 }

// plant moves each row into one of the trees, whose blocks have nothing in
// common.
func (s *shaper) plant(rows []Row) {
	for i := range rows {
		offset := int32(s.rng.IntN(s.Roots)) * s.fresh
		moved := make([]int32, len(rows[i].Blocks))
		for k, b := range rows[i].Blocks {
			moved[k] = b + offset
		}
		rows[i].Blocks = moved
	}
}

// blocks is how many blocks hold n tokens.
func blocks(n int64, size int) int {
	if size < 1 {
		return 0
	}
	return int((n + int64(size) - 1) / int64(size))
}

func or(k float64) float64 {
	if k == 0 {
		return 1
	}
	return k
}
