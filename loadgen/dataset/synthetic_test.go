package dataset_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
)

func p(v float64) *float64 { return &v }

func fixed(v float64) *schema.Shape { return &schema.Shape{Value: p(v)} }

func tok(t testing.TB, name string) tokenizer.Tokenizer {
	t.Helper()
	tk, err := tokenizer.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return tk
}

func open(t testing.TB, cfg schema.Dataset, tk tokenizer.Tokenizer, seed int64, stream string) *dataset.Set {
	t.Helper()
	set, err := dataset.Open(cfg, tk, seed, stream)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func synthetic(entries int, isl *schema.Shape) schema.Dataset {
	return schema.Dataset{Name: "main", Type: "synthetic", Entries: entries, Prompts: schema.Prompts{ISL: isl}}
}

// joined is what a server tokenizes of one turn.
func joined(t *dataset.Turn) string { return strings.Join(t.Texts, " ") }

func TestSyntheticLengthsAreExact(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compares values on one goroutine")
	}
	for _, name := range []string{"o200k_base", "cl100k_base", "p50k_base"} {
		tk := tok(t, name)
		for _, n := range []int{1, 2, 3, 4, 5, 7, 11, 16, 23, 40, 64, 100, 127, 128, 512, 1000, 4097} {
			cfg := synthetic(12, fixed(float64(n)))
			cfg.Prompts.BatchSize = 2
			set := open(t, cfg, tk, 3, "profiling")
			for i := range set.Len() {
				turn := &set.At(i).Turns[0]
				for _, text := range turn.Texts {
					if got := tk.Count(text); got != n {
						t.Errorf("%s: a text of %d tokens has %d: %q", name, n, got, text)
					}
				}
				if got := tk.Count(joined(turn)); int64(got) != turn.ISL || got != 2*n {
					t.Errorf("%s: ISL %d, joined texts have %d tokens, want %d", name, turn.ISL, got, 2*n)
				}
			}
			if w := set.Warnings(); len(w) > 0 {
				t.Errorf("%s, %d tokens: warnings %q", name, n, w)
			}
		}
	}
}

// spaced counts what no vocabulary we ship does: one token per rune and one
// more for every third space, so that the count of a text is not the sum of
// the counts of its words.
type spaced struct{ tokenizer.Tokenizer }

func (spaced) Name() string { return "spaced" }

func (spaced) Count(s string) int { return (len(strings.Fields(s))*3 + 1) / 2 }

func TestSyntheticLengthsWithAnyTokenizer(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 3, 9, 30, 300} {
		cfg := synthetic(20, fixed(float64(n)))
		cfg.Prefix = &schema.Prefix{PoolSize: 2, Length: 12}
		set := open(t, cfg, spaced{}, 3, "profiling")
		for i := range set.Len() {
			turn := &set.At(i).Turns[0]
			if got := (spaced{}).Count(joined(turn)); got != n+12 || turn.ISL != int64(got) {
				t.Errorf("prompt of %d tokens has %d, ISL says %d", n+12, got, turn.ISL)
			}
		}
	}
}

// odd has no text of two tokens.
type odd struct{ tokenizer.Tokenizer }

func (odd) Name() string { return "odd" }

func (odd) Count(s string) int { return 2*len(strings.Fields(s)) - 1 }

func TestMissedLengthsAreReported(t *testing.T) {
	t.Parallel()
	set := open(t, synthetic(3, fixed(6)), odd{}, 1, "profiling")
	want := []string{"3 synthetic texts miss their length: none of that length was found by odd"}
	if diff := cmp.Diff(want, set.Warnings()); diff != "" {
		t.Errorf("Warnings (-want +got):\n%s", diff)
	}
	if turn := set.At(0).Turns[0]; turn.ISL != int64((odd{}).Count(joined(&turn))) {
		t.Errorf("ISL %d is not what the tokenizer counts", turn.ISL)
	}
}

