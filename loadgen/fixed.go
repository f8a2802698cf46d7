package loadgen

import (
	"slices"
	"time"

	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/schema"
)

// fixed replays a trace: conversations start at the time stamps of their first
// turns, counted from zero.
type fixed struct {
	rows []row
	zero time.Duration // the trace's time that is the phase's start
	i    int
}

// row is one conversation of a trace inside the window.
type row struct {
	conversation *dataset.Conversation
	at           time.Duration // trace time of its first turn
	turns        int           // turns up to the end of the window
}

// newFixed takes the conversations whose first turn lies in the window
// [start offset, end offset]. Zero is the first of them (auto offset), the
// start offset, or 0. Rows before zero fire at once.
func newFixed(p *schema.Phase, set *dataset.Set) (*fixed, error) {
	if set == nil {
		return nil, errNoSet
	}
	f := &fixed{}
	for i := range set.Len() {
		c := set.At(i)
		if c.Turns[0].Timestamp == nil {
			return nil, errorf(p, "conversation %s has no timestamp; hint: a fixed schedule needs one in every first turn", c.ID)
		}
		if at := *c.Turns[0].Timestamp; inside(p, at) {
			f.rows = append(f.rows, row{c, at, turnsUntilEnd(p, c)})
		}
	}
	if len(f.rows) == 0 {
		return nil, errorf(p, "no conversation starts inside the window of the schedule")
	}
	slices.SortStableFunc(f.rows, func(a, b row) int { return sign(a.at - b.at) })
	switch {
	case p.AutoOffset != nil && *p.AutoOffset:
		f.zero = f.rows[0].at
	case p.StartOffset != nil:
		f.zero = ms(*p.StartOffset)
	}
	return f, nil
}

func (f *fixed) Next() (time.Duration, bool) {
	if f.i == len(f.rows) {
		return 0, false
	}
	f.i++
	return max(0, f.rows[f.i-1].at-f.zero), true
}

// inside tells whether trace time at lies in the window, both ends included.
func inside(p *schema.Phase, at time.Duration) bool {
	return (p.StartOffset == nil || at >= ms(*p.StartOffset)) && (p.EndOffset == nil || at <= ms(*p.EndOffset))
}

// turnsUntilEnd is how many turns of c come before the first one that is
// stamped after the end of the window.
func turnsUntilEnd(p *schema.Phase, c *dataset.Conversation) int {
	for i := range c.Turns {
		if ts := c.Turns[i].Timestamp; ts != nil && p.EndOffset != nil && *ts > ms(*p.EndOffset) {
			return i
		}
	}
	return len(c.Turns)
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func sign(d time.Duration) int {
	switch {
	case d < 0:
		return -1
	case d > 0:
		return 1
	}
	return 0
}
