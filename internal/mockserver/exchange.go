package mockserver

import (
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"aiperf.dev/aiperf/loadgen/endpoint"
)

// fate is what will go wrong with an answer.
type fate uint8

const (
	fine fate = iota
	fails
	cut
	html
	empty
	streamError
)

var fateNames = [...]string{"", "error", "cut", "html", "empty", "stream_error"}

// exchange is one request and its answer. The connection's goroutine fills it
// and submits it; from then until done is closed the scheduler owns it, except
// for aborted.
type exchange struct {
	conn    *connection
	n       int64 // ordinal of arrival among POSTs
	connReq int64
	call    endpoint.Call
	spec    *endpoint.Spec
	script  endpoint.Script // what the answer is written from
	fate    fate
	status  int
	reason  string        // why it is refused
	retry   time.Duration // when to come again, if the server can tell
	id      string

	path, requestID, sessionID string

	recv      int64 // ns: the whole request was read
	came      int64 // ns: the front end handed it to the engine; recv without one
	start     int64 // ns: its turn came; came where nothing makes it wait
	in, out   int   // tokens read, tokens to make
	keys      []uint64
	cached    int // tokens of the prompt that the cache held
	preempted int // times it lost its blocks
	made      int
	counted   int   // of these, in the figures
	firstAt   int64 // ns: the first token was made; 0 before
	lastAt    int64 // ns: the last one that is counted was
	booked    bool  // in the figures
	told      int   // tokens already put into events
	due       int64
	rng       *rand.Rand
	level     float64 // factor on all of its times
	slotted   bool    // holds a worker

	known *known // the question that it asks, where the server knows it
	said  string // what became of the answer to that

	buf     []byte // not yet taken by the kernel
	queued  int64  // bytes of the answer so far
	sent    int64  // of these, taken by the kernel
	marks   []mark
	stamped int // marks whose first byte the kernel has
	end     int64

	aborted  atomic.Bool // the client went away
	broken   bool        // a write failed
	retrying bool        // the kernel was full; a retry is planned
	closing  bool        // no request follows on this connection
	ended    bool        // the whole answer is queued
	lost     bool        // the client did not wait for the end
	done     chan struct{}
}

// mark is one event of the answer in the log.
type mark struct {
	at     int64 // ns: just before the kernel took its first byte
	from   int64 // offset of that byte in the answer
	bytes  int
	kind   string
	tokens int
}

// add queues bytes as one event.
func (x *exchange) add(kind string, tokens int, b []byte) {
	x.marks = append(x.marks, mark{from: x.queued, bytes: len(b), kind: kind, tokens: tokens})
	x.buf = append(x.buf, b...)
	x.queued += int64(len(b))
}

// event queues a payload as one HTTP chunk.
func (x *exchange) event(kind string, tokens int, payload []byte) {
	if len(payload) == 0 { // an empty chunk would end the answer
		return
	}
	b := make([]byte, 0, len(payload)+16)
	b = strconv.AppendInt(b, int64(len(payload)), 16)
	b = append(b, "\r\n"...)
	b = append(b, payload...)
	x.add(kind, tokens, append(b, "\r\n"...))
}

// flush gives the kernel what it takes, and stamps the events that begin in
// it. It reports whether nothing is left.
func (x *exchange) flush(now func() int64) bool {
	for len(x.buf) > 0 && !x.broken {
		at := now()
		n, err := x.conn.w.write(x.buf)
		if n == 0 && err == nil {
			return false
		}
		x.sent += int64(n)
		for x.stamped < len(x.marks) && x.marks[x.stamped].from < x.sent {
			x.marks[x.stamped].at = at
			x.stamped++
		}
		x.buf = x.buf[n:]
		x.broken = err != nil
	}
	x.buf = x.buf[:0]
	return true
}

// half is after how many tokens a broken answer breaks.
func (x *exchange) half() int { return (x.out + 1) / 2 }

// prepare writes the answer's script, once its length is known.
func (x *exchange) prepare() {
	s := x.conn.server
	x.script = endpoint.Script{
		ID: x.id, N: x.n, Created: s.created, Call: &x.call, In: x.in, Out: x.out,
		Cached: int(s.cfg.Cached * float64(x.in)), Caches: s.cfg.Cache > 0, Accepted: s.cfg.Accepted,
		Rejected: s.cfg.Rejected, Dims: s.cfg.Dims, Media: s.cfg.Media << 10,
		Usage: x.reports(), UsageEach: x.reportsEach(), UsageOff: s.cfg.Usage == UsageOff, Lie: s.cfg.Lie,
		Times: x.times,
		Rng:   x.rng, Words: func(b []byte, from, to int) []byte { return text(b, x.n, from, to) },
	}
	if x.spec.Served.Reasons {
		x.script.Reasoning = min(s.cfg.Reasoning, x.out)
	}
	if x.spec.Served.Calls {
		x.script.Calls = min(s.cfg.ToolCalls, x.out-x.script.Reasoning)
	}
}

// times are how long the prompt was read and tokens have been made, in ms: to
// the first token and from there to now.
func (x *exchange) times() (read, made float64) {
	now, first := x.conn.server.now(), x.conn.server.now()
	for _, m := range x.marks[:x.stamped] {
		if m.tokens > 0 {
			first = m.at
			break
		}
	}
	return float64(first-x.start) / 1e6, float64(now-first) / 1e6
}

// now is the script with the tokens made so far.
func (x *exchange) now() *endpoint.Script {
	x.script.Made = x.made
	return &x.script
}

// reports reports whether a stream ends with a usage report.
func (x *exchange) reports() bool {
	switch x.conn.server.cfg.Usage {
	case UsageOff:
		return false
	case UsageOn, UsageEach:
		return true
	}
	return x.call.IncludeUsage || !x.call.Stream
}

// reportsEach reports whether every chunk carries one.
func (x *exchange) reportsEach() bool {
	u := x.conn.server.cfg.Usage
	return u == UsageEach || (u != UsageOff && x.call.UsageEach)
}
