package transport

import (
	"net"
	"sync"

	"aiperf.dev/aiperf/loadgen/transport/wire"
)

// pullSize is the buffer of a connection that is read through package net; it
// holds one TLS record.
const pullSize = 16 << 10

// timedConn is a connection whose reads are stamped when they return.
type timedConn struct {
	net.Conn
	clock  func() int64
	latest arrival
}

func newTimedConn(nc net.Conn, now func() int64) *timedConn {
	return &timedConn{Conn: nc, clock: now}
}

func (t *timedConn) Read(b []byte) (int, error) {
	n, err := t.Conn.Read(b)
	t.latest = arrival{now: t.clock(), seq: t.latest.seq + 1, whole: true}
	return n, err
}

func (t *timedConn) last() arrival { return t.latest }

// pull reads c until it ends, in plain reads: TLS, and platforms without raw
// reads. Without an error it ends because of what was received.
func (c *conn) pull() error {
	buf := c.cl.pages.Get().(*[]byte)
	defer c.cl.pages.Put(buf)
	var head wire.Head
	for {
		n, err := c.nc.Read(*buf)
		if n > 0 && !c.received((*buf)[:n], c.src.last(), &head) {
			return nil
		}
		c.echo()
		if err != nil {
			return err
		}
	}
}

// echo is called after each read of c, outside of its stamp.
func (c *conn) echo() {
	if !c.cl.kernelStamps {
		c.cl.echoes.read()
	}
}

func newPages() *sync.Pool {
	return &sync.Pool{New: func() any { b := make([]byte, pullSize); return &b }}
}
