package main

import (
	"bytes"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// raw is the reference: one thread, one epoll, blocking connects, no parsing
// but a search for event ends, kernel stamps. What it needs is what the kernel
// takes.
func raw(j *job, tr *traffic) error {
	r := &rawClient{job: j, traffic: tr, conns: map[int]*rawConn{}}
	var err error
	if r.poll, err = newPoller(); err != nil {
		return err
	}
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) //nolint:errcheck // less exact without
	if err := r.connect(); err != nil {
		return err
	}
	return r.run()
}

type rawClient struct {
	*job
	*traffic
	poll  *poller
	conns map[int]*rawConn
	idle  []*rawConn
	rx    receiver
	buf   [64 << 10]byte
	head  []byte
	sent  int
	over  int
}

type rawConn struct {
	fd int
	s  sample
}

// most is how many connections are ever needed.
func (r *rawClient) most() int {
	if r.job.open() && r.Rate > 0 {
		return min(r.N, 256)
	}
	return max(r.Conns, r.N)
}

func (r *rawClient) connect() error {
	addr, err := netip.ParseAddrPort(r.Addr)
	if err != nil {
		return err
	}
	r.head = fmt.Appendf(nil, "POST /%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\nX-Request-ID: ",
		r.Path, len(requestBody))
	for range r.most() {
		fd, err := connect(addr)
		if err != nil {
			return err
		}
		if err := r.poll.add(fd); err != nil {
			return err
		}
		c := &rawConn{fd: fd}
		r.conns[fd] = c
		r.idle = append(r.idle, c)
	}
	return nil
}

// run sends what is due, waits, and reads what came, to the end.
func (r *rawClient) run() error {
	r.pauseServer()
	due := r.due()
	r.began = wall()
	for {
		if err := r.send(due); err != nil {
			return err
		}
		if r.finished() {
			return nil
		}
		for _, e := range r.poll.wait(r.wait(due)) {
			if err := r.read(r.conns[int(e.Fd)]); err != nil {
				return err
			}
		}
	}
}

func (r *rawClient) finished() bool {
	switch {
	case r.job.open():
		return r.over == r.N
	case r.Rounds > 0:
		return r.over == r.Rounds*r.Conns
	}
	return r.stop.Load()
}

// wait is the time to the next sending, or to a look at the stop flag.
func (r *rawClient) wait(due []int64) time.Duration {
	if r.sent < len(due) && len(r.idle) > 0 {
		return max(0, time.Duration(r.began+due[r.sent]-wall()))
	}
	return 50 * time.Millisecond
}

// send uses the idle connections.
func (r *rawClient) send(due []int64) error {
	for len(r.idle) > 0 {
		c := r.idle[len(r.idle)-1]
		intended := int64(0)
		switch {
		case r.job.open():
			if r.sent == r.N || r.Conns > 0 && r.sent-r.over >= r.Conns || r.began+due[r.sent] > wall() {
				return nil
			}
			intended = r.began + due[r.sent]
		case r.Rounds > 0 && r.sent == r.Rounds*r.Conns:
			return nil
		}
		r.idle = r.idle[:len(r.idle)-1]
		id := strconv.Itoa(r.sent)
		request := append(append(append(r.head, id...), "\r\n\r\n"...), requestBody...)
		c.s = sample{id: id, intended: intended, sent: wall()}
		r.sent++
		if !write(c.fd, request) {
			return fmt.Errorf("raw: a request was not taken whole")
		}
	}
	return nil
}

// read empties the socket once.
func (r *rawClient) read(c *rawConn) error {
	n, e := r.rx.recv(c.fd, r.buf[:])
	if e == unix.EAGAIN || e == unix.EINTR {
		return nil
	}
	if e != 0 || n == 0 {
		return fmt.Errorf("raw: the connection ended: %v", e)
	}
	b, at := r.buf[:n], r.rx.stamp
	if at == 0 {
		at = wall()
	}
	done := !r.Stream
	if r.Stream {
		r.count(c, b, at)
		done = bytes.HasSuffix(b, []byte("0\r\n\r\n"))
	} else {
		c.s.first, c.s.last = at, at
	}
	if done {
		r.requests.Add(1)
		r.over++
		if r.counted() {
			r.samples = append(r.samples, c.s)
		}
		r.idle = append(r.idle, c)
	}
	return nil
}

// count finds the events of a read.
func (r *rawClient) count(c *rawConn, b []byte, at int64) {
	found := 0
	for rest := b; ; {
		i := bytes.Index(rest, tsField)
		if i < 0 {
			break
		}
		if found++; found == 1 && r.Rounds > 0 && bytes.Count(b, tsField) == 1 {
			if sent := sentAt(rest[i:]); sent > 0 {
				r.errors = append(r.errors, float64(at-sent)/1e3)
			}
		}
		rest = rest[i+len(tsField):]
	}
	if found == 0 {
		return
	}
	r.events.Add(int64(found))
	if c.s.first == 0 {
		c.s.first = at
	}
	c.s.last = at
}
