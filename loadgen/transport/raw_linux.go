//go:build linux && (amd64 || arm64 || riscv64 || loong64 || ppc64le || s390x)

package transport

import (
	"io"
	"net"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"aiperf.dev/aiperf/loadgen/transport/wire"
)

// The buffers of a read; they are borrowed while a read is parsed. The large one
// is for connections on which the small one was filled. Most never need it, and
// a garbage collection may stop many readers in the middle of their reads: each
// keeps its buffer, and there are new ones for those who come after.
const (
	readSize      = 4 << 10
	largeReadSize = 64 << 10
)

// rawConn reads and writes a socket without waiting.
type rawConn struct {
	rc  syscall.RawConn
	out *outgoing
}

// outgoing is the argument block of a write, kept so that writing allocates
// nothing. It is guarded by the op.mu of the exchange that is written.
type outgoing struct {
	fn     func(fd uintptr) bool
	clock  func() int64
	iov    [2]syscall.Iovec
	pieces int
	check  bool // look for a close that is pending before writing
	peek   [1]byte
	n      int
	err    error
	at     int64
}

func newRawConn(tcp *net.TCPConn, now func() int64) (rawConn, error) {
	rc, err := tcp.SyscallConn()
	if err != nil {
		return rawConn{}, err
	}
	out := &outgoing{clock: now}
	out.fn = out.write
	return rawConn{rc: rc, out: out}, nil
}

// stampSocket asks for the kernel's receive stamp with each read.
func (r *rawConn) stampSocket() error {
	var err error
	if e := r.rc.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	}); e != nil {
		return e
	}
	return err
}

// roundTrip is how long the server took to answer the first packet of the connection,
// in ns; 0 where the kernel does not know, or had to send it again.
func (r *rawConn) roundTrip() (ns int64) {
	r.rc.Control(func(fd uintptr) { //nolint:errcheck // it fails only when closed already
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil && info.Total_retrans == 0 {
			ns = int64(info.Rtt) * 1000
		}
	})
	return ns
}

// silent is for how long, in ns, nothing has come from the peer at least. Its close
// counts, which no read's stamp tells.
func (r *rawConn) silent() (ns int64) {
	r.rc.Control(func(fd uintptr) { //nolint:errcheck // it fails only when closed already
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			ns = max(0, int64(info.Last_ack_recv)*1e6-int64(jiffy))
		}
	})
	return ns
}

func (r *rawConn) ok() bool { return r.rc != nil }

// wroteAt is the time just before the last tryWrite wrote.
func (r *rawConn) wroteAt() int64 { return r.out.at }

// tryWrite writes head and body as far as the socket takes them. With check it
// first looks whether the server has closed the connection, or said something
// unasked, and then writes nothing.
func (r *rawConn) tryWrite(check bool, head, body []byte) (int, error) {
	o := r.out
	o.check, o.n, o.err = check, 0, nil
	o.iov[0].Base, o.pieces = &head[0], 1
	o.iov[0].SetLen(len(head))
	if len(body) > 0 {
		o.iov[1].Base, o.pieces = &body[0], 2
		o.iov[1].SetLen(len(body))
	}
	err := r.rc.Write(o.fn)
	o.iov[0].Base, o.iov[1].Base = nil, nil
	if err == nil {
		err = o.err
	}
	return o.n, err
}

// write is one writev; a full socket is not an error. The raw calls do not
// tell the scheduler: the descriptor never blocks.
func (o *outgoing) write(fd uintptr) bool {
	if o.check {
		_, _, e := syscall.RawSyscall6(syscall.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(&o.peek[0])),
			1, syscall.MSG_PEEK|syscall.MSG_DONTWAIT, 0, 0)
		if e != syscall.EAGAIN && e != syscall.EINTR {
			o.err = io.EOF
			if e != 0 {
				o.err = e
			}
			return true
		}
	}
	o.at = o.clock()
	for {
		n, _, e := syscall.RawSyscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&o.iov[0])), uintptr(o.pieces))
		switch e {
		case 0:
			o.n = int(n)
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
		default:
			o.err = e
		}
		return true
	}
}

// receiver is the argument block of recvmsg.
type receiver struct {
	msg  syscall.Msghdr
	iov  syscall.Iovec
	ctl  [64]byte
	wall int64 // kernel's stamp of the last read, wall-clock ns; 0 without
}

