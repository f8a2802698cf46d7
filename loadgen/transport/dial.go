package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"aiperf.dev/aiperf/internal/record"
)

const (
	dialsAtOnce  = 128              // more only fill the server's accept queue
	dialTimeout  = 30 * time.Second // for an exchange without a nearer deadline
	probeTimeout = 10 * time.Second
	// A handshake takes two or three round trips. Who needs longer does not
	// speak TLS: a plain HTTP server waits for the rest of what looks to it like
	// a request line.
	handshakeTimeout = 5 * time.Second
)

var errNoHandshake = errors.New("no handshake")

// dial opens a connection that is kept to carry requests.
func (cl *Client) dial(ctx context.Context, t *target) (*conn, error) {
	cl.dials.Add(1)
	c, err := cl.open(ctx, t)
	if err != nil {
		return nil, err
	}
	t.connected.Store(cl.clock.Now())
	c.opening.dns = t.dns.Swap(record.None)
	if !cl.keep(c) {
		c.tcp.Close() //nolint:errcheck // the first error counts
		return nil, net.ErrClosed
	}
	return c, nil
}

// open opens a connection to t: the address whose turn it is, then the others.
func (cl *Client) open(ctx context.Context, t *target) (*conn, error) {
	select {
	case cl.dialing <- struct{}{}:
		defer func() { <-cl.dialing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	began := cl.clock.Now()
	tcp, tried, err := cl.connect(ctx, t)
	if err != nil {
		return nil, err
	}
	c, err := cl.newConn(t, tcp)
	if err != nil {
		tcp.Close() //nolint:errcheck // the first error counts
		return nil, err
	}
	now := cl.clock.Now()
	c.opening.dial, c.opening.late = now-began, unnoticed(now-tried, c.raw.roundTrip())
	if err := c.handshake(ctx); err != nil {
		tcp.Close() //nolint:errcheck // the first error counts
		return nil, err
	}
	return c, nil
}

// dialPrice is what a connection costs any client beside the round trip: system calls
// and a wake-up. Two busy cores take less for 99 of 100.
const dialPrice = 500 * time.Microsecond

// unnoticed is for how long a connection was open and this program did not see it, in
// ns, beyond dialPrice. took is from its first system call on; roundTrip is the
// handshake by the kernel's count, 0 where that is not known: then all of it is the network's.
func unnoticed(took, roundTrip int64) int64 {
	if roundTrip == 0 {
		return 0
	}
	return max(0, took-roundTrip-int64(dialPrice))
}

// connect makes the TCP connection, with the address that was tried last, from the time tried on.
func (cl *Client) connect(ctx context.Context, t *target) (conn *net.TCPConn, tried int64, err error) {
	var first error
	addrs := t.next()
	for i, addr := range addrs {
		within, cancel := share(ctx, len(addrs)-i)
		tried = cl.clock.Now()
		tcp, err := cl.dialAddr(within, addr)
		cancel()
		if err == nil {
			if i > 0 {
				t.retire(addrs[:i])
			}
			return tcp, tried, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, 0, first
}

// share is ctx with the n-th part of its time: an address that does not answer
// leaves time for those after it.
func share(ctx context.Context, n int) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok || n == 1 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Until(end)/time.Duration(n))
}

// dialAddr connects to addr from the source address whose turn it is. Without a
// list of them nothing is bound: a bind looks for a port that no connection to
// anywhere has, one that is closing included, which takes long and fails when
// many were closed a short while ago.
func (cl *Client) dialAddr(ctx context.Context, addr netip.AddrPort) (*net.TCPConn, error) {
	d := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true,
		Idle:   30 * time.Second, Interval: 15 * time.Second,
	}}
	if n := uint64(len(cl.sources)); n > 0 {
		d.Control = bindLate
		return d.DialTCP(ctx, "tcp", netip.AddrPortFrom(cl.sources[cl.sourceTurn.Add(1)%n], 0), addr)
	}
	c, err := d.DialContext(ctx, "tcp", addr.String()) // DialTCP would bind to the address 0
	if err != nil {
		return nil, err
	}
	return c.(*net.TCPConn), nil
}

// newConn wraps a fresh TCP connection. Nagle's delay is off: net does that.
func (cl *Client) newConn(t *target, tcp *net.TCPConn) (*conn, error) {
	c := &conn{cl: cl, t: t, tcp: tcp, nc: tcp, opening: &opening{tls: record.None}}
	raw, err := newRawConn(tcp, cl.clock.Now)
	if err != nil {
		return nil, err
	}
	c.raw = raw
	if err := c.raw.stampSocket(); err != nil {
		return nil, fmt.Errorf("receive stamps: %w", err)
	}
	c.resp.Sink = &c.rec
	c.rec.maxBody, c.rec.free = cl.maxBody, &cl.buffers
	if !c.resident() {
		timed := newTimedConn(tcp, cl.clock.Now)
		c.nc, c.src = timed, timed
	}
	return c, nil
}

// handshake puts TLS over the connection if its target wants it.
func (c *conn) handshake(ctx context.Context) error {
	if c.t.tls == nil {
		return nil
	}
	began := c.cl.clock.Now()
	stamped := newStampedConn(c.tcp, &c.raw, c.cl.clock.Now)
	over := tls.Client(stamped, c.t.tls)
	within, cancel := context.WithTimeout(ctx, c.cl.handshakeWithin)
	defer cancel()
	if err := over.HandshakeContext(within); err != nil {
		if within.Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("TLS: %w within %v; is this a plain http:// server?", errNoHandshake, c.cl.handshakeWithin)
		}
		return c.t.handshakeFailed(err)
	}
	c.nc, c.src = over, stamped
	c.opening.tls = c.cl.clock.Now() - began
	return nil
}
