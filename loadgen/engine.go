package loadgen

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"aiperf.dev/aiperf/internal/record"
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
	clock  clock
	sender sender
	render *renderer
	read   func(*request)       // takes over requests that have ended
	forget func(session string) // closes a session's connections; nil unless they are sticky

	state atomic.Int32 // idle, busy, again
	next  atomic.Int64 // when it has to be driven again

	mu    sync.Mutex
	inbox []event

	interrupted, aborted atomic.Bool

	// Owned by whoever drives.
	spare           []event
	phases          []*phase // those that are not over
	out             []*request
	requests, plays int64 // dispatched, started so far in the run
	completions     int64
	timeout         int64 // ns for one request, 0 for ever
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
	r    *request // for turnReady the new one
	// The rest is for news about what follows an answer.
	phase *phase
	play  *play
	turn  int   // of play, the first that is not sent
	at    int64 // when the turn is due; when the play was over
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

// drive acts on all news and on all that is due. The pacer waits for e.next
// after it; anybody else wakes the pacer when that became sooner.
func (e *engine) drive(pacer bool) {
	if !e.enter() {
		return
	}
	for n := 1; ; n++ {
		e.step()
		if e.state.CompareAndSwap(busy, idle) {
			break
		}
		e.state.Store(busy)
		if !pacer && n == rounds {
			e.state.Store(idle)
			e.clock.Wake()
			return
		}
	}
	if sleeping := e.clock.Sleeping(); !pacer && (sleeping == awake || e.next.Load() < sleeping) {
		e.clock.Wake()
	}
}

// awake is what Sleeping says when nobody sleeps.
const awake = math.MinInt64

func (e *engine) step() {
	e.mu.Lock()
	news := e.inbox
	e.inbox = e.spare[:0]
	e.mu.Unlock()
	now := e.clock.Now()
	for _, ev := range news {
		p := ev.phase
		if p == nil {
			p = ev.r.phase
		}
		p.take(ev, now)
	}
	clear(news)
	e.spare = news
	next := int64(never)
	live := e.phases[:0]
	for _, p := range e.phases {
		if next = min(next, p.step(now)); !p.over.Load() {
			live = append(live, p)
		}
	}
	e.phases = live
	e.next.Store(next)
	e.send()
}

// parallelSends is from how many requests on a burst is spread over processors.
const parallelSends = 64

// send starts what step decided to send.
func (e *engine) send() {
	out := e.out
	if n := runtime.GOMAXPROCS(0); n > 1 && len(out) >= parallelSends {
		e.sendParallel(out, min(n, 4))
	} else {
		e.sendAll(out)
	}
	clear(out)
	e.out = out[:0]
}

func (e *engine) sendParallel(out []*request, n int) {
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

func (e *engine) sendAll(out []*request) {
	for _, r := range out {
		e.start(r)
	}
}

// start sends r, or ends it at once when there is nothing that could be sent.
func (e *engine) start(r *request) {
	if r.broken == nil {
		e.sender.Start(&r.x)
		return
	}
	x := &r.x
	none := int64(record.None)
	x.Sent, x.WriteEnd, x.FirstByte, x.CancelAsked, x.HTTPStatus = none, none, none, none, none
	x.DNS, x.Dial, x.TLS = none, none, none
	x.Status, x.ErrorKind, x.ErrorText = record.Client, "request", r.broken.Error()
	x.End, x.ReceiveLag = e.clock.Now(), math.NaN()
	e.post(event{kind: answerOver, r: r})
}

// play runs one phase to its end, or, when the next one follows seamlessly, to
// its last send.
func (e *engine) play(p *phase, seamless bool) {
	e.post(event{kind: phaseBegins, phase: p})
	e.waitFor(func() bool { return p.over.Load() || seamless && p.sentAll.Load() })
}

// waitFor is the pacer: it drives the engine whenever something is due.
func (e *engine) waitFor(over func() bool) {
	for {
		e.drive(true)
		if over() {
			return
		}
		e.clock.WaitUntil(e.next.Load())
	}
}
