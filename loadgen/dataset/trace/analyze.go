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
	Requests         int     `json:"total_requests"`
	UniquePrefixes   int     `json:"unique_prefixes"`
	PrefixGroups     int     `json:"num_prefix_groups"`
	CacheHitRate     float64 `json:"cache_hit_rate"` // mean over requests of the share of leading blocks seen before
	MinISL           int64   `json:"min_isl"`
	MaxISL           int64   `json:"max_isl"`
	AvgISL           float64 `json:"avg_isl"`
	MinOSL           int64   `json:"min_osl"`
	MaxOSL           int64   `json:"max_osl"`
	AvgOSL           float64 `json:"avg_osl"`
	PrefixReuseRatio float64 `json:"prefix_reuse_ratio"`
	ISL              *Stats  `json:"isl_stats"`
	OSL              *Stats  `json:"osl_stats"`
	ContextLength    *Stats  `json:"context_length_stats"`
	UniquePromptLen  *Stats  `json:"unique_prompt_length_stats"`
	HitRate          *Stats  `json:"hit_rate_stats"`
	// ours: known tokens over all tokens, infinite cache; a block is known behind its own prefix
	TokenHitRate      float64 `json:"token_hit_rate"`
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

// Analyze reads the rows in their order. Its memory grows with the number of
// different prefixes, not with the square of lengths.
func Analyze(rows []Row, blockSize int) *Analysis {
	rows = named(rows)
	a := &Analysis{Requests: len(rows), BlockSize: blockSize, DurationSeconds: span(rows), Sessions: sessions(rows)}
	t := newTree(rows)
	a.DifferentBlocks = t.again.all
	rates := grow(t, rows)
	a.UniquePrefixes, a.PrefixReuseRatio, a.PrefixGroups = t.size(), t.reuse(), t.groups()
	a.HitRate = describe(rates)

	numbers := make([]float64, len(rows))
	of := func(f func(r *Row) float64) *Stats {
		for i := range rows {
			numbers[i] = f(&rows[i])
		}
		return describe(numbers)
	}
	var total float64
	a.ISL = of(func(r *Row) float64 { total += float64(r.In); return float64(r.In) })
	a.OSL = of(func(r *Row) float64 { return float64(r.Out) })
	a.ContextLength = of(func(r *Row) float64 { return t.context(r, blockSize) })
	a.UniquePromptLen = of(func(r *Row) float64 { return float64(r.In) - t.context(r, blockSize) })
	if a.ISL != nil {
		a.MinISL, a.MaxISL, a.AvgISL = int64(a.ISL.Min), int64(a.ISL.Max), a.ISL.Mean
		a.MinOSL, a.MaxOSL, a.AvgOSL = int64(a.OSL.Min), int64(a.OSL.Max), a.OSL.Mean
	}
	if a.HitRate != nil {
		a.CacheHitRate = a.HitRate.Mean
	}
	if total > 0 {
		a.FiniteCacheCurves = curves(rows, blockSize, t, total)
		if n := len(a.FiniteCacheCurves); n > 0 { // the last one forgets nothing
			a.TokenHitRate = a.FiniteCacheCurves[n-1].TokenHitRate
		}
	}
	return a
}

// grow puts the rows into the tree. It returns each one's share of leading
// blocks that were seen before, anywhere, as AIPerf counts.
func grow(t *tree, rows []Row) (rates []float64) {
	for i := range rows {
		r := &rows[i]
		if len(r.Blocks) == 0 {
			continue
		}
		hit := 0
		for hit < len(r.Blocks) && t.has(r.Blocks[hit]) {
			hit++
		}
		at := none
		for place, b := range r.Blocks {
			at = t.step(at, b, int32(place))
		}
		rates = append(rates, float64(hit)/float64(len(r.Blocks)))
	}
	return rates
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

// curves holds the trace against caches of a few sizes, up to all prefixes.
func curves(rows []Row, blockSize int, t *tree, total float64) (out []Curve) {
	for _, part := range []float64{0.01, 0.05, 0.125, 0.25, 0.5, 1} {
		size := int(math.Ceil(part * float64(t.size())))
		if n := len(out); size > 0 && (n == 0 || out[n-1].Blocks != size) {
			out = append(out, Curve{Blocks: size, Tokens: size * blockSize})
		}
	}
	finite(rows, blockSize, t, out)
	for i := range out {
		out[i].TokenHitRate /= total
	}
	return out
}

// finite sums for each cache how many tokens it knows when they are asked for.
// A block is known behind its own prefix only. One pass serves all sizes: a
// cache of n blocks that forgets what was used least recently holds a block
// exactly if fewer than n others were used since. Of a block that stands for
// fewer tokens in one row than in another, as many are known as were seen.
func finite(rows []Row, blockSize int, t *tree, caches []Curve) {
	used := newRecency(len(t.counts), t.steps) // the prefixes that appear once need no room
	held := make([]int64, len(t.counts))       // by node: the most tokens that it stood for
	for i := range rows {
		least := 0 // the smallest cache that still knows all blocks so far
		at := none
		for k, b := range rows[i].Blocks {
			at = t.node(at, b)
			distance := used.touch(at)
			for least < len(caches) && (distance == 0 || distance > caches[least].Blocks) {
				least++
			}
			if at == once {
				continue
			}
			tokens := rows[i].Tokens(k, blockSize)
			for c := least; c < len(caches); c++ {
				caches[c].TokenHitRate += float64(min(tokens, held[at]))
			}
			if held[at] < tokens {
				held[at], least = tokens, len(caches)
			}
		}
	}
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
