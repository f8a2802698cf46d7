package seed_test

import (
	"testing"

	"aiperf.dev/aiperf/internal/seed"
)

// The expected values are sha256(8 bytes of root, name) by an outside tool.
func TestOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		root int64
		name string
		want uint64
	}{
		{0, "", 0xaf5570f5a1810b7a},
		{42, "arrivals", 0xa3c447b08fa81096},
		{-1, "arrivals", 0x1301cc8d15ab55d4},
	} {
		if got := seed.Of(c.root, c.name); got != c.want {
			t.Errorf("Of(%d, %q) = %#x, want %#x", c.root, c.name, got, c.want)
		}
	}
}

func TestStreamsAreRepeatableAndIndependent(t *testing.T) {
	t.Parallel()
	a, b, c := seed.Stream(7, "a"), seed.Stream(7, "a"), seed.Stream(7, "b")
	same := 0
	for range 100 {
		x, y, z := a.Uint64(), b.Uint64(), c.Uint64()
		if x != y {
			t.Fatalf("two streams of one name differ: %d, %d", x, y)
		}
		if x == z {
			same++
		}
	}
	if same > 0 {
		t.Errorf("streams a and b share %d of 100 values", same)
	}
}
