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
		{0, 700, 700, 800},
		{4 * mb, 700, 700, 800},
		{8 * mb, 300, 300, 400},
		{16 * mb, 100, 100, 200},
		{20 * mb, 100, 60, 160},
		{32 * mb, 100, 38, 100},
		{48 * mb, 100, 25, 100},
		{64 * mb, 100, 20, 100},
		{1024 * mb, 100, 20, 100},
	} {
		if r, w, m := whileReading.percentOf(c.inUse), whileWriting.percentOf(c.inUse),
			whileMeasuring.percentOf(c.inUse); r != c.reading || w != c.writing || m != c.measuring {
			t.Errorf("%d MB in use: %d %%, %d %% and %d %%, want %d %%, %d %% and %d %%",
				c.inUse/mb, r, w, m, c.reading, c.writing, c.measuring)
		}
	}
}

// The limit of a process that has collected nothing so far is set again after the others,
// and ends with the first collection, also where that comes while another is kept.
func TestFirstCollection(t *testing.T) { // not parallel: the limit is the process's
	defer debug.SetGCPercent(debug.SetGCPercent(usualPercent))
	defer func(now bool) { first.now = now }(first.now)
	for name, keep := range map[string]func() (end func()){
		"writing": Writing,
		"reading": Reading, "measuring": Measuring,
	} {
		for _, when := range []string{"never", "before", "meanwhile", "afterwards"} {
			begin()
			at := func(moment string) {
				if when == moment {
					collected()
				}
			}
			at("before")
			end := keep()
			at("meanwhile")
			if p := limit(); p == usualPercent {
				t.Errorf("%s, collected %s: %d %% meanwhile", name, when, p)
			}
			end()
			at("afterwards")
			want := usualPercent
			if when == "never" {
				want = firstPercent
			}
			if p := limit(); p != want {
				t.Errorf("%s, collected %s: %d %% afterwards, want %d %%", name, when, p, want)
			}
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
