package mockserver

import (
	"net"
	"syscall"
)

// writer hands bytes to a socket without ever waiting for the receiver: the
// scheduler has others to serve.
type writer struct {
	raw syscall.RawConn
	b   []byte
	n   int
	err error
	try func(fd uintptr) bool
}

func newWriter(c *net.TCPConn) (*writer, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	w := &writer{raw: raw}
	w.try = func(fd uintptr) bool {
		w.n, w.err = syscall.Write(int(fd), w.b)
		return true
	}
	return w, nil
}

// write returns how much the kernel took; less than all, without an error,
// when its buffer is full.
func (w *writer) write(b []byte) (int, error) {
	w.b = b
	if err := w.raw.Write(w.try); err != nil {
		return 0, err
	}
	if w.err == syscall.EAGAIN || w.err == syscall.EINTR {
		return 0, nil
	}
	return max(w.n, 0), w.err
}
