package loadgen

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/pace"
	"aiperf.dev/aiperf/loadgen/transport"
)

// sender is what the scheduler needs of a client. Start never blocks and calls
// Done once, later, on a goroutine of its own.
type sender interface {
	Start(*transport.Exchange)
	Cancel(*transport.Exchange)
}

// engine is the scheduler. It has no goroutine of its own: whoever brings news
// (an answer, a deadline) drives it, one at a time, and sends what that allows.
// So a slot that becomes free is used again on the very goroutine that freed it.
type engine struct {
	clock    pace.Clock
	sender   sender
	maker    *maker
	read     func(*request)        // takes over requests that have ended
	unsent   func(*record.Record)  // takes the record of what was due and is never sent; may be nil
	admitted func(order, at int64) // says when the request of a record was admitted that waits for it
	forget   func(session string)  // closes a session's connections; nil unless they are sticky
	serial   bool                  // one goroutine sends; see World

	state atomic.Int32 // idle, busy, again
	next  atomic.Int64 // when it has to be driven again

	mu      sync.Mutex
	inbox   []event
	emptied [][]*request // lists that were sent

	interrupted, aborted atomic.Bool
	failing              atomic.Bool  // too many requests of some phase failed
	stalled              atomic.Bool  // the stall has ended the run
	sends                atomic.Int64 // lists that are being sent
	resume               atomic.Bool  // something waits for a list to have been sent

	// Owned by whoever drives.
	spare           []event
	phases          []*phase // those that are not over
	out             []*request
	requests, plays int64 // dispatched, started so far in the run
	first, before   int64 // of the phase: number of its first request in the run, and requests here before it
	free            int64 // the first number of a request that is not used here
	completions     int64
	dropped         int64 // records of what was never sent
	share           record.Share
	targets         targets
	outages         outages
	stall           stall
	timeout         int64 // ns for one request, 0 for ever

	behind atomic.Int64 // when something was last sent too late
	bursts atomic.Int64 // bursts that are being sent
}

// A request that is sent later than tooLate after it was due puts the engine
// under pressure, for as long as recovery: then nothing else should take
// processors that is not needed at once.
const (
	tooLate  = int64(time.Millisecond)
	recovery = 2 * int64(time.Millisecond)
)

// pressed reports whether the engine is late, or just was, or has much to send.
func (e *engine) pressed() bool {
	return e.bursts.Load() > 0 || e.clock.Now() < e.behind.Load()+recovery
}

// The states of an engine. again means that there is more news for the one who
// is driving.
const (
	idle int32 = iota
	busy
	again
)

// rounds is how much one goroutine drives before it hands over to the pacer:
// it has a connection to look after.
const rounds = 64

// event is news for the scheduler.
type event struct {
	kind eventKind
	r    *request // for turnReady the new one, nil when no turn follows
	// The rest is for news about what follows an answer.
	phase    *phase
	play     *play
	starts   []*request // for turnReady the first ones of what the turn starts
	turn     int        // of play: for playOver the first that is not sent, for turnReady the one that is answered
	at       int64      // when the turn is due; for firstContent when it arrived; for phaseBegins when it does
	answered int64      // when the answer before it ended; for phaseBegins the number of its first request
}

type eventKind uint8

const (
	firstContent eventKind = iota // r's first content has arrived
	answerOver                    // r's answer has ended
	turnReady                     // the turn after an answer was rendered
	playOver                      // there is none: the answer was a failure
	phaseBegins
)

// post brings news and acts on it.
func (e *engine) post(ev event) {
	e.mu.Lock()
	e.inbox = append(e.inbox, ev)
	e.mu.Unlock()
	e.drive(false)
}

// done is the Done of every exchange.
func (e *engine) done(x *transport.Exchange) {
	e.post(event{kind: answerOver, r: x.User.(*request)})
}

// enter makes the caller the one who drives, or leaves word with who does.
func (e *engine) enter() bool {
	for {
		switch e.state.Load() {
		case idle:
			if e.state.CompareAndSwap(idle, busy) {
				return true
			}
		case busy:
			if e.state.CompareAndSwap(busy, again) {
				return false
			}
		default:
			return false
		}
	}
}

