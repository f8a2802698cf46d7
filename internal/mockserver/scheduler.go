package mockserver

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"aiperf.dev/aiperf/internal/heap"
	"aiperf.dev/aiperf/internal/mockserver/cache"
)

// scheduler owns every answer in progress: one goroutine, woken by new
// exchanges and by the next moment at which something is due.
type scheduler struct {
	server *Server
	waker  *waker

	mu       sync.Mutex
	incoming []*exchange
	stopping bool // what is in progress, and what still comes, is abandoned
	ended    bool // nothing comes any more

	agenda  heap.Heap[moment]
	planned int64 // so many moments have been
	engine  engine
	workers workers
	bucket  bucket
	cache   *cache.Cache // nil before the first request asks it
	forget  atomic.Bool  // the cache is to be empty for the next request
	active  map[*exchange]struct{}
	first   int64 // when the first request came; 0 before
	front   int64 // when the front end is free again
	paused  struct{ from, to int64 }

	overloaded bool // for good
	crashed    bool
}

// moment is something to do at a time.
type moment struct {
	at    int64
	order int64 // ties are done in the order they were planned
	do    func(at int64)
}

// Before orders by time, then by plan.
func (m moment) Before(o moment) bool {
	if m.at != o.at {
		return m.at < o.at
	}
	return m.order < o.order
}

func newScheduler(s *Server) (*scheduler, error) {
	w, err := newWaker()
	return &scheduler{server: s, waker: w, active: map[*exchange]struct{}{}}, err
}

// submit hands an exchange over; x.done closes when it has been answered.
func (s *scheduler) submit(x *exchange) {
	s.mu.Lock()
	s.incoming = append(s.incoming, x)
	s.mu.Unlock()
	s.waker.wake()
}

// stop abandons every answer in progress, and from now on every new one: who
// waits for one goes on.
func (s *scheduler) stop() {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	s.waker.wake()
}

// end makes run return; it comes after stop, when nobody can submit any more.
func (s *scheduler) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.waker.wake()
}

// ready reports whether there is news from outside.
func (s *scheduler) ready() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended || len(s.incoming) > 0 || s.stopping && len(s.active) > 0
}

func (s *scheduler) run() {
	s.waker.own()
	defer s.waker.close()
	for {
		s.mu.Lock()
		news, stopping, ended := s.incoming, s.stopping, s.ended
		s.incoming = nil
		s.mu.Unlock()
		for _, x := range news {
			s.begin(x)
		}
		switch {
		case stopping:
			s.abandon()
			if ended {
				return
			}
			s.waker.sleep(-1, s.ready)
		default:
			s.work()
			s.waker.sleep(s.untilNext(), s.ready)
		}
	}
}

// plan puts something on the agenda; what falls into the pause waits for its end.
func (s *scheduler) plan(at int64, do func(at int64)) {
	if at >= s.paused.from && at < s.paused.to {
		at = s.paused.to
	}
	s.planned++
	s.agenda.Push(moment{at, s.planned, do})
}

// work does all that is due.
func (s *scheduler) work() {
	for s.agenda.Len() > 0 && s.agenda.Top().at <= s.server.now() {
		m := s.agenda.Pop()
		m.do(m.at)
	}
}

// untilNext is the time to sleep, -1 for as long as nothing happens.
func (s *scheduler) untilNext() time.Duration {
	if s.agenda.Len() == 0 {
		return -1
	}
	return max(0, time.Duration(s.agenda.Top().at-s.server.now()))
}

