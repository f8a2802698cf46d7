package loadgen

import (
	"slices"

	"aiperf.dev/aiperf/internal/heap"
	"aiperf.dev/aiperf/internal/queue"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/loadgen/pace"
)

// waiting is what is to be sent: arrivals that have come, and follow-up turns,
// those that are due and those whose think time runs. It knows times and order
// and nothing of limits.
type waiting struct {
	arrivals mode.Arrivals // nil in a closed loop
	start    int64         // of the phase
	next     int64         // the next arrival, never when there is none

	ticks queue.Queue[int64]      // arrivals that have come
	turns queue.Queue[followTurn] // follow-ups that are due
	later heap.Heap[followTurn]   // follow-ups that are not

	arrived, arrivedAt int64 // arrivals so far, and the last of them
}

// followTurn is a turn that waits: when the schedule wants it, and from when on
// it can be sent, because the answer before it is there.
type followTurn struct {
	r             *request
	due, answered int64
}

// ready is when the turn can be sent.
func (t followTurn) ready() int64 { return max(t.due, t.answered) }

// Before orders turns by when they can be sent, equal ones by their sessions.
func (t followTurn) Before(u followTurn) bool {
	a, b := t.ready(), u.ready()
	return a < b || a == b && t.r.play.num < u.r.play.num
}

// begin looks up the first arrival.
func (w *waiting) begin(start int64) {
	w.start, w.next = start, pace.Never
	if w.arrivals != nil {
		w.advance()
	}
}

// advance looks up the next arrival.
func (w *waiting) advance() {
	w.next = pace.Never
	if at, ok := w.arrivals.Next(); ok {
		w.next = later(w.start, int64(at))
	}
}

// arrive notes that the next arrival has come.
func (w *waiting) arrive() {
	w.ticks.Push(w.next)
	w.arrived, w.arrivedAt = w.arrived+1, w.next
	w.advance()
}

// add takes a follow-up in.
func (w *waiting) add(t followTurn, now, end int64) {
	if at := t.ready(); at <= now && at < end {
		w.turns.Push(t)
	} else {
		w.later.Push(t)
	}
}

// ripen lets the turns go whose time has come before end.
func (w *waiting) ripen(now, end int64) {
	for w.later.Len() > 0 && w.later.Top().ready() <= now && w.later.Top().ready() < end {
		w.turns.Push(w.later.Pop())
	}
}

// ripens is when the next turn's time comes, never when none waits for it.
func (w *waiting) ripens() int64 {
	if w.later.Len() == 0 {
		return pace.Never
	}
	return w.later.Top().ready()
}

// hasten has all turns that wait for their time come earlier by so much. Their
// order is the same.
func (w *waiting) hasten(by int64) {
	all := w.later.All()
	for i := range all {
		all[i].due -= by
	}
}

// hastenTree has the turns of a tree that wait for their time come earlier by the same time, so that the first
// comes at latest then; not where one of them is due already.
func (w *waiting) hastenTree(t *tree, latest int64) {
	of := func(x followTurn) bool { return x.r.play.tree == t }
	if slices.ContainsFunc(w.turns.All(), of) {
		return
	}
	first := int64(pace.Never)
	for _, x := range w.later.All() {
		if of(x) {
			first = min(first, x.ready())
		}
	}
	if first == pace.Never || first <= latest {
		return
	}
	all := slices.Clone(w.later.All())
	w.later = heap.Heap[followTurn]{}
	for _, x := range all {
		if of(x) {
			x.due -= first - latest
		}
		w.later.Push(x)
	}
}

// exhausted reports whether no arrival will come any more, and none waits.
func (w *waiting) exhausted() bool {
	return w.arrivals != nil && w.next == pace.Never && w.ticks.Len() == 0
}

// clear hands everything that waits to those who drop it.
func (w *waiting) clear(tick func(due int64), turn func(followTurn)) {
	w.next = pace.Never
	for w.ticks.Len() > 0 {
		tick(w.ticks.Pop())
	}
	for w.turns.Len() > 0 {
		turn(w.turns.Pop())
	}
	for w.later.Len() > 0 {
		turn(w.later.Pop())
	}
}

// later is t + d without overflow.
func later(t, d int64) int64 {
	if d > pace.Never-t {
		return pace.Never
	}
	return t + d
}
