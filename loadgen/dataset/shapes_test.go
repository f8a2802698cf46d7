package dataset_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/schema"
)

// A set that is too large to be held writes the same conversations when they
// are played, in any order.
func TestLargeSetsSayTheSame(t *testing.T) {
	t.Parallel()
	const held, many = 2048, 2500
	for name, change := range map[string]func(*schema.Dataset){
		"plain": func(*schema.Dataset) {},
		"turns": func(d *schema.Dataset) {
			d.Turns, d.TurnDelay = &schema.Shape{Mean: p(3), StdDev: p(2)}, &schema.Shape{Mean: p(50), StdDev: p(20)}
		},
		"batch":       func(d *schema.Dataset) { d.Prompts.BatchSize = 3 },
		"answers":     func(d *schema.Dataset) { d.Prompts.OSL = &schema.Shape{Mean: p(20), StdDev: p(9)} },
		"pool":        func(d *schema.Dataset) { d.Prefix = &schema.Prefix{PoolSize: 3, Length: 7} },
		"system":      func(d *schema.Dataset) { d.Prefix = &schema.Prefix{SharedSystemLength: 9, UserContextLength: 5} },
		"own prompt":  func(d *schema.Dataset) { d.SystemPrompt = "be brief" },
		"shared rate": func(d *schema.Dataset) { d.Prefix = &schema.Prefix{HitRate: 0.5} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tk := tok(t, "o200k_base")
			make := func(entries int, seed int64) *dataset.Set {
				cfg := synthetic(entries, &schema.Shape{Mean: p(12), StdDev: p(4)})
				change(&cfg)
				return open(t, cfg, tk, seed, "profiling")
			}
			small, large := make(held, 3), make(many, 3)
			if large.Len() != many {
				t.Fatalf("%d conversations, want %d", large.Len(), many)
			}
			for k := range held / 16 {
				i := k * 16 * 7 % held // out of order
				got := large.At(i)
				if name == "shared rate" { // what is shared is spread over all
					continue
				}
				if diff := cmp.Diff(small.At(i), got); diff != "" {
					t.Fatalf("conversation %d: - held, + written when played\n%s", i, diff)
				}
				outline := large.Outline(i)
				for n := range got.Turns {
					a, b := &got.Turns[n], &outline.Turns[n]
					if a.ISL != b.ISL || a.MaxTokens != b.MaxTokens || a.Delay != b.Delay {
						t.Fatalf("turn %d of %d: its outline says %d, %d, %v; it has %d, %d, %v", n, i, b.ISL,
							b.MaxTokens, b.Delay, a.ISL, a.MaxTokens, a.Delay)
					}
				}
			}
			if large.Digest() != make(many, 3).Digest() || large.Digest() == make(many, 4).Digest() ||
				large.Digest() == make(many+1, 3).Digest() {
				t.Error("a digest does not follow the content")
			}
		})
	}
}

// BenchmarkManyEntries is what it takes to open a set of 100,000.
func BenchmarkManyEntries(b *testing.B) {
	tk := tok(b, "o200k_base")
	b.ReportAllocs()
	for b.Loop() {
		open(b, synthetic(100_000, fixed(16)), tk, 1, "profiling")
	}
}
