package mockserver

import (
	"math"
	"net/http"
	"net/url"
	"time"

	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/loadgen/tokenizer"
)

// Virtual is the same server without sockets and goroutines, in a time that
// belongs to whoever owns it: thousands of runs against it are simulated in the
// time of one. It is not safe for concurrent use.
type Virtual struct{ server *Server }

// NewVirtual makes one; now is ns since it was made.
func NewVirtual(cfg Config, now func() int64) (*Virtual, error) {
	s := New(cfg)
	s.clock = now
	var err error
	if s.tok, err = tokenizer.Open(cfg.Tokenizer); err != nil {
		return nil, err
	}
	if s.know, err = cfg.Knows.read(cfg.Seed); err != nil {
		return nil, err
	}
	s.sched = &scheduler{server: s, active: map[*exchange]struct{}{}}
	s.sched.engine.rng = seed.Stream(int64(cfg.Seed), "mock/engine")
	if cfg.Log != nil {
		s.log = newLogger(cfg.Log, time.Unix(0, 0))
	}
	return &Virtual{s}, nil
}

// Slow makes all times that begin from now on so many times as long as they are set, as
// POST /slowdown does.
func (s *Virtual) Slow(factor float64) { s.server.factor.Store(math.Float64bits(factor)) }

// Crashed reports whether it has ended, as crash scripts it: it takes no connection any more.
func (s *Virtual) Crashed() bool { return s.server.sched.crashed }

// Page is what a GET of a page of metrics gives now, nil where there is none.
func (s *Virtual) Page(path string) []byte {
	if b := s.server.exposition(path); b != nil {
		return b
	}
	return s.server.gpuPage(path)
}

// Visit is one request to a virtual server.
type Visit struct {
	x  *exchange
	to func([]byte)
}

// write hands on what the server writes.
func (v *Visit) write(b []byte) (int, error) {
	v.to(b)
	return len(b), nil
}

// Ask brings a POST that arrives now. write gets the bytes of the answer as they
// are written, from Ask and from Work, and must not keep them; gone is told when the
// server closes the connection.
func (s *Virtual) Ask(path string, header http.Header, body []byte, write func([]byte), gone func()) *Visit {
	v := &Visit{to: write}
	c := &connection{server: s.server, w: v, gone: gone}
	v.x = c.exchange(&http.Request{Method: http.MethodPost, URL: &url.URL{Path: path}, Header: header}, body,
		s.server.now())
	s.server.sched.begin(v.x)
	return v
}

// Leave is a client that does not wait for the end of its answer.
func (v *Visit) Leave() { v.x.aborted.Store(true) }

// Next is when the server has something to do.
func (s *Virtual) Next() (at int64, ok bool) {
	a := &s.server.sched.agenda
	if a.Len() == 0 {
		return 0, false
	}
	return a.Top().at, true
}

// Work does what is due.
func (s *Virtual) Work() { s.server.sched.work() }

// Close abandons what is in progress and completes the log.
func (s *Virtual) Close() error {
	s.server.sched.abandon()
	if s.server.log == nil {
		return nil
	}
	return s.server.log.close()
}
