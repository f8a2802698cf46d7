//go:build !(linux && (amd64 || arm64 || riscv64 || loong64 || ppc64le || s390x))

package transport

import (
	"errors"
	"net"
	"sync"
	"syscall"
)

// rawConn is empty here: connections are read and written through package net.
type rawConn struct{}

func newRawConn(*net.TCPConn, func() int64) (rawConn, error) { return rawConn{}, nil }

func (r *rawConn) roundTrip() int64 { return 0 }

func (r *rawConn) silent() int64 { return 0 }

func (r *rawConn) ok() bool { return false }

func (r *rawConn) wroteAt() int64 { return 0 }

func (r *rawConn) tryWrite(bool, []byte, []byte) (int, error) { return 0, errors.ErrUnsupported }

func (r *rawConn) stampSocket() error { return nil }

func (r *rawConn) resident(*conn) error { return errors.ErrUnsupported }

func newInboxes() *sync.Pool { return &sync.Pool{} }

func newLargeBuffers() *sync.Pool { return &sync.Pool{} }

func newStampedConn(tcp *net.TCPConn, _ *rawConn, now func() int64) *timedConn {
	return newTimedConn(tcp, now)
}

func bindLate(_, _ string, _ syscall.RawConn) error { return nil }

// kernelStamps says that the kernel's stamps cannot be had.
func kernelStamps() bool { return false }
