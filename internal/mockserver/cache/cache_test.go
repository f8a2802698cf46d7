package cache_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"aiperf.dev/aiperf/internal/mockserver/cache"
)

func ids(from, n int) (out []int) {
	for i := range n {
		out = append(out, from+i)
	}
	return out
}

func TestKeysShareABeginning(t *testing.T) {
	t.Parallel()
	a := cache.Keys("m", ids(0, 20), 4)
	if len(a) != 5 || len(cache.Keys("m", ids(0, 23), 4)) != 5 || len(cache.Keys("m", nil, 4)) != 0 {
		t.Errorf("%d keys of 20 tokens", len(a))
	}
	other := ids(0, 20)
	other[9] = 99
	b := cache.Keys("m", other, 4)
	for i := range a {
		if same := a[i] == b[i]; same != (i < 2) {
			t.Errorf("block %d of prompts that part at token 9: same key %t", i, same)
		}
	}
	if c := cache.Keys("n", ids(0, 20), 4); c[0] == a[0] {
		t.Error("two models share their blocks")
	}
	if c := cache.Keys("m", ids(4, 16), 4); slices.Contains(a, c[0]) {
		t.Error("a block is known without what stood before it")
	}
}

// What was used last stays, and of one prompt its beginning.
func TestLeastRecentlyUsedGoes(t *testing.T) {
	t.Parallel()
	c := cache.New(4)
	a, b := cache.Keys("", ids(0, 12), 4), cache.Keys("", ids(100, 8), 4)
	for i, step := range []struct {
		keys  []uint64
		known int
	}{
		{a, 0},
		{a, 3},
		{b[:1], 0},
		{b, 1}, // full with a and one of b; the second of b drops the end of a
		{a, 2}, // and its return drops the end of b
		{b, 1},
		{cache.Keys("", ids(200, 40), 4), 0}, // larger than the cache: its beginning stays
		{cache.Keys("", ids(200, 40), 4), 4},
		{a, 0},
	} {
		if known := c.Ask(step.keys); known != step.known {
			t.Errorf("step %d: %d blocks known, want %d", i, known, step.known)
		}
		if c.Len() > 4 {
			t.Fatalf("step %d: %d blocks in room for 4", i, c.Len())
		}
	}
}

// The cache knows what a slow one knows, which searches all prompts.
func TestUnboundedCacheFindsTheLongestPrefix(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	c := cache.New(1 << 20)
	var prompts [][]int
	for range 300 {
		p := make([]int, r.IntN(24))
		for i := range p {
			p[i] = r.IntN(2)
		}
		want := 0
		for _, q := range prompts {
			n := 0
			for (n+1)*3 <= min(len(p), len(q)) && slices.Equal(p[:(n+1)*3], q[:(n+1)*3]) {
				n++
			}
			want = max(want, n)
		}
		if got := c.Ask(cache.Keys("m", p, 3)); got != want {
			t.Fatalf("%v: %d blocks known, want %d", p, got, want)
		}
		prompts = append(prompts, p)
	}
}
