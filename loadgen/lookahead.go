package loadgen

import "sync/atomic"

// lookaheadBytes bounds the bodies that are rendered ahead of their time.
const lookaheadBytes = 256 << 20

// lookahead renders the first requests of sessions before they are due, so
// that at the due time only the write is left. One goroutine renders.
type lookahead struct {
	ready    chan *request // as many as ahead says
	starving atomic.Bool   // somebody found it empty
	stop     chan struct{}
	stopped  atomic.Bool
	filled   chan struct{} // closed when it has been full once, or is complete
	ended    chan struct{} // closed when the goroutine is gone
}

// newLookahead starts rendering with open, at most bound requests (0: no
// bound), keeping ahead of them ready.
func newLookahead(open func(index int64) (*request, bool), bound int64, ahead int, wake func()) *lookahead {
	l := &lookahead{stop: make(chan struct{}), filled: make(chan struct{}), ended: make(chan struct{})}
	first, ok := open(0)
	if bound > 0 {
		ahead = int(min(int64(ahead), bound))
	}
	if ok {
		ahead = max(1, min(ahead, lookaheadBytes/max(1, len(first.x.Body))))
	}
	l.ready = make(chan *request, ahead)
	go l.run(first, ok, open, bound, wake)
	return l
}

func (l *lookahead) run(r *request, ok bool, open func(int64) (*request, bool), bound int64, wake func()) {
	defer close(l.ended)
	full := false
	fill := func() {
		if !full {
			full = true
			close(l.filled)
		}
	}
	for i := int64(1); ok; i++ {
		select {
		case l.ready <- r:
		case <-l.stop:
			fill()
			return
		}
		if len(l.ready) == cap(l.ready) {
			fill()
		}
		if l.starving.Load() && l.starving.Swap(false) {
			wake()
		}
		if bound > 0 && i >= bound {
			break
		}
		r, ok = open(i)
	}
	close(l.ready)
	fill()
	wake()
}

func (l *lookahead) take() (r *request, over bool) {
	select {
	case r, ok := <-l.ready:
		return r, !ok
	default:
	}
	l.starving.Store(true)
	select { // it may have come just before starving was seen
	case r, ok := <-l.ready:
		return r, !ok
	default:
		return nil, false
	}
}

func (l *lookahead) close() {
	if !l.stopped.Swap(true) {
		close(l.stop)
	}
}

// wait returns when the goroutine is gone. close must have been called.
func (l *lookahead) wait() { <-l.ended }
