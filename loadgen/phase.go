package loadgen

import (
	"container/heap"
	"sync/atomic"

	"aiperf.dev/aiperf/schema"
)

// source has the first requests of sessions ready, in order.
type source interface {
	// take is the next one; nil when none is ready yet, in which case the clock
	// is woken as soon as one is. over says that there will be none any more.
	take() (r *request, over bool)
	// close ends the rendering; wait returns when it has ended.
	close()
	wait()
}

// phase schedules one phase. Everything but the atomics belongs to whoever
// drives the engine.
type phase struct {
	engine *engine
	cfg    *schema.Phase
	warmup bool
	keys   keys

	arrivals Arrivals // nil in a closed loop
	rated    bool     // every turn waits for an arrival, not only the first
	skipping bool     // an arrival that finds no slot is lost
	finishes bool     // a conversation begun before the last request is played to its end
	trace    *fixed   // set in a fixed schedule
	userGap  int64    // ns between the turns of a user, 0 without users
	source   source

	sessions, prefill, wire limit
	gate                    *limit // closed loop: the limit whose free slots are the arrivals

	start, endAt int64 // endAt: nothing new from here on, never without a duration
	cutAt        int64 // what is still on the wire is cancelled here
	cutTried     int64 // when that was first tried, never before
	grace        int64

	arrival int64             // next arrival, never when there is none
	ticks   queue[int64]      // arrivals that wait to be served
	turns   queue[followTurn] // follow-ups that wait to be sent
	delayed delayedTurns      // follow-ups whose think time runs
	onWire  []*request

	arrived, arrivedAt int64 // arrivals so far, and the last of them

	issued, started int64
	live            int // sessions that are not over
	open            int // of these, with turns still to send
	reading         int // answers being read for the turn after them
	thinking        bool
	starved         bool   // at the end, arrivals wait for their requests to be rendered
	stop            string // why nothing is sent any more
	noNew           string // why no session starts any more
	cancelled       bool
	skipped         map[string]int64
	pred            *phase // the phase that this one follows seamlessly
	heir            *phase // takes over the slots as they become free
	countsPrefill   bool   // requests hold a prefill slot, here or in the heir
	onGauge, held   gauge  // requests on the wire; sessions
	lastEnd         int64
	result          PhaseResult

	sentAll  atomic.Bool // nothing will be sent any more
	over     atomic.Bool // and every answer is in
	failing  atomic.Bool // too many requests failed
	inFlight atomic.Int64
	sent     atomic.Int64
	heldUp   atomic.Int64 // turns of users whose time came before their answer
	tally    tally

	// For snapshots, beside the fields that they shadow.
	startShown, endShown, cutShown atomic.Int64
}

// Why a phase stopped, and why an arrival or a turn was not sent.
const (
	stopRequests    = "requests"
	stopSessions    = "sessions"
	stopDuration    = "duration"
	stopInterrupted = "interrupted"
	stopFailures    = "failures"
	stopSchedule    = "schedule"

	skipOnCap   = "on_cap"           // no slot was free (on_cap: skip)
	skipStopped = "stopped"          // still waiting when the phase stopped
	skipNoTurn  = "no_turn"          // no session may start and no turn was waiting
	skipCut     = "conversation_cut" // the phase stopped before this turn
	skipFailed  = "turn_failed"      // the turn before it failed
)

// begin starts the clock of the phase.
func (p *phase) begin(now int64) {
	p.start, p.lastEnd, p.endAt, p.cutTried = now, now, never, never
	if d := p.cfg.Duration; d != nil {
		p.endAt = later(now, int64(d.Go()))
	}
	p.cutAt = later(p.endAt, p.grace) // also when all was sent before the end
	p.startShown.Store(now)
	p.endShown.Store(p.endAt)
	p.cutShown.Store(p.cutAt)
	p.arrival = never
	if p.arrivals != nil {
		p.advance()
	}
	target := 0
	if p.gate != nil {
		target = max(p.cfg.InFlight, slots(p.cfg))
		if p.cfg.InFlight > 0 {
			target = min(target, p.cfg.InFlight)
		}
	}
	p.onGauge, p.held = newGauge(target, now), newGauge(target, now)
	p.result.Target, p.result.Start = target, now
	if p.pred != nil {
		p.inherit(p.pred)
	}
}

// inherit takes over what the phase before, and those that it follows
// seamlessly itself, still hold: sessions, requests on the wire, prefills.
func (p *phase) inherit(pred *phase) {
	pred.heir = p
	p.sessions.held, p.held.level = pred.sessions.held, pred.sessions.held
	p.wire.held, p.prefill.held = pred.wire.held, pred.prefill.held
}

