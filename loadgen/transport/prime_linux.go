//go:build linux && (amd64 || arm64 || riscv64 || loong64 || ppc64le || s390x)

package transport

import (
	"net"
	"sync"
	"syscall"
	"time"
)

// The kernel begins to stamp packets some time after the first socket of the
// machine asked for it, by a worker of its own, and stops after the last one
// closed. That takes a millisecond, or hundreds on a busy machine. So a process
// asks once, and keeps its socket open to its end: all runs of a plan have the
// same stamps.
const (
	primePause  = time.Millisecond
	primeWithin = 2 * time.Second
)

// primer asks the kernel for stamps, and sees whether they come. The kernel's
// switch is the machine's, so there is one primer for the process.
type primer struct {
	mu    sync.Mutex
	asked bool
	works bool
	there net.Conn // the other end; nil where stamps cannot be asked for
	raw   rawConn
}

var stamping primer

// kernelStamps reports whether the kernel stamps what is received. The first call
// waits for it; a later one asks once more where it did not yet.
func kernelStamps() bool { return stamping.ready(primeWithin, time.Sleep) }

// ready is kernelStamps, with how long the first call waits and how.
func (p *primer) ready(within time.Duration, pause func(time.Duration)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.asked {
		p.asked = true
		p.open()
		for began := time.Now(); p.there != nil && !p.works && time.Since(began) < within; {
			if p.works = p.stampsByte(); !p.works {
				pause(primePause)
			}
		}
	}
	if !p.works && p.there != nil {
		p.works = p.stampsByte()
	}
	return p.works
}

// open makes the socket that asks.
func (p *primer) open() {
	here, there, err := socketPair()
	if err != nil {
		return
	}
	if p.raw, err = newRawConn(here.(*net.TCPConn), nil); err != nil || p.raw.stampSocket() != nil {
		here.Close()  //nolint:errcheck // the first error counts
		there.Close() //nolint:errcheck // the first error counts
		return
	}
	p.there = there
}

// stampsByte sends a byte to ourselves and reports whether it arrived with a stamp.
func (p *primer) stampsByte() bool {
	if _, err := p.there.Write([]byte{0}); err != nil {
		return false
	}
	var rx receiver
	var b [1]byte
	err := p.raw.rc.Read(func(fd uintptr) bool {
		_, e := rx.recv(fd, b[:])
		return e != syscall.EAGAIN
	})
	return err == nil && rx.wall != 0
}
