package transport

import (
	"sync"
	"time"

	"aiperf.dev/aiperf/internal/record"
)

// flight knows every exchange that is under way and wakes for their deadlines.
// Its lock is the innermost one: nothing is called while it is held.
type flight struct {
	mu     sync.Mutex
	ring   op    // sentinel of the list of exchanges under way
	heap   []*op // those with a due time, earliest first
	closed bool
	wake   chan struct{} // capacity 1: the earliest due time changed, or closed
	active sync.WaitGroup
}

func newFlight() *flight {
	f := &flight{wake: make(chan struct{}, 1)}
	f.ring.prev, f.ring.next = &f.ring, &f.ring
	return f
}

// enter counts an activity that close has to wait for; false once closed.
func (f *flight) enter() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false
	}
	f.active.Add(1)
	return true
}

// add takes o in, with its deadline; false once closed.
func (f *flight) add(o *op) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false
	}
	f.active.Add(1)
	o.index = -1
	o.prev, o.next = f.ring.prev, &f.ring
	o.prev.next, o.next.prev = o, o
	if o.x.Deadline != record.None {
		o.due, o.dueStatus = o.x.Deadline, record.Timeout
		f.push(o)
	}
	return true
}

// arm brings o's due time forward to due, if it is earlier than the one it has.
func (f *flight) arm(o *op, due int64, status record.Status) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if o.next == nil || o.index >= 0 && o.due <= due {
		return
	}
	if o.index >= 0 {
		f.drop(o)
	}
	o.due, o.dueStatus = due, status
	f.push(o)
}

// remove lets go of o.
func (f *flight) remove(o *op) {
	f.mu.Lock()
	if o.index >= 0 {
		f.drop(o)
	}
	o.prev.next, o.next.prev = o.next, o.prev
	o.prev, o.next = nil, nil
	f.mu.Unlock()
}

// all lists the exchanges under way.
func (f *flight) all() []*op {
	f.mu.Lock()
	defer f.mu.Unlock()
	var ops []*op
	for o := f.ring.next; o != &f.ring; o = o.next {
		ops = append(ops, o)
	}
	return ops
}

// close refuses newcomers and ends run.
func (f *flight) close() {
	f.mu.Lock()
	f.closed = true
	f.signal()
	f.mu.Unlock()
}

func (f *flight) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// run calls expire for every exchange whose due time has come and tick at
// least once a second, until close.
func (f *flight) run(clock record.Clock, alarm alarm, expire func(*op, record.Status, int64), tick func()) {
	ticked := clock.Now()
	for {
		now := clock.Now()
		o, status, due, next, closed := f.pop(now)
		if closed {
			return
		}
		if o != nil {
			expire(o, status, due)
			continue
		}
		if now-ticked >= int64(time.Second) {
			tick()
			ticked = now
		}
		alarm.wait(min(next-now, int64(time.Second)), f.wake)
	}
}

// pop takes the earliest exchange off the heap if it is due, and says when the
// next one is.
func (f *flight) pop(now int64) (o *op, status record.Status, due, next int64, closed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	next = now + int64(time.Second)
	if len(f.heap) > 0 {
		next = f.heap[0].due
		if next <= now {
			o = f.heap[0]
			f.drop(o)
			return o, o.dueStatus, o.due, next, f.closed
		}
	}
	return nil, "", 0, next, f.closed
}

func (f *flight) push(o *op) {
	o.index = len(f.heap)
	f.heap = append(f.heap, o)
	f.up(o.index)
	if o.index == 0 {
		f.signal()
	}
}

func (f *flight) drop(o *op) {
	i, last := o.index, len(f.heap)-1
	f.swap(i, last)
	f.heap[last] = nil
	f.heap = f.heap[:last]
	if i < last {
		f.down(i)
		f.up(i)
	}
	o.index = -1
}

func (f *flight) swap(i, j int) {
	h := f.heap
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (f *flight) up(i int) {
	for i > 0 && f.heap[i].due < f.heap[(i-1)/2].due {
		f.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (f *flight) down(i int) {
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(f.heap); c++ {
			if f.heap[c].due < f.heap[least].due {
				least = c
			}
		}
		if least == i {
			return
		}
		f.swap(i, least)
		i = least
	}
}

// alarm waits on a Go timer, which wakes up to a millisecond late; what
// happened when is recorded as it was.
type alarm struct{ timer *time.Timer }

func newAlarm() alarm {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return alarm{t}
}

func (a alarm) wait(ns int64, wake <-chan struct{}) {
	a.timer.Reset(time.Duration(ns))
	select {
	case <-a.timer.C:
	case <-wake:
		a.timer.Stop()
	}
}
