package trace_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/loadgen/dataset/trace"
)

// four requests in blocks of 10 tokens: two share two blocks, one shares one,
// one shares nothing.
func four() []trace.Row {
	return []trace.Row{
		{Session: "a", At: 0, Timed: true, In: 30, Out: 4, Blocks: []int32{1, 2, 3}},
		{Session: "a", At: time.Second, Timed: true, In: 40, Out: 8, Blocks: []int32{1, 2, 3, 4}},
		{At: 3 * time.Second, Timed: true, In: 15, Out: 2, Blocks: []int32{1, 9}},
		{At: 4 * time.Second, Timed: true, In: 20, Out: 2, Blocks: []int32{7, 8}},
	}
}

// By hand: hits of the four are 0/3, 3/4, 1/2 and 0/2 blocks, so the mean is
// 1.25/4; in tokens 0 + 30 + 10 + 0 of 105. Prefixes: (1) 3 times, (1,2) and
// (1,2,3) twice, (1,2,3,4), (1,9), (7), (7,8) once: 7 different ones, 7 of 11
// appearances repeated.
func TestAnalyze(t *testing.T) {
	t.Parallel()
	a := trace.Analyze(four(), 10)
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"cache_hit_rate", a.CacheHitRate, 1.25 / 4},
		{"token_hit_rate", a.TokenHitRate, 40.0 / 105},
		{"unique_prefixes", float64(a.UniquePrefixes), 7},
		{"prefix_reuse_ratio", a.PrefixReuseRatio, 7.0 / 11},
		{"num_prefix_groups", float64(a.PrefixGroups), 1},
		{"sessions", float64(a.Sessions), 3},
		{"duration_seconds", a.DurationSeconds, 4},
		{"avg_isl", a.AvgISL, 105.0 / 4},
		{"isl p25", a.ISL.P25, 18.75}, // between 15 and 20, a quarter of three steps
		{"isl std_dev", a.ISL.StdDev, math.Sqrt((3.75*3.75 + 13.75*13.75 + 11.25*11.25 + 6.25*6.25) / 4)},
		// Blocks at the same place in another request, too: 3, 3, 1, 0; all of
		// the first request's are, so its context is its whole input.
		{"context_length", a.ContextLength.Mean, (30 + 30 + 10 + 0) / 4.0},
		{"unique_prompt_length", a.UniquePromptLen.Mean, (0 + 10 + 5 + 20) / 4.0},
		{"different_blocks", float64(a.DifferentBlocks), 7},
	} {
		if math.Abs(c.got-c.want) > 1e-12 {
			t.Errorf("%s is %g, want %g", c.what, c.got, c.want)
		}
	}
	whole := a.FiniteCacheCurves[len(a.FiniteCacheCurves)-1]
	if whole.Blocks != 7 || math.Abs(whole.TokenHitRate-a.TokenHitRate) > 1e-12 {
		t.Errorf("a cache that holds everything knows %g in %d blocks, an infinite one %g",
			whole.TokenHitRate, whole.Blocks, a.TokenHitRate)
	}
	for i := 1; i < len(a.FiniteCacheCurves); i++ {
		if a.FiniteCacheCurves[i].TokenHitRate < a.FiniteCacheCurves[i-1].TokenHitRate {
			t.Errorf("a larger cache knows less: %v", a.FiniteCacheCurves)
		}
	}
}

