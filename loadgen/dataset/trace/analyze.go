package trace

import (
	"math"
	"slices"
)

// Stats describes a distribution; StdDev is that of a population, quantiles
// are interpolated between the two nearest values.
type Stats struct {
	Mean   float64 `json:"mean"`
	StdDev float64 `json:"std_dev"`
	Min    float64 `json:"min"`
	P25    float64 `json:"p25"`
	Median float64 `json:"median"`
	P75    float64 `json:"p75"`
	Max    float64 `json:"max"`
}

// Analysis is what AIPerf's analyze-trace says, by its names, and more.
type Analysis struct {
	Requests          int     `json:"total_requests"`
	UniquePrefixes    int     `json:"unique_prefixes"`
	PrefixGroups      int     `json:"num_prefix_groups"`
	CacheHitRate      float64 `json:"cache_hit_rate"` // mean over requests of the share of leading blocks seen before
	MinISL            int64   `json:"min_isl"`
	MaxISL            int64   `json:"max_isl"`
	AvgISL            float64 `json:"avg_isl"`
	MinOSL            int64   `json:"min_osl"`
	MaxOSL            int64   `json:"max_osl"`
	AvgOSL            float64 `json:"avg_osl"`
	PrefixReuseRatio  float64 `json:"prefix_reuse_ratio"`
	ISL               *Stats  `json:"isl_stats"`
	OSL               *Stats  `json:"osl_stats"`
	ContextLength     *Stats  `json:"context_length_stats"`
	UniquePromptLen   *Stats  `json:"unique_prompt_length_stats"`
	HitRate           *Stats  `json:"hit_rate_stats"`
	TokenHitRate      float64 `json:"token_hit_rate"` // ours: known tokens over all tokens, infinite cache
	BlockSize         int     `json:"block_size"`
	DurationSeconds   float64 `json:"duration_seconds"`
	Sessions          int     `json:"sessions"`
	DifferentBlocks   int     `json:"different_blocks"`
	FiniteCacheCurves []Curve `json:"finite_cache"`
}

// Curve is one point of a finite cache: the token hit rate of a cache that
// holds so many blocks and forgets those least recently used.
type Curve struct {
	Blocks       int     `json:"blocks"`
	Tokens       int     `json:"tokens"`
	TokenHitRate float64 `json:"token_hit_rate"`
}

// prefix is a node of the tree of all prefixes: a block behind a prefix.
type prefix struct {
	parent int32
	block  int32
}

// Analyze reads the rows in their order. Memory grows with the number of
// different prefixes, one node each, not with the square of lengths.
func Analyze(rows []Row, blockSize int) *Analysis {
	a := &Analysis{Requests: len(rows), BlockSize: blockSize}
	t := newTree(rows)
	a.UniquePrefixes, a.PrefixReuseRatio = t.unique(), t.reuse()
	a.PrefixGroups, a.Sessions = t.groups(rows), sessions(rows)
	n := len(rows)
	isl, osl := make([]float64, 0, n), make([]float64, 0, n)
	var contexts, uniques, rates []float64
	seen := map[int32]bool{}
	var known, total float64
	for i := range rows {
		r := &rows[i]
		isl, osl = append(isl, float64(r.In)), append(osl, float64(r.Out))
		c := t.context(r, blockSize)
		contexts, uniques = append(contexts, c), append(uniques, float64(r.In)-c)
		total += float64(r.In)
		if len(r.Blocks) == 0 {
			continue
		}
		hit := 0
		for hit < len(r.Blocks) && seen[r.Blocks[hit]] {
			hit++
		}
		for _, b := range r.Blocks {
			seen[b] = true
		}
		rates = append(rates, float64(hit)/float64(len(r.Blocks)))
		known += math.Min(float64(hit*blockSize), float64(r.In))
	}
	a.DifferentBlocks = len(seen)
	a.ISL, a.OSL = describe(isl), describe(osl)
	a.ContextLength, a.UniquePromptLen, a.HitRate = describe(contexts), describe(uniques), describe(rates)
	if a.ISL != nil {
		a.MinISL, a.MaxISL, a.AvgISL = int64(a.ISL.Min), int64(a.ISL.Max), a.ISL.Mean
		a.MinOSL, a.MaxOSL, a.AvgOSL = int64(a.OSL.Min), int64(a.OSL.Max), a.OSL.Mean
	}
	if a.HitRate != nil {
		a.CacheHitRate = a.HitRate.Mean
	}
	if total > 0 {
		a.TokenHitRate = known / total
	}
	a.DurationSeconds = span(rows)
	a.FiniteCacheCurves = curves(rows, blockSize, t, total)
	return a
}

func sessions(rows []Row) int {
	known := map[string]bool{}
	single := 0
	for i := range rows {
		if rows[i].Session == "" {
			single++
		} else {
			known[rows[i].Session] = true
		}
	}
	return len(known) + single
}

