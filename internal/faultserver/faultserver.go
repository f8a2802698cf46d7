// Package faultserver is a server for tests that does on each connection
// exactly what a script says: read a request, send these bytes, wait for the
// test, reset, close one half. In goes a script per connection, out come an
// address to send to and a log of the requests that were read.
//
//	s := faultserver.Start(t, faultserver.Script{
//		faultserver.Read(), faultserver.Send(faultserver.StreamHead()), faultserver.Reset(),
//	})
//	client.Do(s.URL() + "/v1/…")
package faultserver

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
)

// Server accepts connections and plays scripts on them.
type Server struct {
	l       net.Listener
	tls     *tls.Config
	scripts []Script
	stop    chan struct{}
	once    sync.Once

	mu       sync.Mutex
	accepted int
	peers    []string
	open     map[net.Conn]struct{}
	requests []Request
	words    map[string]chan struct{}
	told     map[string]bool
	done     sync.WaitGroup
}

// Request is one request a script read.
type Request struct {
	Conn   int // ordinal of the connection, from 0
	Path   string
	Header http.Header
	Host   string
	Body   []byte
}

// Script is what happens on one connection, step by step. After the last step
// the connection is closed in the orderly way.
type Script []Step

// Step is one thing to do; false ends the script.
type Step func(*Conn) bool

// Conn is a connection as steps see it.
type Conn struct {
	net.Conn
	In  *bufio.Reader
	tcp *net.TCPConn
	id  int
	s   *Server
}

// Start listens on loopback. The n-th connection gets the n-th script, later
// ones the last. The server ends with the test.
func Start(t testing.TB, scripts ...Script) *Server {
	return StartTLS(t, nil, scripts...)
}

// StartTLS is Start with TLS, if cfg is not nil.
func StartTLS(t testing.TB, cfg *tls.Config, scripts ...Script) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{
		l: l, tls: cfg, scripts: scripts, stop: make(chan struct{}), open: map[net.Conn]struct{}{},
		words: map[string]chan struct{}{}, told: map[string]bool{},
	}
	s.done.Add(1)
	go s.accept()
	t.Cleanup(s.Stop)
	return s
}

// URL is the server's base URL.
func (s *Server) URL() string {
	if s.tls != nil {
		return "https://" + s.Addr()
	}
	return "http://" + s.Addr()
}

// Addr is the server's host:port.
func (s *Server) Addr() string { return s.l.Addr().String() }

// Requests are the requests read so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Accepted counts the connections so far.
func (s *Server) Accepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

// Peers are the IP addresses that connections came from, in order.
func (s *Server) Peers() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.peers...)
}

// Stop closes the listener and every connection and waits for the scripts.
func (s *Server) Stop() {
	s.once.Do(func() { close(s.stop) })
	s.mu.Lock()
	for c := range s.open {
		c.Close() //nolint:errcheck // it may have ended by itself
	}
	s.mu.Unlock()
	s.l.Close() //nolint:errcheck // stopping twice is allowed
	s.done.Wait()
}

func (s *Server) stopping() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

func (s *Server) accept() {
	defer s.done.Done()
	for {
		nc, err := s.l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		id := s.accepted
		s.accepted++
		host, _, _ := net.SplitHostPort(nc.RemoteAddr().String()) //nolint:errcheck // a TCP address splits
		s.peers = append(s.peers, host)
		s.open[nc] = struct{}{}
		s.mu.Unlock()
		s.done.Add(1)
		go s.play(nc, id, s.scripts[min(id, len(s.scripts)-1)])
	}
}

func (s *Server) play(nc net.Conn, id int, script Script) {
	defer s.done.Done()
	c := &Conn{Conn: nc, tcp: nc.(*net.TCPConn), id: id, s: s}
	if s.tls != nil {
		c.Conn = tls.Server(nc, s.tls)
	}
	c.In = bufio.NewReader(c.Conn)
	for _, step := range script {
		if s.stopping() || !step(c) {
			break
		}
	}
	c.Conn.Close() //nolint:errcheck // it may be closed already
	s.mu.Lock()
	delete(s.open, nc)
	s.mu.Unlock()
}

// Read reads one request and logs it.
func Read() Step {
	return func(c *Conn) bool {
		r, err := http.ReadRequest(c.In)
		if err != nil {
			return false
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return false
		}
		c.s.mu.Lock()
		c.s.requests = append(c.s.requests, Request{
			Conn: c.id, Path: r.RequestURI, Header: r.Header, Host: r.Host,
			Body: body,
		})
		c.s.mu.Unlock()
		return true
	}
}

// Send writes text in one piece.
func Send(text string) Step {
	return func(c *Conn) bool {
		_, err := io.WriteString(c.Conn, text)
		return err == nil
	}
}

// Wait blocks until the test closes or sends on ready, or stops the server.
func Wait(ready <-chan struct{}) Step {
	return func(c *Conn) bool {
		select {
		case <-ready:
			return true
		case <-c.s.stop:
			return false
		}
	}
}

// Tell signals the test that the script came this far.
func Tell(reached chan<- struct{}) Step {
	return func(c *Conn) bool {
		select {
		case reached <- struct{}{}:
			return true
		case <-c.s.stop:
			return false
		}
	}
}

// UntilClosed reads and drops until the client closes its side.
func UntilClosed() Step {
	return func(c *Conn) bool {
		io.Copy(io.Discard, c.In) //nolint:errcheck // any end will do
		return true
	}
}

// Reset closes with a TCP reset.
func Reset() Step {
	return func(c *Conn) bool {
		c.tcp.SetLinger(0) //nolint:errcheck // best effort: the close follows
		c.tcp.Close()      //nolint:errcheck // the script ends here
		return false
	}
}

// CloseWrite ends our half of the connection and goes on reading.
func CloseWrite() Step {
	return func(c *Conn) bool { return c.tcp.CloseWrite() == nil }
}

// Loop repeats steps until one of them ends the script.
func Loop(steps ...Step) Step {
	return func(c *Conn) bool {
		for {
			for _, step := range steps {
				if !step(c) {
					return false
				}
			}
		}
	}
}

// Await blocks until the test calls Notify with word, or stops the server.
func Await(word string) Step {
	return func(c *Conn) bool { return Wait(c.s.noted(word))(c) }
}

// Notify lets the Await of word go on, whether it has begun or not.
func (s *Server) Notify(word string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.told[word] {
		s.told[word] = true
		close(s.word(word))
	}
}

func (s *Server) noted(word string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.word(word)
}

// word is the channel that Notify closes; s.mu is held.
func (s *Server) word(word string) chan struct{} {
	if s.words[word] == nil {
		s.words[word] = make(chan struct{})
	}
	return s.words[word]
}
