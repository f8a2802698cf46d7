//go:build linux && (amd64 || arm64 || riscv64 || loong64 || ppc64le || s390x)

package transport

import (
	"io"
	"net"
	"syscall"
	"time"
)

// The kernel begins to stamp packets some milliseconds after the first socket
// of the machine asked for it, and stops after the last one closed.
const (
	primePause = time.Millisecond
	primeTries = 100
)

// primeStamps makes the kernel stamp what is received, for as long as the
// returned socket is open, and tells whether it does: a byte is sent to
// ourselves until it comes with a stamp.
func primeStamps() (held io.Closer, works bool) {
	here, there, err := socketPair()
	if err != nil {
		return nil, false
	}
	defer there.Close() //nolint:errcheck // it was only for us
	raw, err := newRawConn(here.(*net.TCPConn), nil)
	if err != nil || raw.stampSocket() != nil {
		here.Close() //nolint:errcheck // the first error counts
		return nil, false
	}
	for range primeTries {
		if stampsByte(there, &raw) {
			return here, true
		}
		time.Sleep(primePause)
	}
	return here, false
}

// stampsByte sends a byte and tells whether it arrived with a stamp.
func stampsByte(there net.Conn, raw *rawConn) bool {
	if _, err := there.Write([]byte{0}); err != nil {
		return false
	}
	var rx receiver
	var b [1]byte
	err := raw.rc.Read(func(fd uintptr) bool {
		_, e := rx.recv(fd, b[:])
		return e != syscall.EAGAIN
	})
	return err == nil && rx.wall != 0
}
