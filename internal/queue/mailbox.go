package queue

import (
	"sync"
	"time"
)

// Mailbox hands work from many goroutines to a few. It never blocks a sender
// and never loses anything; what waits in it is bounded by what was sent out.
//
// What is not urgent lingers until there is more of it: waking a goroutine for
// every piece costs more than the piece, and takes a processor from those who
// measure. And it waits while those are pressed.
type Mailbox[T any] struct {
	linger  time.Duration // how long the first piece waits for others; 0: not at all
	pressed func() bool   // tells whether there is more important work; may be nil

	mu     sync.Mutex
	ready  sync.Cond
	urgent Queue[T]
	other  Queue[T]
	due    bool        // other has lingered and is taken to its end
	waited int         // times that it was put off because of pressed
	timer  *time.Timer // makes it due
	armed  bool        // the timer runs
	closed bool
}

// patience is how often work is put off at most: what waits needs memory.
const patience = 5

// NewMailbox is one whose work lingers; pressed reports whether there is more
// important work, and may be nil.
func NewMailbox[T any](linger time.Duration, pressed func() bool) *Mailbox[T] {
	m := &Mailbox[T]{linger: linger, pressed: pressed}
	m.ready.L = &m.mu
	return m
}

// Put adds x; urgent ones are taken first, and at once.
func (m *Mailbox[T]) Put(x T, urgent bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case urgent:
		m.urgent.Push(x)
		m.ready.Signal()
	case m.linger == 0 || m.due:
		m.due = true
		m.other.Push(x)
		m.ready.Signal()
	default:
		m.other.Push(x)
		m.arm()
	}
}

// arm starts the timer unless it runs. m.mu is held.
func (m *Mailbox[T]) arm() {
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

// ripen makes everything due.
func (m *Mailbox[T]) ripen() {
	m.mu.Lock()
	m.armed, m.due = false, m.other.Len() > 0
	m.mu.Unlock()
	m.ready.Broadcast()
}

// Pop waits for work; false when the mailbox is closed and empty.
func (m *Mailbox[T]) Pop() (x T, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		switch {
		case m.urgent.Len() > 0:
			return m.urgent.Pop(), true
		case m.other.Len() > 0 && (m.closed || m.due && !m.putOff()):
			x = m.other.Pop()
			if m.other.Len() == 0 {
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
func (m *Mailbox[T]) putOff() bool {
	if m.pressed == nil || m.waited == patience || !m.pressed() {
		return false
	}
	m.waited++
	m.due = false
	m.arm()
	return true
}

// Close lets Take end once everything has been taken, which nothing delays
// any more.
func (m *Mailbox[T]) Close() {
	m.mu.Lock()
	m.closed = true
	if m.timer != nil {
		m.timer.Stop()
	}
	m.mu.Unlock()
	m.ready.Broadcast()
}
