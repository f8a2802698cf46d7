package loadgen

import (
	"slices"
	"time"

	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/schema"
)

// Schedule is the first n offsets, from the start of the phase, at which p
// wants to send, without sending anything. In a closed loop they are those of
// the first send of each slot; the rest follows the answers. It is nil for
// fixed schedules and users, which ScheduleSet knows.
func Schedule(p schema.Phase, seed int64, n int) []time.Duration {
	offsets, err := ScheduleSet(p, seed, n, nil)
	if err != nil {
		return nil
	}
	return offsets
}

// ScheduleSet is Schedule for any mode: set is what the phase plays. Later
// turns of users and traces are listed when they are due if answers come in
// time; those that on_count lets through beyond the last request are not.
func ScheduleSet(p schema.Phase, seed int64, n int, set *dataset.Set) ([]time.Duration, error) {
	a, err := arrivals(&p, seed, set)
	if err != nil {
		return nil, err
	}
	var offsets []time.Duration
	switch a := a.(type) {
	case *users:
		offsets = a.sends(n, p.Sessions)
	case *fixed:
		offsets = a.sends(p.Sessions)
	default:
		if single := set != nil && set.Turns() == set.Len(); p.Sessions > 0 && (single || !openLoop(&p)) {
			n = int(min(int64(n), p.Sessions))
		}
		for len(offsets) < n {
			at, ok := a.Next()
			if !ok {
				break
			}
			offsets = append(offsets, at)
		}
	}
	return cut(&p, offsets, n), nil
}

// NeedsSet tells whether the schedule of p depends on what it plays.
func NeedsSet(p *schema.Phase) bool {
	return p.Type == typeFixed || p.Type == typeUsers || p.Sessions > 0
}

// cut keeps what the phase's bounds and n leave of a sorted schedule.
func cut(p *schema.Phase, offsets []time.Duration, n int) []time.Duration {
	if p.Requests > 0 {
		n = int(min(int64(n), p.Requests))
	}
	offsets = offsets[:min(n, len(offsets))]
	if p.Duration != nil {
		i, _ := slices.BinarySearch(offsets, p.Duration.Go())
		offsets = offsets[:i]
	}
	return offsets
}

// sends is when every turn of every user is due, at least n of them, or those
// of as many users as sessions says (0: all).
func (u *users) sends(n int, sessions int64) []time.Duration {
	gap := seconds(u.gap)
	var all []time.Duration
	for i := int64(1); ; i++ {
		at, _, turns := u.start()
		for t := range turns {
			all = append(all, at+time.Duration(t)*gap)
		}
		// Users start in order, so what lies before the latest start is complete.
		if last := i == sessions; last || len(all) >= n {
			slices.Sort(all)
			if last || all[n-1] <= at {
				return all
			}
		}
	}
}

// sends is when the stamped turns of the trace are due, of as many
// conversations as sessions says (0: all).
func (f *fixed) sends(sessions int64) []time.Duration {
	rows := f.rows
	if sessions > 0 {
		rows = rows[:min(int64(len(rows)), sessions)]
	}
	var all []time.Duration
	for _, r := range rows {
		at := r.at
		for i := range r.turns {
			if ts := r.conversation.Turns[i].Timestamp; ts != nil {
				at = *ts
			} else {
				at += r.conversation.Turns[i].Delay
			}
			all = append(all, max(0, at-f.zero))
		}
	}
	slices.Sort(all)
	return all
}
