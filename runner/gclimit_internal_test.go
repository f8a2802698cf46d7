package runner

import (
	"runtime/debug"
	"testing"
)

// A quarter of what is in use, 16 MB at least.
func TestGarbagePercent(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	for _, c := range []struct {
		inUse uint64
		want  int
	}{{0, 1600}, {1 * mb, 1600}, {8 * mb, 200}, {32 * mb, 50}, {48 * mb, 34}, {64 * mb, 25}, {1024 * mb, 25}} {
		if got := garbagePercent(c.inUse); got != c.want {
			t.Errorf("%d MB in use: %d %%, want %d %%", c.inUse/mb, got, c.want)
		}
	}
}

// What was set before is set again; a lower limit of the user's own never moves.
func TestGCLimitEnds(t *testing.T) { // not parallel: the limit is the process's
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	for _, before := range []int{100, 10, -1} {
		debug.SetGCPercent(before)
		end := LimitGC()
		during := debug.SetGCPercent(before)
		end()
		if after := debug.SetGCPercent(before); after != before {
			t.Errorf("%d %% before, %d %% after", before, after)
		}
		if own := before >= 0 && before < gcPercent; own && during != before {
			t.Errorf("%d %% before, %d %% meanwhile", before, during)
		}
	}
}
