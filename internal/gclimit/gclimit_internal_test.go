package gclimit

import (
	"runtime/debug"
	"testing"
)

// While results are written a fifth of what is in use, 12 MB at least; while a run goes on
// or an experiment is read as much as is in use, 32 MB at least in a run; and always until
// the heap has 32 MB.
func TestGarbagePercent(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	for _, c := range []struct {
		inUse                       uint64
		reading, writing, measuring int
	}{
		{0, 3100, 3100, 3200},
		{1 * mb, 3100, 3100, 3200},
		{8 * mb, 300, 300, 400},
		{16 * mb, 100, 100, 200},
		{20 * mb, 100, 60, 160},
		{32 * mb, 100, 38, 100},
		{48 * mb, 100, 25, 100},
		{64 * mb, 100, 20, 100},
		{1024 * mb, 100, 20, 100},
	} {
		if r, w, m := whileReading.percentOf(c.inUse), whileWriting.percentOf(c.inUse), whileMeasuring.percentOf(c.inUse); r != c.reading || w != c.writing || m != c.measuring {
			t.Errorf("%d MB in use: %d %%, %d %% and %d %%, want %d %%, %d %% and %d %%", c.inUse/mb, r, w, m, c.reading, c.writing, c.measuring)
		}
	}
}

// What was set before is set again; a lower limit of the user's own never moves,
// and while a run goes on none of the user's own does.
func TestGCLimitEnds(t *testing.T) { // not parallel: the limit is the process's
	defer debug.SetGCPercent(debug.SetGCPercent(usualPercent))
	for name, limit := range map[string]struct {
		begin func() (end func())
		own   func(before int) bool
	}{
		"writing":   {Writing, func(before int) bool { return before >= 0 && before < whileWriting.percent }},
		"reading":   {Reading, func(before int) bool { return before != usualPercent }},
		"measuring": {Measuring, func(before int) bool { return before != usualPercent }},
	} {
		for _, before := range []int{usualPercent, 10, 400, -1} {
			debug.SetGCPercent(before)
			end := limit.begin()
			during := debug.SetGCPercent(before)
			end()
			if after := debug.SetGCPercent(before); after != before {
				t.Errorf("%s: %d %% before, %d %% after", name, before, after)
			}
			if limit.own(before) && during != before {
				t.Errorf("%s: %d %% before, %d %% meanwhile", name, before, during)
			}
		}
	}
}
