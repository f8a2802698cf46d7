package loadgen

import (
	"sync"
	"time"

	"aiperf.dev/aiperf/internal/queue"
)

// lookaheadBytes bounds the bodies that are rendered ahead of their time.
const lookaheadBytes = 256 << 20

// Rendering gives way to those who are pressed for so long, and so often.
const (
	giveWayFor = 2 * time.Millisecond
	givesWay   = 25
)

// lookahead renders the first requests of sessions before they are due, so
// that at the due time only the write is left. One goroutine renders.
type lookahead struct {
	most, low int         // how many are kept ready; at how many more are rendered
	wake      func()      // somebody found it empty, and it is not any more
	pressed   func() bool // there is more important work

	mu       sync.Mutex
	room     sync.Cond // what the renderer waits for
	ready    queue.Queue[*request]
	starving bool // somebody found it empty
	complete bool // all are rendered
	stopped  bool

	filled chan struct{} // closed when it has been full once, or is complete
	ended  chan struct{} // closed when the goroutine is gone
}

// newLookahead starts rendering with open, at most bound requests (0: no
// bound), keeping ahead of them ready. When it was full once, rendering goes on
// as soon as refill of them are missing, or half.
func newLookahead(
	open func() (*request, bool), bound int64, ahead, refill int, wake func(), pressed func() bool,
) *lookahead {
	l := &lookahead{wake: wake, pressed: pressed, filled: make(chan struct{}), ended: make(chan struct{})}
	l.room.L = &l.mu
	first, ok := open()
	if bound > 0 {
		ahead = int(min(int64(ahead), bound))
	}
	if ok {
		ahead = max(1, min(ahead, lookaheadBytes/max(1, len(first.x.Body))))
	}
	l.most, l.low = ahead, max(ahead-refill, ahead/2)
	go l.run(first, ok, open, bound)
	return l
}

func (l *lookahead) run(r *request, ok bool, open func() (*request, bool), bound int64) {
	defer close(l.ended)
	for i := int64(1); ok; i++ {
		if !l.put(r, i == int64(l.most)) {
			break
		}
		if bound > 0 && i >= bound {
			break
		}
		r, ok = open()
	}
	l.mu.Lock()
	l.complete = !l.stopped
	l.mu.Unlock()
	select {
	case <-l.filled:
	default:
		close(l.filled)
	}
	l.wake()
}

// put makes r ready, once there is room; false when it was stopped. full says
// that with r it has been full.
func (l *lookahead) put(r *request, full bool) bool {
	l.mu.Lock()
	if l.ready.Len() >= l.most {
		for l.ready.Len() > l.low && !l.stopped {
			l.room.Wait()
		}
		l.giveWay()
	}
	if l.stopped {
		l.mu.Unlock()
		return false
	}
	l.ready.Push(r)
	starving := l.starving
	l.starving = false
	l.mu.Unlock()
	if full {
		close(l.filled)
	}
	if starving {
		l.wake()
	}
	return true
}

// giveWay puts the rendering off while others are pressed, as long as enough is
// ready and not for ever. l.mu is held, but not while it waits.
func (l *lookahead) giveWay() {
	for range givesWay {
		if l.stopped || l.ready.Len() <= l.low/2 || !l.pressed() {
			return
		}
		l.mu.Unlock()
		time.Sleep(giveWayFor)
		l.mu.Lock()
	}
}

func (l *lookahead) next() (r *request, over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ready.Len() == 0 {
		l.starving = !l.complete
		return nil, l.complete
	}
	r = l.ready.Pop()
	if l.ready.Len() == l.low {
		l.room.Signal()
	}
	return r, false
}

func (l *lookahead) close() {
	l.mu.Lock()
	l.stopped = true
	l.mu.Unlock()
	l.room.Signal()
}

// wait returns when the goroutine is gone. close must have been called.
func (l *lookahead) wait() { <-l.ended }
