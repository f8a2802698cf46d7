package loadgen

import "sync"

// mailbox hands work from many goroutines to a few. It never blocks a sender
// and never loses anything; what waits in it is bounded by what was sent out.
type mailbox[T any] struct {
	mu     sync.Mutex
	ready  sync.Cond
	urgent queue[T]
	other  queue[T]
	closed bool
}

func newMailbox[T any]() *mailbox[T] {
	m := &mailbox[T]{}
	m.ready.L = &m.mu
	return m
}

// put adds x; urgent ones are taken first.
func (m *mailbox[T]) put(x T, urgent bool) {
	m.mu.Lock()
	if urgent {
		m.urgent.push(x)
	} else {
		m.other.push(x)
	}
	m.mu.Unlock()
	m.ready.Signal()
}

// take waits for work; false when the mailbox is closed and empty.
func (m *mailbox[T]) take() (x T, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.urgent.len() == 0 && m.other.len() == 0 {
		if m.closed {
			return x, false
		}
		m.ready.Wait()
	}
	if m.urgent.len() > 0 {
		return m.urgent.pop(), true
	}
	return m.other.pop(), true
}

// close lets take end once everything has been taken.
func (m *mailbox[T]) close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.ready.Broadcast()
}
