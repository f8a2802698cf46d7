package mockserver

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"aiperf.dev/aiperf/internal/mockserver/cache"
	"aiperf.dev/aiperf/internal/mockserver/grpcserve"
	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/loadgen/endpoint"
)

// maxBody bounds a request body, in bytes.
const maxBody = 64 << 20

// connection is one client connection; its goroutine reads requests.
type connection struct {
	server  *Server
	tcp     *net.TCPConn
	w       sink
	ordinal int64
	rpc     bool   // calls by gRPC
	gone    func() // is told that it is closed, of a virtual server; may be nil
}

// sink takes the bytes of answers: less than all, without an error, when it is
// full.
type sink interface {
	write(b []byte) (int, error)
}

func (c *connection) close() {
	if c.tcp != nil {
		_ = c.tcp.Close()
	}
	if c.gone != nil {
		c.gone()
	}
}

// serve answers requests until the client or the server has had enough.
func (c *connection) serve() {
	defer c.server.forget(c)
	defer c.close()
	r := bufio.NewReaderSize(c.tcp, 32<<10)
	if first, _ := r.Peek(4); string(first) == grpcserve.Preface[:4] {
		c.procedures(r)
		return
	}
	for i := int64(0); ; i++ {
		req, err := http.ReadRequest(r)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
				_, _ = c.tcp.Write(failure(http.StatusBadRequest, "not an HTTP request", "invalid_request_error", 0))
			}
			return
		}
		if !c.answer(r, req, i) {
			return
		}
	}
}

// procedures hands a connection that speaks gRPC over, and waits for its end.
func (c *connection) procedures(r *bufio.Reader) {
	t := &taken{TCPConn: c.tcp, r: r, closed: make(chan struct{})}
	if c.server.rpc.Serve(t) {
		<-t.closed
	}
}

// taken is a connection of which something has been read already.
type taken struct {
	*net.TCPConn
	r      *bufio.Reader
	once   sync.Once
	closed chan struct{}
}

func (t *taken) Read(b []byte) (int, error) { return t.r.Read(b) }

func (t *taken) Close() error {
	t.once.Do(func() { close(t.closed) })
	return t.TCPConn.Close()
}

// writerFunc writes to a function.
type writerFunc func([]byte)

func (t writerFunc) write(b []byte) (int, error) {
	t(b)
	return len(b), nil
}

// ask is a call by gRPC, as a POST.
func (s *Server) ask(path string, header http.Header, body []byte, write func([]byte)) (<-chan struct{}, func()) {
	c := &connection{server: s, w: writerFunc(write), rpc: true}
	x := c.exchange(&http.Request{Method: http.MethodPost, URL: &url.URL{Path: path}, Header: header}, body, s.now())
	s.sched.submit(x)
	return x.done, func() { x.aborted.Store(true) }
}

// answer handles one request; false when the connection is of no further use.
func (c *connection) answer(r *bufio.Reader, req *http.Request, i int64) bool {
	if strings.EqualFold(req.Header.Get("Expect"), "100-continue") {
		_, _ = c.tcp.Write([]byte("HTTP/1.1 100 Continue\r\n\r\n"))
	}
	raw, err := io.ReadAll(io.LimitReader(req.Body, maxBody+1))
	if err != nil {
		return false
	}
	recv := c.server.now()
	closing := req.Close || len(raw) > maxBody
	if req.Method == http.MethodGet {
		if b := c.server.jobs.page(c.server, req.URL); b != nil {
			_, err := c.tcp.Write(b)
			return err == nil && !closing
		}
	}
	if req.Method == http.MethodPost && req.URL.Path == "/tokenize" { // a question about texts: no work of the engine's
		_, err := c.tcp.Write(c.server.tokenize(raw))
		return err == nil && !closing
	}
	if req.Method == http.MethodPost && req.URL.Path == "/slowdown" {
		_, err := c.tcp.Write(c.server.slow(raw))
		return err == nil && !closing
	}
	if req.Method == http.MethodPost {
		if b := c.server.administer(req.URL.Path); b != nil {
			_, err := c.tcp.Write(b)
			return err == nil && !closing
		}
	}
	if req.Method != http.MethodPost {
		_, err := c.tcp.Write(c.server.page(req))
		return err == nil && !closing
	}
	x := c.exchange(req, raw, recv)
	x.connReq, x.closing = i, closing
	c.server.sched.submit(x)
	// A client that goes away shows as the end of the stream; one that sends
	// its next request early just waits.
	_, err = r.Peek(1)
	if err != nil {
		x.aborted.Store(true)
	}
	<-x.done
	return err == nil && !closing
}