func TestSyntheticConversation(t *testing.T) {
	t.Parallel()
	tk := tok(t, "builtin")
	cfg := synthetic(9, fixed(30))
	cfg.Prompts.OSL = fixed(8)
	cfg.Turns = fixed(3)
	cfg.TurnDelay = fixed(250)
	cfg.TurnDelayRatio = 2
	cfg.SystemPrompt = "Be brief."
	cfg.Prefix = &schema.Prefix{PoolSize: 2, Length: 20, SharedSystemLength: 10, UserContextLength: 15}
	set := open(t, cfg, tk, 5, "profiling")
	prefixes, contexts := map[string]int{}, map[string]int{}
	for i := range set.Len() {
		c := set.At(i)
		if want := fmt.Sprintf("session_%06d", i); c.ID != want || len(c.Turns) != 3 {
			t.Fatalf("conversation %d: ID %q, %d turns, want %q, 3", i, c.ID, len(c.Turns), want)
		}
		shared, ok := strings.CutPrefix(c.System, "Be brief.\n\n")
		if !ok || tk.Count(shared) != 10 || c.System != set.At(0).System {
			t.Errorf("conversation %d: System %q", i, c.System)
		}
		for j := range c.Turns {
			turn := &c.Turns[j]
			want := dataset.Turn{MaxTokens: 8, ISL: 30, Delay: 500 * time.Millisecond}
			if j == 0 {
				want.ISL, want.Delay = 50, 0
				prefixes[firstWords(turn.Texts[0], 2)]++
			}
			got := *turn
			got.Texts, got.Context = nil, ""
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("conversation %d turn %d (-want +got):\n%s", i, j, diff)
			}
			if n := tk.Count(joined(turn)); int64(n) != turn.ISL {
				t.Errorf("conversation %d turn %d: %d tokens, ISL %d", i, j, n, turn.ISL)
			}
			if tk.Count(turn.Context) != 15 || turn.Context != c.Turns[0].Context {
				t.Errorf("conversation %d turn %d: Context %q", i, j, turn.Context)
			}
		}
		contexts[c.Turns[0].Context]++
	}
	if len(prefixes) != 2 || len(contexts) != 9 {
		t.Errorf("%d prefixes, %d user contexts; want 2, 9", len(prefixes), len(contexts))
	}
}

func firstWords(s string, n int) string {
	return strings.Join(strings.SplitN(s, " ", n+1)[:n], " ")
}

func TestPromptsShareNoPrefix(t *testing.T) {
	t.Parallel()
	tk := tok(t, "builtin")
	seen := map[string]string{}
	for _, stream := range []string{"profiling", "warmup"} {
		set := open(t, synthetic(1500, fixed(24)), tk, 11, stream)
		starts := map[string]bool{}
		for i := range set.Len() {
			text := set.At(i).Turns[0].Texts[0]
			if start := firstWords(text, 2); starts[start] {
				t.Fatalf("two prompts of %s begin with %q", stream, start)
			} else {
				starts[start] = true
			}
			if other, again := seen[text]; again {
				t.Fatalf("%s and %s share the prompt %q", stream, other, text)
			}
			seen[text] = stream
		}
	}
}

func TestOneSeedOneSet(t *testing.T) {
	t.Parallel()
	tk := tok(t, "builtin")
	cfg := synthetic(20, &schema.Shape{Mean: p(60), StdDev: p(20)})
	cfg.Prompts.OSL = &schema.Shape{Mean: p(30), StdDev: p(5)}
	digest := func(cfg schema.Dataset, seed int64, stream string) string {
		return open(t, cfg, tk, seed, stream).Digest()
	}
	a := digest(cfg, 1, "profiling")
	if b := digest(cfg, 1, "profiling"); a != b {
		t.Errorf("one seed gave %s and %s", a, b)
	}
	if b := digest(cfg, 2, "profiling"); a == b {
		t.Error("seeds 1 and 2 gave the same set")
	}
	if b := digest(cfg, 1, "warmup"); a == b {
		t.Error("streams profiling and warmup gave the same set")
	}
	own := cfg
	seed := int64(1)
	own.RandomSeed = &seed
	if b := digest(own, 99, "profiling"); a != b {
		t.Error("random_seed 1 under root 99 differs from root 1")
	}
	other := cfg
	other.Prompts.OSL = fixed(4)
	x, y := open(t, cfg, tk, 1, "profiling"), open(t, other, tk, 1, "profiling")
	for i := range x.Len() {
		if x.At(i).Turns[0].Texts[0] != y.At(i).Turns[0].Texts[0] {
			t.Fatalf("another OSL changed the text of prompt %d", i)
		}
	}
}