// begin takes a new exchange: refused ones are answered at once, the others
// get their place in time.
func (s *scheduler) begin(x *exchange) {
	s.active[x] = struct{}{}
	c := &s.server.cfg
	if s.crashed || c.Crash > 0 && len(s.active) >= c.Crash {
		s.crash()
		return
	}
	if s.first == 0 {
		s.first = max(1, x.recv)
		if c.PauseFor > 0 {
			s.paused.from = x.recv + int64(c.PauseAt)
			s.paused.to = s.paused.from + int64(c.PauseFor)
		}
	}
	if x.status == 0 {
		s.server.know.tell(x, &c.Knows, len(s.active), s.server.tok)
	}
	s.overloaded = s.overloaded || s.server.cfg.Overload.at(len(s.active)) != 1
	s.admit(x)
	x.came, x.start = x.recv, x.recv
	if x.status != 0 || x.fate == fails || x.fate == html {
		s.plan(x.recv, func(int64) { s.refuse(x) })
		return
	}
	s.find(x)
	s.server.figures.arrived(x, c.Cache > 0)
	s.open(x)
	if c.Front > 0 {
		s.front = max(s.front, x.recv) + s.took(x, c.Front, 0, x.recv)
		x.came, x.start = s.front, s.front
	}
	switch {
	case x.spec.Next != nil: // a job: it is made after the answer
		x.due = x.came
		s.plan(x.due, func(int64) { s.step(x) })
	case c.Step > 0:
		s.plan(x.came+s.took(x, c.TTFT, c.TTFTSpread, x.came), func(at int64) { s.engine.enter(s, x, at) })
	case c.Workers > 0 && c.Front > 0:
		s.plan(x.came, func(int64) { s.workers.enter(s, x) })
	case c.Workers > 0:
		s.workers.enter(s, x)
	default:
		s.serve(x, x.came)
	}
}

// find asks the cache for the prompt. The last token is read in any case: the
// first of the answer follows from it.
func (s *scheduler) find(x *exchange) {
	c := &s.server.cfg
	if c.Cache == 0 {
		return
	}
	if s.cache == nil || s.forget.Swap(false) {
		s.cache = cache.New(c.Cache)
	}
	x.cached = min(s.cache.Ask(x.keys), max(0, x.in-1)/c.Block) * c.Block
	x.script.Cached, x.keys = x.cached, nil
	s.server.counts.cached.Add(int64(x.cached))
}

// admit refuses what the server has no room for.
func (s *scheduler) admit(x *exchange) {
	c := &s.server.cfg
	if x.status != 0 {
		return
	}
	if left := c.Ready - s.server.asked(x.recv); left > 0 {
		x.refuse(http.StatusServiceUnavailable, "the model is being loaded")
		x.retry = left
		return
	}
	if n := c.blocks(x.in + x.out); n > c.KVBlocks {
		x.refuse(http.StatusBadRequest, fmt.Sprintf("prompt and answer need %d blocks, but there are %d", n,
			c.KVBlocks))
		return
	}
	if c.RateLimit > 0 {
		if ok, wait := s.bucket.admit(c.RateLimit, x.recv); !ok {
			x.refuse(http.StatusTooManyRequests, "more requests than the limit of this server")
			x.retry = wait
			return
		}
	}
	if c.ConcurrencyLimit > 0 && len(s.active) > c.ConcurrencyLimit {
		x.refuse(http.StatusTooManyRequests, "more requests at a time than the limit of this server")
		return
	}
	if s.workers.full(c) {
		x.refuse(http.StatusServiceUnavailable, "every place in the queue is taken")
	}
}

// serve plans the first token of a plainly timed answer whose turn came, or
// the whole of one that is not streamed.
func (s *scheduler) serve(x *exchange, at int64) {
	c := &s.server.cfg
	x.start = at
	s.server.figures.turn(x)
	x.due = at + s.took(x, c.TTFT, c.TTFTSpread, at) + s.took(x, c.Prefill, 0, at)*int64(x.in-x.cached)
	if !x.call.Stream {
		x.firstAt = x.due
		for i := 1; i < x.out; i++ {
			x.due += s.took(x, c.ITL, c.ITLSpread, x.due)
		}
		x.made = x.out - 1
	}
	s.plan(x.due, func(int64) { s.step(x) })
}

// step makes one token of a plainly timed answer and plans the next.
func (s *scheduler) step(x *exchange) {
	if !s.token(x) {
		return
	}
	x.due += s.took(x, s.server.cfg.ITL, s.server.cfg.ITLSpread, x.due)
	s.plan(x.due, func(int64) { s.step(x) })
}

