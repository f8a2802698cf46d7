package main

import (
	"fmt"
	"net/netip"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// poller is an epoll instance with waits to the nanosecond.
type poller struct {
	fd     int
	events [512]unix.EpollEvent
}

func newPoller() (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	return &poller{fd: fd}, err
}

func (p *poller) add(fd int) error {
	return unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

// wait returns the descriptors that can be read, after at most d; d < 0 waits
// without limit.
func (p *poller) wait(d time.Duration) []unix.EpollEvent {
	var limit *unix.Timespec
	if d >= 0 {
		ts := unix.NsecToTimespec(int64(d))
		limit = &ts
	}
	n, _, e := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.fd), uintptr(unsafe.Pointer(&p.events[0])),
		uintptr(len(p.events)), uintptr(unsafe.Pointer(limit)), 0, 0)
	if e != 0 {
		return nil
	}
	return p.events[:n]
}

// receiver reads a socket together with the kernel's receive stamp.
type receiver struct {
	msg   unix.Msghdr
	iov   unix.Iovec
	ctl   [64]byte
	stamp int64 // Unix ns of the newest byte of the last read; 0 without
}

// recv is one recvmsg: 0 bytes without an error is the end.
func (r *receiver) recv(fd int, b []byte) (int, unix.Errno) {
	r.iov.Base = &b[0]
	r.iov.SetLen(len(b))
	r.msg.Iov, r.msg.Iovlen = &r.iov, 1
	r.msg.Control = &r.ctl[0]
	r.msg.SetControllen(len(r.ctl))
	n, _, e := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&r.msg)), 0)
	r.stamp = 0
	if e == 0 && r.msg.Controllen > 0 {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&r.ctl[0]))
		if h.Level == unix.SOL_SOCKET && h.Type == unix.SCM_TIMESTAMPNS {
			r.stamp = (*unix.Timespec)(unsafe.Pointer(&r.ctl[unix.CmsgLen(0)])).Nano()
		}
	}
	return int(n), e
}

// prepare makes a connected socket non-blocking, undelayed and stamped.
func prepare(fd int) error {
	if err := unix.SetNonblock(fd, true); err != nil {
		return err
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return err
	}
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
}

// connect opens a prepared connection.
func connect(addr netip.AddrPort) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()}); err != nil {
		return 0, fmt.Errorf("connect to %v: %w", addr, err)
	}
	return fd, prepare(fd)
}

// write sends b whole or fails: nothing here sends more than a socket holds.
func write(fd int, b []byte) bool {
	n, _, e := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	return e == 0 && int(n) == len(b)
}

// wall is the wall clock, which kernel stamps are on.
func wall() int64 { return time.Now().UnixNano() }

// moreDescriptors lifts the soft limit on open files.
func moreDescriptors() error {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
		return err
	}
	r.Cur = r.Max
	return unix.Setrlimit(unix.RLIMIT_NOFILE, &r)
}