func TestGoldenConversation(t *testing.T) {
	t.Parallel()
	set := open(t, synthetic(2, fixed(20)), tok(t, "builtin"), 42, "profiling")
	want := []string{golden0, golden1}
	got := []string{set.At(0).Turns[0].Texts[0], set.At(1).Turns[0].Texts[0]}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("texts of seed 42 changed, and with them every recorded result (-want +got):\n%s", diff)
	}
}

func TestShapes(t *testing.T) {
	t.Parallel()
	const n = 4000
	for _, c := range []struct {
		name                string
		shape               schema.Shape
		low, high           int64   // every value is inside
		mean, median, width float64 // of the sample, ± width
	}{
		{"value", schema.Shape{Value: p(17)}, 17, 17, 17, 17, 0},
		{"mean without stddev", schema.Shape{Mean: p(9.6)}, 10, 10, 10, 10, 0},
		{"stddev 0", schema.Shape{Mean: p(12), StdDev: p(0)}, 12, 12, 12, 12, 0},
		{"normal", schema.Shape{Mean: p(100), StdDev: p(10)}, 50, 150, 100, 100, 1},
		// truncated at ½: mean 2 + 2·φ(−.75)/(1−Φ(−.75)) = 2.7787
		{"normal, truncated", schema.Shape{Mean: p(2), StdDev: p(2)}, 1, 12, 2.7787, 2.5, 0.6},
		{"normal, clamped", schema.Shape{Mean: p(100), StdDev: p(10), Min: p(90), Max: p(110)}, 90, 110, 100, 100, 1},
		{"lognormal", schema.Shape{Mean: p(120), Median: p(100)}, 5, 2000, 120, 100, 5},
		{"percentile", schema.Shape{P50: p(100), P99: p(200)}, 30, 400, 100 * math.Exp(0.5*math.Pow(math.Log(2)/2.3263, 2)), 100, 3},
		{"points", schema.Shape{Points: []schema.Point{{Value: 10, Weight: p(3)}, {Value: 20}}}, 10, 20, 12.5, 10, 0.3},
		{"peaks", schema.Shape{Peaks: []schema.Shape{{Value: p(10)}, {Mean: p(100), StdDev: p(1), Weight: p(3)}}}, 10, 110, 77.5, 100, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := synthetic(n, fixed(1))
			cfg.Prompts.OSL = &c.shape
			set := open(t, cfg, tok(t, "builtin"), 8, "profiling")
			values := make([]int64, n)
			sum := int64(0)
			for i := range values {
				values[i] = set.At(i).Turns[0].MaxTokens
				sum += values[i]
			}
			slices.Sort(values)
			if values[0] < c.low || values[n-1] > c.high {
				t.Errorf("values from %d to %d, want %d to %d", values[0], values[n-1], c.low, c.high)
			}
			if mean := float64(sum) / n; math.Abs(mean-c.mean) > c.width {
				t.Errorf("mean %g, want %g ± %g", mean, c.mean, c.width)
			}
			if median := float64(values[n/2]); math.Abs(median-c.median) > c.width {
				t.Errorf("median %g, want %g ± %g", median, c.median, c.width)
			}
		})
	}
}

