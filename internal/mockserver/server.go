package mockserver

import (
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"aiperf.dev/aiperf/internal/mockserver/grpcserve"
	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/loadgen/tokenizer"
)

// Server is a running or startable server. Use New.
type Server struct {
	cfg     Config
	began   time.Time
	clock   func() int64 // ns since the server was made
	created int64        // Unix seconds, as answers tell it
	sched   *scheduler
	log     *logger
	counts  counts
	figures figures
	tok     tokenizer.Tokenizer
	know    *library // nil where it knows no questions
	levels  levels
	first   atomic.Int64  // 1 + ns since the server was made of what it was asked first, 0 before
	factor  atomic.Uint64 // bits of a float: on all times, as /slowdown set it; 0 for none
	jobs    jobs
	rpc     *grpcserve.Server

	listener net.Listener
	wait     sync.WaitGroup // accept loop and connections
	ran      sync.WaitGroup // scheduler

	crashed chan struct{} // closed when so many requests were in flight that it ends

	profiling atomic.Bool // somebody started the profiler

	mu     sync.Mutex
	conns  map[*connection]struct{}
	opened int64
	closed bool
}

// New makes a server that has not started.
func New(cfg Config) *Server {
	now := time.Now()
	s := &Server{
		cfg: cfg, began: now, clock: func() int64 { return int64(time.Since(now)) },
		created: now.Unix(), conns: map[*connection]struct{}{}, crashed: make(chan struct{}),
	}
	s.figures.cut(cfg.speaks())
	s.figures.cap = cfg.PowerCap
	s.figures.now, s.figures.slots = func() int64 { return s.clock() }, cfg.slots()
	return s
}

// now is ns since the server was made.
func (s *Server) now() int64 { return s.clock() }

// asked is how long before at the server was asked for the first time, in whatever
// way; 0 for what came before that and is looked at after it. A load of the model that
// began with the server would be over before a slow client comes to see it.
func (s *Server) asked(at int64) time.Duration {
	s.first.CompareAndSwap(0, 1+at)
	return time.Duration(max(0, 1+at-s.first.Load()))
}

// Start listens on 127.0.0.1 and returns the base URL; port 0 takes a free one.
func (s *Server) Start(port int) (string, error) {
	// loaded before the first request, whose first token it would delay
	var err error
	if s.tok, err = tokenizer.Open(s.cfg.Tokenizer); err != nil {
		return "", fmt.Errorf("mock-server: %w", err)
	}
	if s.know, err = s.cfg.Knows.read(s.cfg.Seed); err != nil {
		return "", fmt.Errorf("mock-server: %w", err)
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return "", fmt.Errorf("mock-server: %w", err)
	}
	if s.sched, err = newScheduler(s); err != nil {
		l.Close()
		return "", fmt.Errorf("mock-server: timer: %w", err)
	}
	if s.rpc, err = grpcserve.New(s.ask); err != nil {
		l.Close()
		return "", fmt.Errorf("mock-server: %w", err)
	}
	s.sched.engine.rng = seed.Stream(int64(s.cfg.Seed), "mock/engine")
	s.listener = l
	if s.cfg.Log != nil {
		s.log = newLogger(s.cfg.Log, s.began)
	}
	s.ran.Go(s.sched.run)
	s.wait.Go(s.accept)
	return "http://" + l.Addr().String(), nil
}

// Close ends every connection, abandons answers in progress and waits for all
// goroutines and for the log.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	conns := s.conns
	s.conns = nil
	s.mu.Unlock()
	err := s.listener.Close()
	for c := range conns {
		c.close()
	}
	s.sched.stop()
	s.rpc.Stop()
	s.wait.Wait()
	s.sched.end()
	s.ran.Wait()
	if s.log != nil {
		if logErr := s.log.close(); logErr != nil {
			return fmt.Errorf("mock-server log: %w", logErr)
		}
	}
	return err
}

func (s *Server) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			if s.isClosed() {
				return
			}
			time.Sleep(time.Millisecond) // out of descriptors: some will be free again
			continue
		}
		if conn := s.adopt(c.(*net.TCPConn)); conn != nil {
			s.wait.Go(conn.serve)
		}
	}
}

func (s *Server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// adopt registers a connection; nil when the server is closing.
func (s *Server) adopt(tcp *net.TCPConn) *connection {
	w, err := newWriter(tcp)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || err != nil {
		tcp.Close()
		return nil
	}
	c := &connection{server: s, tcp: tcp, w: w, ordinal: s.opened}
	s.opened++
	s.conns[c] = struct{}{}
	return c
}

func (s *Server) forget(c *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// serves reports whether a model is one of ours.
func (s *Server) serves(model string) bool {
	return len(s.cfg.Models) == 0 || slices.Contains(s.cfg.Models, model)
}

// models are the names listed at /v1/models.
func (s *Server) models() []string {
	if len(s.cfg.Models) == 0 {
		return []string{"mock-model"}
	}
	return s.cfg.Models
}
