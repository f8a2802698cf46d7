package loadgen

import (
	"sync"
	"time"
)

// mailbox hands work from many goroutines to a few. It never blocks a sender
// and never loses anything; what waits in it is bounded by what was sent out.
//
// What is not urgent lingers until there is more of it: waking a goroutine for
// every piece costs more than the piece, and takes a processor from those who
// measure. And it waits while those are pressed.
type mailbox[T any] struct {
	linger  time.Duration // how long the first piece waits for others; 0: not at all
	pressed func() bool   // tells whether there is more important work; may be nil

	mu     sync.Mutex
	ready  sync.Cond
	urgent queue[T]
	other  queue[T]
	due    bool        // other has lingered and is taken to its end
	waited int         // times that it was put off because of pressed
	timer  *time.Timer // makes it due
	armed  bool        // the timer runs
	closed bool
}

// patience is how often work is put off at most: what waits needs memory.
const patience = 5

func newMailbox[T any](linger time.Duration, pressed func() bool) *mailbox[T] {
	m := &mailbox[T]{linger: linger, pressed: pressed}
	m.ready.L = &m.mu
	return m
}

// put adds x; urgent ones are taken first, and at once.
func (m *mailbox[T]) put(x T, urgent bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case urgent:
		m.urgent.push(x)
		m.ready.Signal()
	case m.linger == 0 || m.due:
		m.due = true
		m.other.push(x)
		m.ready.Signal()
	default:
		m.other.push(x)
		m.arm()
	}
}

// arm starts the timer unless it runs. m.mu is held.
func (m *mailbox[T]) arm() {
	if m.armed {
		return
	}
	m.armed = true
	if m.timer == nil {
		m.timer = time.AfterFunc(m.linger, m.ripen)
		return
	}
	m.timer.Reset(m.linger)
}

// ripen lets everything be taken.
func (m *mailbox[T]) ripen() {
	m.mu.Lock()
	m.armed, m.due = false, m.other.len() > 0
	m.mu.Unlock()
	m.ready.Broadcast()
}

// take waits for work; false when the mailbox is closed and empty.
func (m *mailbox[T]) take() (x T, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		switch {
		case m.urgent.len() > 0:
			return m.urgent.pop(), true
		case m.other.len() > 0 && (m.closed || m.due && !m.putOff()):
			x = m.other.pop()
			if m.other.len() == 0 {
				m.due, m.waited = false, 0
			}
			return x, true
		case m.closed:
			return x, false
		}
		m.ready.Wait()
	}
}

// putOff lets what is due linger once more if there is reason to. m.mu is held.
func (m *mailbox[T]) putOff() bool {
	if m.pressed == nil || m.waited == patience || !m.pressed() {
		return false
	}
	m.waited++
	m.due = false
	m.arm()
	return true
}

// close lets take end once everything has been taken, which nothing delays
// any more.
func (m *mailbox[T]) close() {
	m.mu.Lock()
	m.closed = true
	if m.timer != nil {
		m.timer.Stop()
	}
	m.mu.Unlock()
	m.ready.Broadcast()
}