// recv is one recvmsg into b.
func (r *receiver) recv(fd uintptr, b []byte) (int, syscall.Errno) {
	r.iov.Base = &b[0]
	r.iov.SetLen(len(b))
	r.msg.Iov, r.msg.Iovlen = &r.iov, 1
	r.msg.Control = &r.ctl[0]
	r.msg.SetControllen(len(r.ctl))
	n, _, e := syscall.RawSyscall(syscall.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&r.msg)), 0)
	r.wall = 0
	if e == 0 && int(r.msg.Controllen) >= syscall.CmsgLen(int(unsafe.Sizeof(syscall.Timespec{}))) {
		h := (*syscall.Cmsghdr)(unsafe.Pointer(&r.ctl[0]))
		if h.Level == syscall.SOL_SOCKET && h.Type == unix.SCM_TIMESTAMPNS {
			ts := (*syscall.Timespec)(unsafe.Pointer(&r.ctl[syscall.CmsgLen(0)]))
			r.wall = ts.Nano()
		}
	}
	return int(n), e
}

// inbox is a receiver with what reading needs, borrowed by resident readers.
type inbox struct {
	receiver
	buf  [readSize]byte
	head wire.Head
}

func newInboxes() *sync.Pool { return &sync.Pool{New: func() any { return new(inbox) }} }

func newLargeBuffers() *sync.Pool {
	return &sync.Pool{New: func() any { return new([largeReadSize]byte) }}
}

// resident reads c until it ends, all inside one RawConn.Read: its callback
// empties the socket and parks again.
func (r *rawConn) resident(c *conn) error {
	d := &drain{c: c}
	if err := r.rc.Read(d.readable); err != nil {
		return err
	}
	return d.err
}

// drain is a resident reader's state.
type drain struct {
	c   *conn
	seq uint64
	err error
}

// readable empties the socket into the parser; true when the connection is
// over. It reads until the kernel says there is nothing: an end that came
// together with the last bytes raises no second event. Only when the next
// request is on its way already may it skip that: sending looked for itself.
func (d *drain) readable(fd uintptr) bool {
	c := d.c
	in := c.cl.inboxes.Get().(*inbox)
	defer c.cl.inboxes.Put(in)
	buf := in.buf[:]
	for {
		n, e := in.recv(fd, buf)
		switch {
		case e == syscall.EAGAIN:
			return false
		case e == syscall.EINTR:
			continue
		case e != 0:
			d.err = e
			return true
		case n == 0:
			d.err = io.EOF
			return true
		}
		d.seq++
		a := arrival{wall: in.wall, now: c.cl.clock.Now(), seq: d.seq, whole: n < len(buf)}
		before := c.cur.Load()
		if !c.received(buf[:n], a, &in.head) {
			return true
		}
		c.echo()
		if after := c.cur.Load(); a.whole && after != before && after != nil {
			return false
		}
		if n == readSize && len(buf) == readSize {
			large := c.cl.large.Get().(*[largeReadSize]byte)
			defer c.cl.large.Put(large)
			buf = large[:]
		}
	}
}

// stampedConn is a TCP connection whose reads keep the kernel's stamp, for TLS
// to run over.
type stampedConn struct {
	*net.TCPConn
	rc      syscall.RawConn
	clock   func() int64
	records recordEdge

	rx   receiver
	into []byte
	n    int
	err  error
	fn   func(fd uintptr) bool

	latest arrival
}

func newStampedConn(tcp *net.TCPConn, raw *rawConn, now func() int64) *stampedConn {
	s := &stampedConn{TCPConn: tcp, rc: raw.rc, clock: now}
	s.fn = s.readable
	return s
}

// Read waits for bytes and notes when they came.
func (s *stampedConn) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	s.into = b
	err := s.rc.Read(s.fn)
	s.into = nil
	if err != nil {
		return 0, err
	}
	if s.n > 0 {
		s.records.feed(b[:s.n])
		return s.n, nil
	}
	return 0, s.err
}

func (s *stampedConn) readable(fd uintptr) bool {
	n, e := s.rx.recv(fd, s.into)
	for e == syscall.EINTR {
		n, e = s.rx.recv(fd, s.into)
	}
	switch {
	case e == syscall.EAGAIN:
		return false
	case e != 0:
		s.n, s.err = 0, e
	case n == 0:
		s.n, s.err = 0, io.EOF
	default:
		s.n = n
		s.latest = arrival{wall: s.rx.wall, now: s.clock(), seq: s.latest.seq + 1}
	}
	return true
}

// last tells when the last read got its bytes.
func (s *stampedConn) last() arrival {
	a := s.latest
	a.whole = s.records.atEdge()
	return a
}

// bindLate lets the kernel choose a port when the connection is made, which
// lets one port serve several destinations.
func bindLate(_, _ string, rc syscall.RawConn) error {
	var err error
	if e := rc.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	}); e != nil {
		return e
	}
	return err
}
