package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"aiperf.dev/aiperf/internal/heap"
)

// The server: one thread, one epoll, no more work than the answers need. What
// follows the words below in a path is ignored, so that a URL may end in them.
//
//	POST /json              a whole answer
//	POST /sse/N/GAP/FIRST   N events GAP µs apart, the first after FIRST µs
//	     …/SPREAD           and, from stream to stream, up to SPREAD µs more
//	POST /burst/N           N events at once
//	GET  /log               one line per request since the last /log: its
//	                        X-Request-ID, when the kernel had it, when the first
//	                        and the last event left, in Unix ns
//	GET  /pause/MS          then nothing happens for so long
//
// Every event holds "ts", the wall clock just before it was handed to the kernel.
type server struct {
	poll  *poller
	conns map[int]*serverConn

	listener *os.File // kept, or it would be closed when it is collected

	rx    receiver
	buf   [64 << 10]byte
	line  heap.Heap[*serverConn]
	event []byte // an event in a chunk of its own
	ts    int    // where its time stands
	log   bytes.Buffer
	begun int           // streams so far
	pause time.Duration // to be made when everything is read
}

type serverConn struct {
	fd   int
	in   []byte // what was read of a request
	dead bool

	// The stream in progress.
	id        string
	krx       int64
	first     int64
	next, gap int64 // Unix ns
	left      int
}

// Before orders streams in progress by their next event.
func (c *serverConn) Before(o *serverConn) bool { return c.next < o.next }

const (
	answerText = `{"id":"cmpl-1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"token"},"finish_reason":"stop"}]}`
	streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	streamEnd  = "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"
)

var wholeAnswer = fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
	len(answerText), answerText)

// serve prints its address and serves until its standard input ends.
func serve(out io.Writer) error {
	if err := moreDescriptors(); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	fmt.Fprintln(out, l.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin) //nolint:errcheck // any end will do
		os.Exit(0)
	}()
	runtime.LockOSThread()
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) //nolint:errcheck // less exact without
	s := &server{conns: map[int]*serverConn{}, listener: file}
	s.event, s.ts = event()
	if err := keepStamping(); err != nil {
		return err
	}
	if s.poll, err = newPoller(); err != nil {
		return err
	}
	listener := int(file.Fd())
	if err := unix.SetNonblock(listener, true); err != nil {
		return err
	}
	if err := s.poll.add(listener); err != nil {
		return err
	}
	for {
		s.send()
		for _, e := range s.poll.wait(s.idle()) {
			if int(e.Fd) == listener {
				s.accept(listener)
			} else if c := s.conns[int(e.Fd)]; c != nil {
				s.read(c)
			}
		}
		if s.pause > 0 {
			time.Sleep(s.pause)
			s.pause = 0
		}
	}
}

// keepStamping has the kernel stamp what is received for as long as this
// process lives: it takes some milliseconds to begin after the first socket of
// the machine asked for it, and stops after the last one.
func keepStamping() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1); err != nil {
		return err
	}
	time.Sleep(20 * time.Millisecond)
	return nil
}

// event is one as a chat completion streams it, and where its time stands.
func event() (b []byte, ts int) {
	data := `data: {"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1763700000,"ts":` +
		strings.Repeat("0", 19) +
		`,"model":"mock-model-8b-instruct","choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}]}` + "\n\n"
	b = fmt.Appendf(nil, "%x\r\n%s\r\n", len(data), data)
	return b, bytes.Index(b, []byte(`"ts":`)) + len(`"ts":`)
}

// stamped is the event with the time now.
func (s *server) stamped(now int64) []byte {
	strconv.AppendInt(s.event[:s.ts], now, 10)
	return s.event
}

// idle is how long nothing is due.
func (s *server) idle() time.Duration {
	if s.line.Len() == 0 {
		return -1
	}
	return max(0, time.Duration(s.line.Top().next-wall()))
}

