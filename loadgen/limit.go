package loadgen

import (
	"time"

	"aiperf.dev/aiperf/internal/heap"
	"aiperf.dev/aiperf/internal/queue"
	"aiperf.dev/aiperf/loadgen/pace"
)

// limit counts slots of one kind. The zero value is unlimited.
type limit struct {
	on   bool
	max  int
	held int
	// opened holds, for each free slot, since when it is free: what the next
	// request of a closed loop was waiting for.
	opened queue.Queue[int64]
	grows  []time.Duration // when the limit grows by one each, from the phase's start
	// resting are slots that are held, by nobody, until a time; see outages.
	resting heap.Heap[moment]
}

// newLimit is a limit of n, 0 for none, that grows as steps say. It starts shut
// and opens with grow.
func newLimit(n int, steps []time.Duration) limit { return limit{on: n > 0, grows: steps} }

// full tells whether no slot is free.
func (l *limit) full() bool { return l.on && l.held >= l.max }

// freeBefore tells whether a slot has been free since before t.
func (l *limit) freeBefore(t int64) bool {
	return !l.on || l.opened.Len() > 0 && l.opened.First() < t
}

// take takes a slot and tells since when it was free.
func (l *limit) take(now int64) (since int64) {
	l.held++
	if l.opened.Len() == 0 {
		return now
	}
	return l.opened.Pop()
}

// release gives a slot back. While the limit is overdrawn, because it shrank,
// that repays the debt and frees nothing.
func (l *limit) release(at int64) {
	l.held--
	if l.on && l.held < l.max {
		l.opened.Push(at)
	}
}

// set changes the limit. Slots that are held stay held.
func (l *limit) set(n int, at int64) {
	for l.max < n {
		l.max++
		if l.held < l.max {
			l.opened.Push(at)
		}
	}
	l.max = n
	for l.opened.Len() > max(0, n-l.held) {
		l.opened.Pop()
	}
}

// grow opens the slots that are due at offset t of a phase that began at start.
func (l *limit) grow(start, t int64) {
	for len(l.grows) > 0 && int64(l.grows[0]) <= t {
		l.set(l.max+1, start+int64(l.grows[0]))
		l.grows = l.grows[1:]
	}
}

// next is when the limit grows again, never if it does not.
func (l *limit) next(start int64) int64 {
	if len(l.grows) == 0 {
		return pace.Never
	}
	return start + int64(l.grows[0])
}
