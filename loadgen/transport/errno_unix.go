//go:build unix

package transport

import (
	"net"
	"syscall"
)

// What the operating system calls the failures that are told apart.
var (
	errnoDescriptors = [...]syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM}
	errnoPorts       = [...]syscall.Errno{syscall.EADDRNOTAVAIL, syscall.EADDRINUSE}
	errnoClosed      = [...]syscall.Errno{syscall.ECONNRESET, syscall.EPIPE}
	errnoRefused     = [...]syscall.Errno{syscall.ECONNREFUSED}
	errnoUnreachable = [...]syscall.Errno{
		syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ENETDOWN,
		syscall.EHOSTDOWN,
	}
)

// wasReset reports whether the peer reset c.
func wasReset(c *net.TCPConn) bool {
	rc, err := c.SyscallConn()
	if err != nil {
		return false
	}
	var errno int
	rc.Control(func(fd uintptr) { //nolint:errcheck // c is open
		errno, _ = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ERROR)
	})
	return errno != 0
}