// slowly is the analysis by its definitions, with a list of what each cache
// holds, the last used block first.
func slowly(
	rows []trace.Row, block int, sizes []int,
) (hitRate float64, prefixes, groups int, contexts []float64, known []float64) {
	seen, count, first, places := map[int32]bool{}, map[string]int{}, map[int32]int{}, map[[2]int32]int{}
	caches := make([][]string, len(sizes))
	known = make([]float64, len(sizes))
	held := map[string]int64{} // the most tokens that a prefix's last block stood for
	asked := 0.0
	for _, row := range rows {
		hit := 0
		for hit < len(row.Blocks) && seen[row.Blocks[hit]] {
			hit++
		}
		name, leading := "", make([]bool, len(sizes))
		for k, b := range row.Blocks {
			seen[b] = true
			name += fmt.Sprint(b, "/")
			size := min(int64(block), row.In-int64(k*block))
			count[name]++
			places[[2]int32{int32(k), b}]++
			for c := range caches {
				at := slices.Index(caches[c], name)
				if leading[c] = at >= 0 && (k == 0 || leading[c]); leading[c] {
					known[c] += float64(min(size, held[name]))
					leading[c] = held[name] >= size
				}
				if at >= 0 {
					caches[c] = slices.Delete(caches[c], at, at+1)
				}
				caches[c] = slices.Insert(caches[c], 0, name)
				caches[c] = caches[c][:min(len(caches[c]), sizes[c])]
			}
			held[name] = max(held[name], size)
		}
		if len(row.Blocks) > 0 {
			first[row.Blocks[0]]++
			hitRate, asked = hitRate+float64(hit)/float64(len(row.Blocks)), asked+1
		}
	}
	for _, row := range rows {
		repeated := 0
		for k, b := range row.Blocks {
			if places[[2]int32{int32(k), b}] > 1 {
				repeated++
			}
		}
		if context := float64(repeated * block); repeated > 0 && repeated == len(row.Blocks) {
			contexts = append(contexts, float64(row.In))
		} else {
			contexts = append(contexts, context)
		}
	}
	for _, n := range first {
		if n > 1 {
			groups++
		}
	}
	return hitRate / max(asked, 1), len(count), groups, contexts, known
}

// The analysis of random traces equals the definitions, written out slowly:
// blocks of one parent and one place, and blocks that stand anywhere; names
// that are counted, and names that are far between. 700 rows are more uses than
// one group of the finite caches has.
func TestAnalyzeAgainstDefinitions(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 60 {
		var rows []trace.Row
		length := 1 + r.IntN(30)
		if n%20 == 0 {
			length = 700
		}
		apart := []int32{1, 1, 1 << 20}[n%3]
		for range length {
			var blocks []int32
			for k := range r.IntN(6) {
				if n%2 == 0 {
					k = 0
				}
				blocks = append(blocks, apart*int32(10*k+r.IntN(3+n/4)))
			}
			rows = append(rows, trace.Row{In: int64(max(1, 8*len(blocks)-r.IntN(8))), Out: 1, Blocks: blocks})
		}
		a := trace.Analyze(rows, 8)
		var sizes []int
		for _, c := range a.FiniteCacheCurves {
			sizes = append(sizes, c.Blocks)
		}
		hitRate, prefixes, groups, contexts, known := slowly(rows, 8, sizes)
		if math.Abs(a.CacheHitRate-hitRate) > 1e-12 || a.UniquePrefixes != prefixes || a.PrefixGroups != groups {
			t.Fatalf("%v: hit rate %g, %d prefixes, %d groups, want %g, %d, %d", rows, a.CacheHitRate,
				a.UniquePrefixes, a.PrefixGroups, hitRate, prefixes, groups)
		}
		var context, total float64
		for i := range rows {
			context, total = context+contexts[i], total+float64(rows[i].In)
		}
		if math.Abs(a.ContextLength.Mean-context/float64(len(rows))) > 1e-9 {
			t.Fatalf("%v: mean context %g, want %g", rows, a.ContextLength.Mean, context/float64(len(rows)))
		}
		for i, c := range a.FiniteCacheCurves {
			if math.Abs(c.TokenHitRate-known[i]/total) > 1e-12 {
				t.Fatalf("%v: %d blocks know %g of the tokens, want %g", rows, c.Blocks, c.TokenHitRate, known[i]/total)
			}
		}
	}
}

