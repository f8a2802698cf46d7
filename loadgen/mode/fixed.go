package mode

import (
	"slices"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/schema/fields"
)

// What to do about settings of a schedule without one, and about settings of a
// rate in one.
const (
	byTimeStamps  = "play the records by their time stamps (--fixed-schedule)"
	saidByRecords = "the records say when to send (--no-fixed-schedule)"
)

var fixedSchedule = Mode{
	Name: "fixed_schedule", Title: "replay, each request at the time of its record",
	Doc: "A replay: every request at the time that its record names.",
	Takes: []fields.Setting{
		{Name: "auto_offset", Only: byTimeStamps},
		{Name: "start_offset", Only: byTimeStamps},
		{Name: "end_offset", Only: byTimeStamps},
	},
	Instead: map[string]string{"rate": saidByRecords, "rate_series": saidByRecords, "rate_ramp": "drop it"},
	Ends:    true, Timed: true, Varying: true, NeedsSet: true,
	Artifact: func(*schema.Phase, func(float64) string) string { return "fixed_schedule" },
	open: func(_ *Mode, p *schema.Phase, _ int64, set *dataset.Set) (Load, error) {
		f, err := newFixed(p, set)
		if err != nil {
			return Load{}, err
		}
		return Load{Arrivals: f, Sessions: &trace{set: set, rows: f.rows}, FollowUp: f.followUp, DueAt: f.dueAt}, nil
	},
}

// fixed replays a trace: conversations start at the time stamps of their first
// turns, counted from zero.
type fixed struct {
	set  *dataset.Set
	rows []row
	zero time.Duration // the trace's time that is the phase's start
	i    int
}

// row is one conversation of a trace inside the window.
type row struct {
	index int32         // in the set, which may make the conversation when it is played
	turns int32         // turns up to the end of the window
	at    time.Duration // trace time of its first turn
}

// newFixed takes the conversations whose first turn lies in the window
// [start offset, end offset]. Zero is the first of them (auto offset), the
// start offset, or 0. Rows before zero fire at once.
func newFixed(p *schema.Phase, set *dataset.Set) (*fixed, error) {
	f := &fixed{set: set}
	for i := range set.Len() {
		at, turns := set.Begins(i)
		if at == nil {
			return nil, errorf(p, "%w", diag.Errorf("conversation %s has no timestamp", set.Outline(i).ID).
				Try("a fixed schedule needs one in every first turn"))
		}
		if inside(p, *at) {
			if turns > 1 && p.EndOffset != nil {
				turns = turnsUntilEnd(p, set.Outline(i))
			}
			f.rows = append(f.rows, row{int32(i), int32(turns), *at})
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

// followUp is due by the trace's time where the turn has one, however late the
// answer before it is, else after the think time.
func (f *fixed) followUp(a Answered) (due int64, heldUp bool) {
	if a.Next.Timestamp == nil {
		return afterThinking(a)
	}
	return a.PhaseStart + int64(f.dueAt(a.Next)), false
}

// dueAt is when a stamped turn is due.
func (f *fixed) dueAt(t *dataset.Turn) time.Duration { return max(0, *t.Timestamp-f.zero) }

// trace plays the conversations of a fixed schedule, in its order.
type trace struct {
	set  *dataset.Set
	rows []row
	i    int
}

func (t *trace) Next() (n int64, c *dataset.Conversation, turns int, ok bool) {
	if t.i >= len(t.rows) {
		return 0, nil, 0, false
	}
	n = int64(t.i)
	t.i++
	r := t.rows[n]
	return n, t.set.Play(int(r.index), n), int(r.turns), true
}

// Skip leaves a conversation out.
func (t *trace) Skip() { t.i++ }

// inside reports whether trace time at lies in the window, both ends included.
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

// sends is when the stamped turns of the trace are due, of as many
// conversations as sessions says (0: all).
func (f *fixed) sends(_ int, sessions int64) []send {
	rows := f.rows
	if sessions > 0 {
		rows = rows[:min(int64(len(rows)), sessions)]
	}
	var all []send
	for n, r := range rows {
		if r.turns == 1 {
			all = append(all, send{max(0, r.at-f.zero), int64(n), 0})
			continue
		}
		at, c := r.at, f.set.Outline(int(r.index))
		for i := range r.turns {
			if ts := c.Turns[i].Timestamp; ts != nil {
				at = *ts
			} else {
				at += c.Turns[i].Delay
			}
			all = append(all, send{max(0, at-f.zero), int64(n), int(i)})
		}
	}
	slices.SortFunc(all, send.compare)
	return all
}
