package transport

import (
	"fmt"
	"math"
	"sync"
	"time"

	"aiperf.dev/aiperf/internal/alarm"
	"aiperf.dev/aiperf/internal/heap"
	"aiperf.dev/aiperf/internal/record"
)

// flight knows every exchange that is under way and wakes for their deadlines.
// Its lock is the innermost one: while it is held only the alarm is set.
type flight struct {
	clock record.Clock
	alarm *alarm.Alarm

	mu     sync.Mutex
	ring   op             // sentinel of the list of exchanges under way
	due    heap.Heap[*op] // those with a due time, earliest first
	until  int64          // when the alarm rings; the lowest number while run is awake
	closed bool
	active sync.WaitGroup
}

func newFlight(clock record.Clock) (*flight, error) {
	a, err := alarm.New()
	if err != nil {
		return nil, fmt.Errorf("timer for deadlines: %w", err)
	}
	f := &flight{clock: clock, alarm: a, until: math.MinInt64}
	f.ring.prev, f.ring.next = &f.ring, &f.ring
	f.due.Moved = func(o *op, i int) { o.index = i }
	return f, nil
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
		f.due.Remove(o.index)
	}
	o.due, o.dueStatus = due, status
	f.push(o)
}

// remove lets go of o.
func (f *flight) remove(o *op) {
	f.mu.Lock()
	if o.index >= 0 {
		f.due.Remove(o.index)
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
	f.ringAt(math.MinInt64)
	f.mu.Unlock()
}

// ringAt moves the alarm to due if run sleeps longer. f.mu is held, so that no
// other setting of the alarm comes in between.
func (f *flight) ringAt(due int64) {
	if due < f.until {
		f.until = due
		f.alarm.Set(max(due, 0) - f.clock.Now())
	}
}

// tickEvery is how often run calls tick at least.
const tickEvery = int64(time.Second)

// run calls expire for every exchange whose due time has come and tick at
// least once a second, until close.
func (f *flight) run(expire func(*op, record.Status, int64), tick func()) {
	defer f.alarm.Close()
	ticked := f.clock.Now()
	for {
		now := f.clock.Now()
		if now-ticked >= tickEvery {
			tick()
			ticked = now
		}
		switch o, status, due, closed := f.next(now); {
		case closed:
			return
		case o != nil:
			expire(o, status, due)
		default:
			f.alarm.Wait()
		}
	}
}

// next is an exchange that is due, or else sets the alarm.
func (f *flight) next(now int64) (o *op, status record.Status, due int64, closed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.until = math.MinInt64
	if f.closed {
		return nil, "", 0, true
	}
	if o, status, due = f.pop(now); o == nil {
		f.until = now + tickEvery
		if f.due.Len() > 0 {
			f.until = min(f.until, f.due.Top().due)
		}
		f.alarm.Set(f.until - f.clock.Now())
	}
	return o, status, due, false
}

// pop takes the earliest exchange off the heap if it is due.
func (f *flight) pop(now int64) (o *op, status record.Status, due int64) {
	if f.due.Len() == 0 || f.due.Top().due > now {
		return nil, "", 0
	}
	o = f.due.Pop()
	return o, o.dueStatus, o.due
}

// push takes o into the heap.
func (f *flight) push(o *op) {
	f.due.Push(o)
	if o.index == 0 {
		f.ringAt(o.due)
	}
}