func TestRefusedDatasets(t *testing.T) {
	t.Parallel()
	tk := tok(t, "builtin")
	shape := func(s schema.Shape) schema.Dataset { return synthetic(5, &s) }
	for _, c := range []struct {
		cfg  schema.Dataset
		want string
	}{
		{schema.Dataset{Name: "d", Type: "private"}, `dataset d: type "private": not one of synthetic, file, public`},
		{schema.Dataset{Name: "d", Sampling: "zigzag"}, `dataset d: sampling "zigzag": not one of sequential, random, shuffle`},
		{schema.Dataset{Name: "d", Type: "file"}, `dataset d: a file dataset needs a path or records`},
		{schema.Dataset{Type: "file", Path: "x", Format: "mooncake"}, `format "mooncake": not known; there are dag_jsonl, multi_turn,`},
		{synthetic(-1, fixed(1)), `dataset main: entries: -1 is not a count`},
		{synthetic(100000, fixed(100000)), `dataset main: entries: 100000 prompts of these lengths are more than 1024 MiB of text`},
		{synthetic(1<<30, fixed(1)), `dataset main: entries: a value of 1.073741824e+09 is above the limit of 4194304`},
		{shape(schema.Shape{Value: p(1e18)}), `dataset main: prompts.isl: a value of 1e+18 is above the limit of 4194304`},
		{shape(schema.Shape{Value: p(math.NaN())}), `dataset main: prompts.isl: a value of NaN is above the limit of 4194304`},
		{schema.Dataset{Name: "d", Turns: fixed(1e9)}, `dataset d: turns: a value of 1e+09 is above the limit of 65536`},
		{schema.Dataset{Name: "d", Prefix: &schema.Prefix{PoolSize: 1 << 16, Length: 1 << 22}}, `dataset d: prefix_prompts: 65536 prompts of 4194304 tokens are more than 1024 MiB of text`},
		{shape(schema.Shape{}), `dataset main: prompts.isl: no value, mean, median, p50, points or peaks`},
		{shape(schema.Shape{StdDev: p(3)}), `dataset main: prompts.isl: stddev without mean`},
		{shape(schema.Shape{Mean: p(-100), StdDev: p(3)}), `dataset main: prompts.isl: mean -100, stddev 3: nearly all values are below 1`},
		{shape(schema.Shape{Median: p(5), Mean: p(4)}), `dataset main: prompts.isl: a log-normal shape needs mean ≥ median > 0`},
		{shape(schema.Shape{P50: p(5)}), `dataset main: prompts.isl: a percentile shape needs p99 > p50 > 0`},
		{shape(schema.Shape{Value: p(1), Min: p(3), Max: p(2)}), `dataset main: prompts.isl: min 3 is above max 2`},
		{shape(schema.Shape{Points: []schema.Point{{Value: 1, Weight: p(-1)}}}), `dataset main: prompts.isl: weight -1: not a finite number from 0`},
		{shape(schema.Shape{Peaks: []schema.Shape{{}}}), `dataset main: prompts.isl: peaks[0]: no value, mean, median, p50, points or peaks`},
	} {
		set, err := dataset.Open(c.cfg, tk, 1, "profiling")
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Open(%+v) = %v, %v\nwant error %s", c.cfg, set, err, c.want)
		}
	}
}

func BenchmarkSynthetic(b *testing.B) {
	tk := tok(b, "builtin")
	for b.Loop() {
		open(b, synthetic(10000, fixed(512)), tk, 1, "profiling")
	}
}

func BenchmarkCorpus(b *testing.B) {
	tk := tok(b, "builtin")
	for b.Loop() {
		open(b, synthetic(1, fixed(1)), tk, 1, "profiling")
	}
}

const (
	golden0 = "strong ordered When the rapid color made the frozen palace, the poor cheese covered the plain dog again."
	golden1 = "modern bridge When the proud bear prepared the late palace, the poor engine imagined the long brother always."
)