// token makes one token; false when there is no further one.
func (s *scheduler) token(x *exchange) bool {
	if x.aborted.Load() || x.broken {
		s.finish(x, true)
		return false
	}
	x.made++
	s.server.figures.made(x, s.server.now())
	broken := (x.fate == cut || x.fate == streamError) && x.made == x.half() && x.call.Stream
	if x.call.Stream && x.fate != empty {
		s.tell(x, broken)
	}
	switch {
	case broken && x.fate == cut:
		s.conclude(x)
	case broken:
		failed := `{"error":{"message":"scripted failure in the stream","type":"server_error","code":500}}` + "\n"
		if !x.spec.Served.Lines {
			failed = "data: " + failed + "\n"
		}
		x.event("error", 0, []byte(failed))
		s.conclude(x)
	case x.made >= x.out:
		s.complete(x)
	default:
		s.send(x)
		return true
	}
	return false
}

// tell queues an event when a chunk's worth of tokens is made.
func (s *scheduler) tell(x *exchange, must bool) {
	r := x.script.Reasoning
	if !must && x.made < x.out && x.made != r && x.made-x.told < s.server.cfg.Chunk {
		return
	}
	kind := "content"
	if x.told < r {
		kind = "reasoning"
	}
	if x.told == 0 && s.server.cfg.Role == RoleFirst {
		s.role(x)
	}
	n := x.made - x.told
	if !x.spec.ProducesTokens {
		n = 0
	}
	x.event(kind, n, x.spec.Served.Token(nil, x.now(), x.told, x.made))
	if x.spec.ProducesTokens {
		s.server.counts.output.Add(int64(x.made - x.told))
	}
	x.told = x.made
}

// send flushes; what the kernel did not take is tried again in a millisecond.
func (s *scheduler) send(x *exchange) {
	if x.retrying {
		return
	}
	if !x.flush(s.server.now) {
		s.later(x)
	}
}

// later plans one retry, however much has been queued meanwhile.
func (s *scheduler) later(x *exchange) {
	if x.retrying {
		return
	}
	x.retrying = true
	s.plan(s.server.now()+int64(time.Millisecond), func(int64) { s.retry(x) })
}

func (s *scheduler) retry(x *exchange) {
	x.retrying = false
	if _, ok := s.active[x]; !ok {
		return
	}
	if x.aborted.Load() {
		x.broken = true
	}
	if x.ended {
		s.conclude(x)
		return
	}
	if len(x.buf) > 0 {
		s.send(x)
	}
}

// conclude sends what is left and, once the kernel has it all, finishes.
func (s *scheduler) conclude(x *exchange) {
	if !x.ended && x.call.Stream && x.fate != cut && x.status == 200 {
		x.add("end", 0, []byte("0\r\n\r\n"))
	}
	x.ended = true
	if !x.flush(s.server.now) {
		s.later(x)
		return
	}
	s.finish(x, x.broken)
}

// finish closes the books on an exchange. It is lost when the client did not
// wait for the end of it; one that leaves right after the last byte did.
func (s *scheduler) finish(x *exchange, lost bool) {
	if _, ok := s.active[x]; !ok {
		return
	}
	delete(s.active, x)
	x.lost = lost
	x.end = s.server.now()
	s.server.counts.finished(x)
	s.server.figures.finished(x)
	if s.server.log != nil {
		s.server.log.write(x)
	}
	if x.closing || x.lost || x.fate == cut {
		x.conn.close()
	}
	close(x.done)
	if x.slotted {
		s.workers.leave(s, x)
	}
}

// crash breaks off every answer in progress, as the end of a process does; nothing is due any more.
func (s *scheduler) crash() {
	if !s.crashed {
		s.crashed = true
		close(s.server.crashed)
	}
	s.abandon()
	s.agenda = heap.Heap[moment]{}
}

// abandon ends what is in progress when the server stops.
func (s *scheduler) abandon() {
	for x := range s.active {
		s.finish(x, true)
	}
}