// exchange works out what a POST asks for and what will happen to it.
func (c *connection) exchange(req *http.Request, raw []byte, recv int64) *exchange {
	s := c.server
	x := &exchange{conn: c, recv: recv, out: 1, done: make(chan struct{})}
	x.n, x.level = s.levels.draw(&s.cfg)
	x.rng = seed.Stream(int64(s.cfg.Seed), "mock/request/"+strconv.FormatInt(x.n, 10))
	x.path, x.requestID, x.sessionID = req.URL.Path, req.Header.Get("X-Request-ID"), req.Header.Get("X-Correlation-ID")
	x.fate = draw(&s.cfg, x.rng.Float64())
	var model string
	if x.spec, model = route(req.URL.Path, c.rpc); x.spec == nil {
		x.refuse(http.StatusNotFound, "no such path: "+req.URL.Path)
		return x
	}
	x.id = x.spec.Type + "-" + strconv.FormatInt(x.n, 10)
	c.read(x, raw, req.Header, model)
	return x
}

// route finds the API that a path belongs to, and the model that stands in it.
// A path of / is an API of somebody's own.
func route(path string, rpc bool) (spec *endpoint.Spec, model string) {
	if path == "/" {
		spec, _ = endpoint.Lookup("raw")
		return spec, ""
	}
	for _, s := range endpoint.Catalogue() {
		if s.Path == "" {
			continue
		}
		if model, ok := modelIn(s.Path, path); ok {
			return s, model
		}
		if model, ok := modelIn(s.RPCStreamPath, path); ok && rpc {
			streams := *s
			streams.CanStream, streams.StreamPath = true, path
			return &streams, model
		}
		if s.Path == path || s.StreamPath != "" && s.StreamPath == path {
			return s, ""
		}
	}
	return nil, ""
}

// modelIn is the model's name in a path that has a place for it.
func modelIn(pattern, path string) (model string, ok bool) {
	before, after, named := strings.Cut(pattern, "{model}")
	rest, begins := strings.CutPrefix(path, before)
	model, ends := strings.CutSuffix(rest, after)
	return model, named && begins && ends && model != "" && !strings.Contains(model, "/")
}

// read fills the exchange from its body.
func (c *connection) read(x *exchange, raw []byte, header http.Header, model string) {
	s := c.server
	if len(raw) > maxBody {
		x.refuse(http.StatusRequestEntityTooLarge, "the body is larger than 64 MiB")
		return
	}
	var err error
	if x.call, err = x.spec.Served.Parse(raw, header.Get("Content-Type")); err != nil {
		x.refuse(http.StatusBadRequest, err.Error())
		return
	}
	if model != "" {
		x.call.Model = model
	}
	if x.path == x.spec.StreamPath || x.spec.Served.ByAccept &&
		strings.HasPrefix(header.Get("Accept"), "text/event-stream") {
		x.call.Stream = true // not asked for in the body
	}
	if !s.serves(x.call.Model) {
		x.refuse(http.StatusNotFound, fmt.Sprintf("model %q does not exist; served: %s",
			x.call.Model, strings.Join(s.models(), ", ")))
		return
	}
	x.known = s.know.find(x.call.Text)
	s.count(x)
	s.counts.input.Add(int64(x.in))
	x.call.Stream = x.call.Stream && x.spec.CanStream
	switch {
	case x.spec.ProducesTokens || x.spec.Served.Words:
		x.out = s.length(x)
	case x.call.Stream && x.spec.Served.Steps != nil:
		x.out = x.spec.Served.Steps(&x.call)
	}
	x.prepare()
	for _, name := range x.spec.Served.Texts { // nor its messages
		delete(x.call.Fields, name)
	}
}

// count counts the prompt and, for the cache, names its blocks. Blocks with
// media in them are not told apart, and so are not cached.
func (s *Server) count(x *exchange) {
	if s.cfg.Cache > 0 && x.call.Media == 0 {
		ids := append(s.tok.Encode([]int{}, x.call.Text), x.call.IDs...)
		x.in = len(ids)
		x.keys = cache.Keys(x.call.Model, ids, s.cfg.Block)
	} else {
		x.in = s.tok.Count(x.call.Text) + len(x.call.IDs)
	}
	x.call.Text, x.call.IDs = "", nil // a long prompt need not be kept
}

// length is how many tokens an answer gets.
func (s *Server) length(x *exchange) int {
	n := x.call.Asked
	if n == 0 {
		n = s.cfg.length(x.rng)
	}
	n = max(n, x.call.Least)
	if s.cfg.MaxOSL > 0 {
		n = min(n, s.cfg.MaxOSL)
	}
	return n
}

// refuse makes the scheduler answer with an error at once.
func (x *exchange) refuse(status int, reason string) {
	x.status, x.reason, x.fate = status, reason, fine
}

// draw picks a fate by a number from 0 to 1.
func draw(c *Config, u float64) fate {
	for _, f := range [...]struct {
		share float64
		fate  fate
	}{{c.ErrorRate, fails}, {c.Cut, cut}, {c.HTML, html}, {c.Empty, empty}, {c.StreamError, streamError}} {
		if u < f.share {
			return f.fate
		}
		u -= f.share
	}
	return fine
}