// drive acts on all news and on all that is due, and sends what that allows.
// Sending is not part of the driving: a goroutine that loses its processor in a
// write holds nobody up. The pacer waits for e.next after it; anybody else wakes
// the pacer when that became sooner. It returns false when somebody else is
// driving, who will do that.
func (e *engine) drive(pacer bool) bool {
	for n := 1; ; n++ {
		if !e.enter() {
			return false
		}
		out := e.step()
		more := !e.state.CompareAndSwap(busy, idle)
		if more {
			e.state.Store(idle)
		}
		if !e.send(out) && !more {
			break
		}
		if !pacer && n == rounds {
			e.clock.Wake()
			return true
		}
	}
	if sleeping := e.clock.Sleeping(); !pacer && (sleeping == pace.Awake || e.next.Load() < sleeping) {
		e.clock.Wake()
	}
	return true
}

// step brings the phases up to now and returns what is to be sent.
func (e *engine) step() []*request {
	e.mu.Lock()
	news := e.inbox
	e.inbox = e.spare[:0]
	if n := len(e.emptied); n > 0 {
		e.out, e.emptied = e.emptied[n-1], e.emptied[:n-1]
	}
	e.mu.Unlock()
	now := e.clock.Now()
	for _, ev := range news {
		p := ev.phase
		if p == nil {
			p = ev.r.phase
		}
		p.handle(ev, now)
	}
	clear(news)
	e.spare = news
	next := int64(pace.Never)
	live := e.phases[:0]
	for _, p := range e.phases {
		if next = min(next, p.step(now)); !p.over.Load() {
			live = append(live, p)
		}
	}
	e.phases = live
	e.next.Store(next)
	out := e.out
	e.out = nil
	if len(out) > 0 {
		e.sends.Add(1)
		if now > out[len(out)-1].intended+tooLate {
			e.behind.Store(now)
		}
	}
	return out
}

// parallelSends is from how many requests on a burst is spread over processors.
const parallelSends = 64

// send starts what step decided to send, and reports whether the engine has to be
// driven again because of it.
func (e *engine) send(out []*request) (again bool) {
	if len(out) == 0 {
		if cap(out) > 0 {
			e.empty(out)
		}
		return false
	}
	if n := runtime.GOMAXPROCS(0); n > 1 && len(out) >= parallelSends && !e.serial {
		e.sendParallel(out, min(n, 4))
	} else {
		for _, r := range out {
			e.start(r)
		}
	}
	e.empty(out)
	e.sends.Add(-1)
	return e.resume.Swap(false)
}

// empty gives a list back for the next step.
func (e *engine) empty(out []*request) {
	clear(out)
	e.mu.Lock()
	e.emptied = append(e.emptied, out[:0])
	e.mu.Unlock()
}

func (e *engine) sendParallel(out []*request, n int) {
	e.bursts.Add(1)
	defer e.bursts.Add(-1)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			// Interleaved, so that earlier requests go first.
			for j := i; j < len(out); j += n {
				e.start(out[j])
			}
		})
	}
	wg.Wait()
}

// start sends r, or ends it at once when there is nothing that could be sent.
func (e *engine) start(r *request) {
	if r.Err == nil && !r.silent && !r.shunned {
		e.sender.Start(&r.x)
		return
	}
	x := &r.x
	none := int64(record.None)
	x.Sent, x.WriteEnd, x.FirstByte, x.CancelAsked, x.HTTPStatus = none, none, none, none, none
	x.DNS, x.Dial, x.TLS, x.Connecting = none, none, none, none
	x.End, x.ReceiveLag = e.clock.Now(), math.NaN()
	switch {
	case r.shunned:
		x.Status = record.Connection
	case r.Err != nil:
		x.Status, x.ErrorKind, x.ErrorText = record.Client, "request", diag.Line(r.Err)
	default:
		x.Status = record.OK
	}
	e.mu.Lock()
	e.inbox = append(e.inbox, event{kind: answerOver, r: r})
	e.mu.Unlock()
	e.resume.Store(true)
}

// play runs one phase, whose requests are numbered from first on, from a time on to its
// end, or, when the next one follows seamlessly, to its last send.
func (e *engine) play(p *phase, at, first int64, seamless bool) {
	e.post(event{kind: phaseBegins, phase: p, at: at, answered: first})
	e.waitFor(func() bool { return p.over.Load() || seamless && p.sentAll.Load() })
}

// waitFor is the pacer: it drives the engine whenever something is due.
func (e *engine) waitFor(over func() bool) {
	for {
		until := int64(pace.Never) // who drives instead says when there is more
		if e.drive(true) {
			until = e.next.Load()
		}
		if over() {
			return
		}
		e.clock.WaitUntil(until)
	}
}
