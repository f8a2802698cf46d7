//go:build unix

package transport

import "syscall"

// What the operating system calls the failures that are told apart.
var (
	errnoDescriptors = [...]syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM}
	errnoPorts       = [...]syscall.Errno{syscall.EADDRNOTAVAIL, syscall.EADDRINUSE}
	errnoClosed      = [...]syscall.Errno{syscall.ECONNRESET, syscall.EPIPE}
	errnoRefused     = [...]syscall.Errno{syscall.ECONNREFUSED}
	errnoUnreachable = [...]syscall.Errno{syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ENETDOWN, syscall.EHOSTDOWN}
)
