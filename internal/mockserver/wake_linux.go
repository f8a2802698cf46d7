package mockserver

import (
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// waker lets one goroutine sleep to the microsecond and others wake it. Go's
// own timers are late by up to a millisecond, because epoll counts in those.
type waker struct {
	fd       int
	sleeping atomic.Bool
}

func newWaker() (*waker, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	return &waker{fd: fd}, err
}

// own is called once by the goroutine that sleeps: it asks for the finest
// timers the kernel has, which is a property of the thread.
func (w *waker) own() {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // without it 50 µs late
}

// sleep waits at most d, or without limit if d < 0. ready is asked once more
// after others can see that we sleep, so that no wake is lost.
func (w *waker) sleep(d time.Duration, ready func() bool) {
	w.sleeping.Store(true)
	defer w.sleeping.Store(false)
	if d == 0 || ready() {
		return
	}
	var limit *unix.Timespec
	if d > 0 {
		t := unix.NsecToTimespec(int64(d))
		limit = &t
	}
	fds := []unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}}
	if n, _ := unix.Ppoll(fds, limit, nil); n > 0 {
		var b [8]byte
		_, _ = unix.Read(w.fd, b[:])
	}
}

func (w *waker) wake() {
	if w.sleeping.CompareAndSwap(true, false) {
		_, _ = unix.Write(w.fd, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	}
}

func (w *waker) close() { _ = unix.Close(w.fd) }
