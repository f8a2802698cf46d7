package transport

import (
	"net"
	"syscall"

	"golang.org/x/sys/windows"
)

// What the operating system calls the failures that are told apart.
var (
	errnoDescriptors = [...]syscall.Errno{windows.WSAEMFILE, windows.WSAENOBUFS}
	errnoPorts       = [...]syscall.Errno{windows.WSAEADDRNOTAVAIL, windows.WSAEADDRINUSE}
	errnoClosed      = [...]syscall.Errno{windows.WSAECONNRESET, windows.WSAECONNABORTED}
	errnoRefused     = [...]syscall.Errno{windows.WSAECONNREFUSED}
	errnoUnreachable = [...]syscall.Errno{windows.WSAEHOSTUNREACH, windows.WSAENETUNREACH, windows.WSAENETDOWN}
)

// wasReset reports whether the peer reset c. Windows says so only to who reads or
// writes, so that it cannot be told here: a request may have been read.
func wasReset(*net.TCPConn) bool { return false }