// send writes the events that are due, 64 at most before reading again.
func (s *server) send() {
	for range 64 {
		now := wall()
		if s.line.Len() == 0 || s.line.Top().next > now {
			return
		}
		c := s.line.Top()
		switch {
		case c.dead:
			s.line.Pop()
			continue
		case c.left == 0:
			s.line.Pop()
			write(c.fd, []byte(streamEnd))
			s.note(c.id, c.krx, c.first, c.next-c.gap)
			continue
		}
		if c.first == 0 {
			c.first = now
		}
		write(c.fd, s.stamped(now))
		c.left--
		if c.next += c.gap; c.left == 0 {
			c.next, c.gap = now, 0 // the end follows at once; now is when the last event left
		}
		s.line.FixTop()
	}
}

func (s *server) note(id string, krx, first, last int64) {
	fmt.Fprintf(&s.log, "%s %d %d %d\n", id, krx, first, last)
}

func (s *server) accept(listener int) {
	for {
		fd, _, err := unix.Accept4(listener, unix.SOCK_CLOEXEC)
		if err != nil {
			return
		}
		if prepare(fd) != nil || s.poll.add(fd) != nil {
			unix.Close(fd)
			continue
		}
		s.conns[fd] = &serverConn{fd: fd}
	}
}

// read takes what came on c. The stamp of a read is the request's: clients wait
// for the answer before they send again.
func (s *server) read(c *serverConn) {
	n, e := s.rx.recv(c.fd, s.buf[:])
	if e == unix.EAGAIN || e == unix.EINTR {
		return
	}
	if e != 0 || n == 0 {
		delete(s.conns, c.fd)
		c.dead = true
		unix.Close(c.fd)
		return
	}
	c.in = append(c.in, s.buf[:n]...)
	head := bytes.Index(c.in, []byte("\r\n\r\n"))
	if head < 0 {
		return
	}
	length, _ := strconv.Atoi(field(c.in[:head], "Content-Length")) //nolint:errcheck // none is 0
	if len(c.in) < head+4+length {
		return
	}
	s.answer(c, c.in[:head], s.rx.stamp)
	c.in = c.in[:0]
}

// field is a header's value.
func field(head []byte, name string) string {
	i := bytes.Index(head, []byte("\r\n"+name+": "))
	if i < 0 {
		return ""
	}
	v := head[i+len(name)+4:]
	if j := bytes.IndexByte(v, '\r'); j >= 0 {
		v = v[:j]
	}
	return string(v)
}

func (s *server) answer(c *serverConn, head []byte, krx int64) {
	_, path, _ := strings.Cut(string(head[:bytes.IndexByte(head, '\r')]), " /")
	words := strings.Split(strings.TrimSuffix(path, " HTTP/1.1"), "/")
	arg := func(i int) int64 {
		if i >= len(words) {
			return 0
		}
		n, _ := strconv.ParseInt(words[i], 10, 64) //nolint:errcheck // none is 0
		return n
	}
	id := field(head, "X-Request-ID")
	switch words[0] {
	case "sse":
		write(c.fd, []byte(streamHead))
		c.id, c.krx, c.first, c.left = id, krx, 0, int(arg(1))
		_, part := math.Modf(float64(s.begun) * 0.6180339887) // evenly, whatever their number
		s.begun++
		c.gap, c.next = arg(2)*1000, krx+arg(3)*1000+int64(part*float64(arg(4)*1000))
		s.line.Push(c)
	case "burst":
		now := wall()
		all := append([]byte(streamHead), bytes.Repeat(s.stamped(now), int(arg(1)))...)
		write(c.fd, append(all, streamEnd...))
		s.note(id, krx, now, now)
	case "log":
		write(c.fd, fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n", s.log.Len()))
		s.dump(c.fd)
	case "pause":
		write(c.fd, []byte("HTTP/1.1 204 No Content\r\n\r\n"))
		s.pause = time.Duration(arg(1)) * time.Millisecond
	default:
		now := wall()
		write(c.fd, wholeAnswer)
		s.note(id, krx, now, now)
	}
}

// dump writes the log, which may be more than a socket holds, and forgets it.
func (s *server) dump(fd int) {
	unix.SetNonblock(fd, false) //nolint:errcheck // the connection ends here
	for s.log.Len() > 0 {
		n, err := unix.Write(fd, s.log.Bytes())
		if err != nil && err != unix.EINTR {
			break
		}
		s.log.Next(max(n, 0))
	}
	s.log.Reset()
	unix.Shutdown(fd, unix.SHUT_WR) //nolint:errcheck // the client has all of it
}
