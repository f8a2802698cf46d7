package loadgen

import (
	"math"
	"time"

	"aiperf.dev/aiperf/internal/heap"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/loadgen/pace"
)

// slots are the limits of a phase and who holds what of them.
type slots struct {
	sessions, wire, prefill limit

	gate          *limit // closed loop: the limit whose free slots are the arrivals
	capped        string // the second, lower limit that holds back a closed loop
	countsPrefill bool   // requests hold a prefill slot, here or in a phase that follows seamlessly
}

// newSlots prepares the limits and, in a closed loop, chooses those that are
// the arrivals: the outermost ones.
func newSlots(all [3]mode.Limit, closed bool) *slots {
	s := &slots{}
	most := 0
	for i, l := range s.all() {
		n := all[i].N
		*l = newLimit(n, all[i].Opens)
		switch {
		case n == 0 || !closed:
		case s.gate == nil:
			s.gate, most = l, n
		case n < most:
			s.capped = all[i].Name
		}
	}
	s.countsPrefill = s.prefill.on
	return s
}

// all are the limits, by mode.SessionSlots and its like.
func (s *slots) all() [3]*limit {
	return [...]*limit{mode.SessionSlots: &s.sessions, mode.WireSlots: &s.wire, mode.PrefillSlots: &s.prefill}
}

// grow opens the slots whose time has come, in a phase that began at start.
func (s *slots) grow(start, now int64) {
	for _, l := range s.all() {
		l.grow(start, now-start)
		l.wake(now)
	}
}

// grows is when the next slot opens by the clock.
func (s *slots) grows(start int64) int64 {
	return min(s.sessions.next(start), s.prefill.next(start), s.sessions.wakes(), s.wire.wakes(), s.prefill.wakes())
}

// target is how many requests may be under way, by the limits of the moment; 0
// when nothing limits them.
func (s *slots) target() int {
	n := 0
	for _, l := range [...]*limit{&s.sessions, &s.wire} {
		if most := l.max - l.resting.Len(); l.on && (n == 0 || most < n) {
			n = most
		}
	}
	return n
}

// full reports whether a request finds no slot; opening is one that opens a
// session.
func (s *slots) full(opening bool) bool {
	return s.wire.full() || s.prefill.full() || opening && s.sessions.full()
}

// freeBefore reports whether the slots for a request were free before t.
func (s *slots) freeBefore(t int64, opening bool) bool {
	return s.wire.freeBefore(t) && s.prefill.freeBefore(t) && (!opening || s.sessions.freeBefore(t))
}

// occupy takes r's slots and tells since when they are all free: an arrival
// that found them free was admitted when it was due, however late it is sent.
// In a closed loop it is since when the slot that was waited for is free.
func (s *slots) occupy(r *request, opening bool, now int64) (since int64) {
	since = math.MinInt64
	acquire := func(l *limit) {
		free := l.acquire(now)
		if l.on && (s.gate == nil || !opening || s.gate == l) {
			since = max(since, free)
		}
	}
	if opening {
		acquire(&s.sessions)
	}
	acquire(&s.wire)
	if s.countsPrefill {
		r.prefilling = true
		acquire(&s.prefill)
	}
	return since
}

// inherit takes over what the phase before, and those that it follows
// seamlessly itself, still hold.
func (s *slots) inherit(pred *slots) {
	to := s.all()
	for i, from := range pred.all() {
		to[i].held, to[i].resting = from.held, from.resting
		from.resting = heap.Heap[moment]{}
	}
}

// limit counts slots of one kind. The zero value is unlimited.
type limit struct {
	on   bool
	max  int
	held int
	// opened holds, for each free slot, since when it is free: what the next
	// request of a closed loop was waiting for.
	opened heap.Heap[moment]
	grows  []time.Duration // when the limit grows by one each, from the phase's start
	// resting are slots that are held, by nobody, until a time; see outages.
	resting heap.Heap[moment]
}

// newLimit is a limit of n, 0 for none, that grows as steps say. It starts shut
// and opens with grow.
func newLimit(n int, steps []time.Duration) limit { return limit{on: n > 0, grows: steps} }

// full reports whether no slot is free.
func (l *limit) full() bool { return l.on && l.held >= l.max }

// freeBefore reports whether a slot has been free since before t.
func (l *limit) freeBefore(t int64) bool {
	return !l.on || l.opened.Len() > 0 && int64(l.opened.Top()) < t
}

// acquire occupies a slot and tells since when it was free.
func (l *limit) acquire(now int64) (since int64) {
	l.held++
	if l.opened.Len() == 0 {
		return now
	}
	return int64(l.opened.Pop())
}

// release gives a slot back. While the limit is overdrawn, because it shrank,
// that repays the debt and frees nothing.
func (l *limit) release(at int64) {
	l.held--
	if l.on && l.held < l.max {
		l.opened.Push(moment(at))
	}
}

// set changes the limit. Slots that are held stay held.
func (l *limit) set(n int, at int64) {
	for l.max < n {
		l.max++
		if l.held < l.max {
			l.opened.Push(moment(at))
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

// moment is a time that something waits for.
type moment int64

// Before orders moments.
func (m moment) Before(n moment) bool { return m < n }

// rest takes a slot until a time.
func (l *limit) rest(until int64) {
	l.acquire(until)
	l.resting.Push(moment(until))
}

// wake gives back the slots that have rested.
func (l *limit) wake(now int64) {
	for l.resting.Len() > 0 && int64(l.resting.Top()) <= now {
		l.release(int64(l.resting.Pop()))
	}
}

// wakes is when the next slot has rested, never when none does.
func (l *limit) wakes() int64 {
	if l.resting.Len() == 0 {
		return pace.Never
	}
	return int64(l.resting.Top())
}