// span is the time from the first to the last row, in s.
func span(rows []Row) float64 {
	first, last, any := math.Inf(1), math.Inf(-1), false
	for i := range rows {
		if rows[i].Timed {
			at := rows[i].At.Seconds()
			first, last, any = min(first, at), max(last, at), true
		}
	}
	if !any {
		return 0
	}
	return last - first
}

// tree counts how often each prefix, and each block at each place, appears.
type tree struct {
	nodes  map[prefix]int32
	counts []int32
	places map[prefix]int32 // parent holds the place, block the block
	path   []int32          // the nodes of all rows, one row behind the other
}

func newTree(rows []Row) *tree {
	t := &tree{nodes: map[prefix]int32{}, places: map[prefix]int32{}}
	for i := range rows {
		at := int32(-1)
		for place, b := range rows[i].Blocks {
			t.places[prefix{int32(place), b}]++
			p := prefix{at, b}
			id, ok := t.nodes[p]
			if !ok {
				id = int32(len(t.counts))
				t.nodes[p] = id
				t.counts = append(t.counts, 0)
			}
			t.counts[id]++
			t.path = append(t.path, id)
			at = id
		}
	}
	return t
}

// size is the number of blocks that an infinite cache ends up with: a block
// behind another prefix is another block to a server.
func (t *tree) size() int { return len(t.counts) }

func (t *tree) unique() int { return len(t.counts) }

// reuse is the share of prefix appearances whose prefix appears more than once.
func (t *tree) reuse() float64 {
	var again, all float64
	for _, n := range t.counts {
		all += float64(n)
		if n > 1 {
			again += float64(n)
		}
	}
	if all == 0 {
		return 0
	}
	return again / all
}

// groups is the number of first blocks that at least two requests share.
func (t *tree) groups(rows []Row) int {
	first := map[int32]int{}
	for i := range rows {
		if len(rows[i].Blocks) > 0 {
			first[rows[i].Blocks[0]]++
		}
	}
	n := 0
	for _, c := range first {
		if c > 1 {
			n++
		}
	}
	return n
}

// context is the tokens of r in blocks that stand at the same place in another
// request, too; the whole input when all do.
func (t *tree) context(r *Row, blockSize int) float64 {
	repeated := 0
	for place, b := range r.Blocks {
		if t.places[prefix{int32(place), b}] > 1 {
			repeated++
		}
	}
	if repeated == len(r.Blocks) && repeated > 0 {
		return float64(r.In)
	}
	return float64(repeated * blockSize)
}

// curves holds the trace against caches of a few sizes, from an eighth of all
// blocks up to all of them.
func curves(rows []Row, blockSize int, t *tree, total float64) (out []Curve) {
	blocks := t.size()
	if blocks == 0 || total == 0 {
		return nil
	}
	for _, part := range []float64{0.01, 0.05, 0.125, 0.25, 0.5, 1} {
		size := max(1, int(math.Ceil(part*float64(blocks))))
		if n := len(out); n > 0 && out[n-1].Blocks == size {
			continue
		}
		out = append(out, Curve{size, size * blockSize, lru(rows, blockSize, size, t) / total})
	}
	return out
}

// lru is the number of tokens that a cache of size blocks knows when they are
// asked for. A block is known behind its own prefix only.
func lru(rows []Row, blockSize, size int, t *tree) (known float64) {
	c, path := newCache(size, t.size()), t.path
	for i := range rows {
		hit, leading := 0, true
		for _, node := range path[:len(rows[i].Blocks)] {
			if leading = c.touch(node) && leading; leading {
				hit++
			}
		}
		path = path[len(rows[i].Blocks):]
		known += math.Min(float64(hit*blockSize), float64(rows[i].In))
	}
	return known
}

// chain is the name of block b behind the prefix called at.
func chain(at uint64, b int32) uint64 {
	z := at*0x9e3779b97f4a7c15 + uint64(uint32(b)) + 1
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// describe is nil for nothing.
func describe(v []float64) *Stats {
	if len(v) == 0 {
		return nil
	}
	slices.Sort(v)
	var sum, squares float64
	for _, x := range v {
		sum += x
	}
	mean := sum / float64(len(v))
	for _, x := range v {
		squares += (x - mean) * (x - mean)
	}
	return &Stats{
		Mean: mean, StdDev: math.Sqrt(squares / float64(len(v))),
		Min: v[0], P25: quantile(v, 0.25), Median: quantile(v, 0.5), P75: quantile(v, 0.75), Max: v[len(v)-1],
	}
}

// quantile interpolates linearly between the two nearest of sorted values.
func quantile(v []float64, q float64) float64 {
	at := q * float64(len(v)-1)
	i := int(at)
	if i+1 >= len(v) {
		return v[len(v)-1]
	}
	return v[i] + (at-float64(i))*(v[i+1]-v[i])
}
