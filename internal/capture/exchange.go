package capture

import (
	"net/http"
	"sync"
	"time"

	"aiperf.dev/aiperf/loadgen/endpoint"
)

// exchange is one request and its answer, as they pass.
type exchange struct {
	c           *Capture
	spec        *endpoint.Spec
	arrived     time.Duration // times are since the capture began
	ended       time.Duration
	credentials []string // of its header lines: they are in no text that is kept

	request *tee
	// A request may still pass while its answer does.
	mu       sync.Mutex
	body     []byte
	held     int64 // of the bytes that a capture may hold
	complete bool  // the body was read to its end
	over     bool
	lost     string // why the body is not kept; "" while it is

	status int
	broken string // how it ended early; "" for not at all
	answer *answer
}

// How an exchange may end early, as the trace has it.
const (
	clientGone = "client_gone"
	serverGone = "server_gone"
	unreached  = "unreached"
)

// expect makes room for a body of n bytes.
func (e *exchange) expect(n int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.hold(n) {
		e.body = make([]byte, 0, n)
	}
}

// hold takes n more bytes of what a capture may hold, or gives the body up.
func (e *exchange) hold(n int64) bool {
	switch {
	case e.held+n > mostBody:
		e.lost = bodyTooLarge
	case e.c.held.Add(n) > mostBodies:
		e.c.held.Add(-n)
		e.lost = bodiesTooLarge
	default:
		e.held += n
		return true
	}
	e.body = nil
	return false
}

// read keeps a piece of the body.
func (e *exchange) read(b []byte, last bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over || e.complete {
		return
	}
	e.complete = last
	if e.lost != "" || len(b) == 0 {
		return
	}
	if more := int64(len(e.body)+len(b)) - e.held; more > 0 && !e.hold(max(more, min(e.held, mostBody-e.held))) {
		return
	}
	e.body = append(e.body, b...)
}

// begin takes the head of the answer.
func (e *exchange) begin(r *http.Response) {
	e.status = r.StatusCode
	e.answer = newAnswer(e.spec, r.Header, &e.c.words)
}

// saw takes a piece of the answer, which left at at.
func (e *exchange) saw(b []byte, at time.Duration) {
	if e.answer != nil && e.status < http.StatusBadRequest {
		e.answer.add(b, at)
	}
}

// finish hands the exchange over to be written down. An answer that did not pass to its
// end was broken off by one of the two.
func (e *exchange) finish(whole, gone bool) {
	e.ended = e.c.now()
	if e.answer != nil {
		e.answer.end(whole)
	}
	switch {
	case e.broken != "" || whole:
	case gone:
		e.broken = clientGone
	default:
		e.broken = serverGone
	}
	e.mu.Lock()
	e.over = true
	e.mu.Unlock()
	if !e.c.hand(e) {
		e.release()
		e.c.lose(tooFast)
	}
}

// release gives back what was held.
func (e *exchange) release() {
	e.c.held.Add(-e.held)
	e.body, e.held = nil, 0
	if e.answer != nil {
		e.answer.release()
	}
}
