package transport

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// alarm wakes one waiter at an absolute time. It is a timerfd read through the
// runtime's poller: some 40 µs late on an idle machine, where Go's own timers
// are late by half a millisecond, because the poller counts in milliseconds.
type alarm struct {
	file *os.File
	fd   int
	buf  [8]byte
}

func newAlarm() (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	return &alarm{file: os.NewFile(uintptr(fd), "timerfd"), fd: fd}, nil
}

// set makes wait return in left ns, instead of what was set before. It may be
// called while somebody waits.
func (a *alarm) set(left int64) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic("transport: clock_gettime: " + err.Error())
	}
	// Absolute: what passes between reading the clock and arming does not add up.
	at := now.Nano() + min(max(left, 0), int64(time.Hour))
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(at)}
	if err := unix.TimerfdSettime(a.fd, unix.TFD_TIMER_ABSTIME, &spec, nil); err != nil {
		panic("transport: timerfd_settime: " + err.Error())
	}
}

// wait returns when the alarm has rung, at most an hour after set.
func (a *alarm) wait() { a.file.Read(a.buf[:]) } //nolint:errcheck // a read that fails rings too early, which the waiter checks

func (a *alarm) close() { a.file.Close() } //nolint:errcheck // nothing was written to it
