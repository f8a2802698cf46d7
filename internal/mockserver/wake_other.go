//go:build !linux

package mockserver

import "time"

// waker lets one goroutine sleep and others wake it.
type waker struct{ bell chan struct{} }

func newWaker() (*waker, error) { return &waker{make(chan struct{}, 1)}, nil }

func (w *waker) own() {}

// sleep waits at most d, or without limit if d < 0.
func (w *waker) sleep(d time.Duration, ready func() bool) {
	if d == 0 || ready() {
		return
	}
	var due <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		due = t.C
	}
	select {
	case <-due:
	case <-w.bell:
	}
}

func (w *waker) wake() {
	select {
	case w.bell <- struct{}{}:
	default:
	}
}

func (w *waker) close() {}