// A block that was seen with fewer tokens is known as far as that: of 30 tokens
// behind 15 that a row of two blocks has, and of another such row.
func TestBlocksOfTwoLengths(t *testing.T) {
	t.Parallel()
	rows := []trace.Row{
		{In: 15, Out: 1, Blocks: []int32{1, 2}},    // nothing is known
		{In: 30, Out: 1, Blocks: []int32{1, 2, 3}}, // 10 + 5: what follows lies behind other text
		{In: 30, Out: 1, Blocks: []int32{1, 2, 3}}, // all
		{In: 12, Out: 1, Blocks: []int32{1, 2}},    // all
		{In: 30, Out: 1, Blocks: []int32{2, 1, 3}}, // nothing: a block is known behind its own prefix
	}
	a := trace.Analyze(rows, 10)
	if want := (15.0 + 30 + 12) / 117; math.Abs(a.TokenHitRate-want) > 1e-12 {
		t.Errorf("token_hit_rate %g, want %g", a.TokenHitRate, want)
	}
	if want := (2.0/3 + 1 + 1 + 1) / 5; math.Abs(a.CacheHitRate-want) > 1e-12 {
		t.Errorf("cache_hit_rate %g, want AIPerf's %g", a.CacheHitRate, want)
	}
	var sent []trace.Sent
	for i, r := range rows {
		sent = append(sent, trace.Sent{Row: i, In: r.In, Out: 1})
	}
	f := trace.Compare(rows, sent, 10, time.Millisecond)
	if want := (15.0 + 29 + 11) / 117; math.Abs(f.PrefixHit-want) > 1e-12 { // the last token of a prompt is computed
		t.Errorf("a replay predicts %g, want %g", f.PrefixHit, want)
	}
	if got := trace.Uneven(rows, 10); len(got) != 1 || !got[2] {
		t.Errorf("blocks of two lengths: %v", got)
	}
}