// heirs calls f for every later phase that took over slots.
func (p *phase) heirs(f func(*phase)) {
	for h := p.heir; h != nil; h = h.heir {
		f(h)
	}
}

// later is t + d without overflow.
func later(t, d int64) int64 {
	if d > never-t {
		return never
	}
	return t + d
}

// advance looks up the next arrival.
func (p *phase) advance() {
	p.arrival = never
	if at, ok := p.arrivals.Next(); ok {
		p.arrival = later(p.start, int64(at))
	}
}

// take acts on one piece of news.
func (p *phase) take(ev event, now int64) {
	switch r := ev.r; ev.kind {
	case phaseBegins:
		p.engine.phases = append(p.engine.phases, p)
		p.begin(now)
	case firstContent:
		p.freePrefill(r, now)
	case answerOver:
		p.answerOver(r, now)
	case turnReady:
		p.reading--
		switch {
		case p.stop != "":
			p.cutShort(r.play, r.turn, ev.at, skipCut)
		case ev.at <= now && ev.at < p.endAt:
			p.turns.push(followTurn{r, ev.at})
		default:
			heap.Push(&p.delayed, followTurn{r, ev.at})
		}
	case playOver:
		p.reading--
		p.cutShort(ev.play, ev.turn, ev.at, skipFailed)
	}
}

func (p *phase) freePrefill(r *request, at int64) {
	if r.prefilling {
		r.prefilling = false
		p.prefill.release(at)
		p.heirs(func(h *phase) { h.prefill.release(at) })
	}
}

// answerOver frees what r held and hands it on to be read.
func (p *phase) answerOver(r *request, now int64) {
	if r.abandoned {
		return // booked already, see giveUp
	}
	end := r.end()
	last := len(p.onWire) - 1
	p.onWire[r.place] = p.onWire[last]
	p.onWire[r.place].place = r.place
	p.onWire[last] = nil
	p.onWire = p.onWire[:last]
	p.freePrefill(r, end)
	p.wire.release(end)
	p.heirs(func(h *phase) { h.wire.release(end) })
	p.onGauge.leave(now)
	p.inFlight.Add(-1)
	p.lastEnd = max(p.lastEnd, end)
	r.ended = p.engine.completions
	p.engine.completions++
	switch {
	case r.last():
		p.playOver(r.play, end)
	case p.stop != "":
		p.cutShort(r.play, r.turn+1, end, skipCut)
	default:
		r.goesOn = true
		p.reading++
	}
	p.engine.read(r)
}

// playOver ends a session and frees its slot.
func (p *phase) playOver(pl *play, at int64) {
	p.live--
	if p.engine.forget != nil {
		p.engine.forget(pl.id)
	}
	p.sessions.release(at)
	p.held.leave(at)
	p.heirs(func(h *phase) {
		h.sessions.release(at)
		h.held.leave(at)
	})
}

// cutShort ends a session whose turns from turn on are not sent.
func (p *phase) cutShort(pl *play, turn int, at int64, why string) {
	p.skipped[why] += int64(pl.turns - turn)
	p.open--
	p.playOver(pl, at)
}

// step sends what may be sent now and tells when to come back.
func (p *phase) step(now int64) (next int64) {
	for _, l := range [...]*limit{&p.sessions, &p.prefill, &p.wire} {
		l.grow(p.start, now-p.start)
	}
	p.collect(now)
	for p.delayed.Len() > 0 && p.delayed[0].due <= now && p.delayed[0].due < p.endAt {
		p.turns.push(heap.Pop(&p.delayed).(followTurn))
	}
	p.stopIfDue(now)
	for p.stop == "" && !p.starved && p.sendOne(now) {
	}
	p.settle(now)
	return p.deadline()
}

// deadline is when something is due by the clock.
func (p *phase) deadline() int64 {
	next := int64(never)
	if p.stop == "" && !p.starved { // the renderer wakes us
		next = min(p.endAt, p.sessions.next(p.start), p.prefill.next(p.start))
		if p.wanted() && (p.ticks.len() == 0 || p.skipping) {
			next = min(next, p.arrival)
		}
		if p.delayed.Len() > 0 {
			next = min(next, p.delayed[0].due)
		}
	}
	if len(p.onWire) > 0 {
		if p.cutTried == never { // afterwards it is tried when the sending is over
			next = min(next, p.cutAt)
		}
		next = min(next, later(p.cutTried, int64(watchdogMargin)))
	}
	return next
}
