//go:build !linux

package mockserver

import "net"

// writer hands bytes to a socket.
type writer struct{ c *net.TCPConn }

func newWriter(c *net.TCPConn) (*writer, error) { return &writer{c}, nil }

func (w *writer) write(b []byte) (int, error) { return w.c.Write(b) }