// Hashes keep their numbers, whether they are small or any 64 bits.
func TestNamesOfAnyHash(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	var names trace.Names
	want := map[uint64]int32{}
	for range 20_000 {
		h := r.Uint64() >> r.IntN(64)
		id, ok := want[h]
		if !ok {
			id = int32(len(want))
			want[h] = id
		}
		if got := names.Of(h); got != id {
			t.Fatalf("hash %d is %d, want %d", h, got, id)
		}
	}
	if names.Len() != len(want) {
		t.Errorf("%d names, want %d", names.Len(), len(want))
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	half, zero := 0.5, 0.0
	for _, c := range []struct {
		what string
		p    trace.Params
		want []trace.Row
	}{
		{"nothing", trace.Params{BlockSize: 10}, four()},
		{"speedup", trace.Params{BlockSize: 10, Speedup: 2}, func() []trace.Row {
			rows := four()
			for i := range rows {
				rows[i].At /= 2
			}
			return rows
		}()},
		{"max_isl drops, max_osl cuts", trace.Params{BlockSize: 10, MaxISL: 30, MaxOSL: 3}, func() []trace.Row {
			rows := four()
			rows = append(rows[:1], rows[2:]...)
			rows[0].Out = 3
			return rows
		}()},
		{"outputs", trace.Params{BlockSize: 10, OutputLen: &half}, func() []trace.Row {
			rows := four()
			for i := range rows {
				rows[i].Out /= 2
			}
			return rows
		}()},
		{"outputs of one token", trace.Params{BlockSize: 10, OutputLen: &zero}, func() []trace.Row {
			rows := four()
			for i := range rows {
				rows[i].Out = 1
			}
			return rows
		}()},
	} {
		got, err := c.p.Apply(four(), rand.New(rand.NewPCG(1, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
}

// Longer prefixes keep what was shared shared, and lengths follow.
func TestApplyPrefixes(t *testing.T) {
	t.Parallel()
	double := trace.Params{BlockSize: 10, PrefixLen: 2}
	got, err := double.Apply(four(), rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	// shared blocks are 1, 2, 3: prefixes of 3, 3, 1 and 0 blocks.
	for i, want := range []int64{60, 70, 25, 20} {
		if got[i].In != want {
			t.Errorf("row %d has %d tokens, want %d", i, got[i].In, want)
		}
	}
	if diff := cmp.Diff(got[0].Blocks, got[1].Blocks[:6]); diff != "" {
		t.Errorf("a shared prefix is shared no more (-a +b):\n%s", diff)
	}
	if diff := cmp.Diff(got[0].Blocks[:2], got[2].Blocks[:2]); diff != "" {
		t.Errorf("a shared block is shared no more (-a +b):\n%s", diff)
	}
	before, after := trace.Analyze(four(), 10), trace.Analyze(got, 10)
	if after.TokenHitRate <= before.TokenHitRate {
		t.Errorf("prefixes twice as long give a hit rate of %g, before %g", after.TokenHitRate, before.TokenHitRate)
	}
	trees := trace.Params{BlockSize: 10, Roots: 50}
	apart, err := trees.Apply(four(), rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if rate := trace.Analyze(apart, 10).TokenHitRate; rate != 0 {
		t.Errorf("four rows in fifty trees share %g of their tokens", rate)
	}
	for i, row := range apart {
		if row.In != four()[i].In {
			t.Errorf("row %d changed its length to %d", i, row.In)
		}
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	exact := func() (sent []trace.Sent) {
		known := []int64{0, 30, 10, 0}
		for i, r := range four() {
			sent = append(sent, trace.Sent{Row: i, At: r.At, In: r.In, Out: r.Out, Known: known[i], Follows: i == 1})
		}
		return sent
	}
	compare := func(change func([]trace.Sent) []trace.Sent) trace.Fidelity {
		return trace.Compare(four(), change(exact()), 10, 10*time.Millisecond)
	}
	if f := compare(func(s []trace.Sent) []trace.Sent { return s }); f.Score != 1 || f.Reached != f.PrefixHit ||
		f.Dependencies != 1 || f.LagP99 != 0 || f.OnTime != 1 || f.Timed != 4 {
		t.Errorf("an exact replay scores %+v", f)
	}
	late := compare(func(s []trace.Sent) []trace.Sent { s[3].At += time.Second; return s })
	if late.Score != 0.75 || late.LagP50 != 0 {
		t.Errorf("one of four late: %+v", late)
	}
	server := compare(func(s []trace.Sent) []trace.Sent { // its template adds five tokens to every prompt
		for i := range s {
			s[i].Asked = s[i].In + 5
		}
		return s
	})
	if math.Abs(server.Reached-40.0/125) > 1e-12 {
		t.Errorf("by the server's count: %+v", server)
	}
	missing := compare(func(s []trace.Sent) []trace.Sent { return s[:3] })
	if missing.Missing != 1 || missing.Score != 0.75 {
		t.Errorf("one of four missing: %+v", missing)
	}
	early := compare(func(s []trace.Sent) []trace.Sent { s[1].Early = true; return s })
	if early.Dependencies != 0 || early.Score != 0 {
		t.Errorf("the only follow-up came before its answer: %+v", early)
	}
	short := compare(func(s []trace.Sent) []trace.Sent { s[1].Out = 4; return s })
	if math.Abs(short.OutputLength-0.75) > 1e-12 { // 4 of 16 tokens missing
		t.Errorf("outputs %+v", short)
	}
	cold := compare(func(s []trace.Sent) []trace.Sent {
		for i := range s {
			s[i].Known = 0
		}
		return s
	})
	if cold.Reached != 0 || math.Abs(cold.Score-(1-40.0/105)) > 1e-12 {
		t.Errorf("a cache that knows nothing: %+v", cold)
	}
	both := compare(func(s []trace.Sent) []trace.Sent { // a missed overlap is seen beside a worse share
		s[3].At += time.Second
		s[1].Known = 9
		return s
	})
	if math.Abs(both.Score-0.75*(1-21.0/105)) > 1e-12 {
		t.Errorf("late, and with less overlap: %+v", both)
	}
	texts := exact() // a trace of texts says no lengths, and a server's cache is compared with nothing
	rows := four()
	for i := range rows {
		rows[i].In, rows[i].Blocks = 0, nil
	}
	if f := trace.Compare(rows, texts, 10, 10*time.Millisecond); !math.IsNaN(f.PrefixHit) || f.Reached == 0 ||
		f.Score != 1 {
		t.Errorf("a trace that says no lengths: %+v", f)
	}
	silent := compare(func(s []trace.Sent) []trace.Sent {
		for i := range s {
			s[i].Known = -1
		}
		return s
	})
	if !math.IsNaN(silent.Reached) || silent.Score != 1 {
		t.Errorf("a server that says nothing of its cache: %+v", silent)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	var n trace.Names
	for i, h := range []uint64{9, 1 << 63, 9, 0} {
		if got, want := n.Of(h), []int32{0, 1, 0, 2}[i]; got != want {
			t.Errorf("hash %d is called %d, want %d", h, got, want)
		}
	}
	if n.Len() != 3 {
		t.Errorf("%d names, want 3", n.Len())
	}
}
