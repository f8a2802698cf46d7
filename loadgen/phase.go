package loadgen

import (
	"sync/atomic"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/loadgen/pace"
	"aiperf.dev/aiperf/loadgen/render"
	"aiperf.dev/aiperf/schema"
)

// source has the first requests of sessions ready, in order.
type source interface {
	// next is the next play; nil when none is ready yet, in which case the clock
	// is woken as soon as one is. over says that there will be none any more.
	next() (r *request, over bool)
	// close ends the rendering; wait returns when it has ended.
	close()
	wait()
}

// phase schedules one phase. What waits, what may go, when it ends and what was
// done are parts of their own (waiting.go, slots.go, stops.go, books.go); here
// is what happens when. Everything but the atomics belongs to whoever drives
// the engine.
type phase struct {
	engine *engine
	cfg    *schema.Phase
	load   mode.Load
	keys   *render.Keys
	source source

	warmup   bool
	skipping bool   // an arrival that finds no slot is lost
	shared   bool   // its sessions are dealt out to several workers while it goes on
	finishes bool   // a conversation begun before the last request is played to its end
	pred     *phase // the phase that this one follows seamlessly
	heir     *phase // takes over the slots as they become free

	wait  waiting
	slots *slots
	stops stops

	scaling *scaling // how the phase raises its own load; nil where it does not
	windows *windows // by which the phase ends; nil where its end is planned

	punctual *punctual // the slots of a client that never stands still; nil where no wait for one matters

	books books

	start     int64
	idleMost  int64 // how long nothing may be under way while turns wait; never: any time
	idleSince int64 // record.None: something is

	treeIdleMost int64 // the same of each session with all that it starts
	starved      bool  // at the end, arrivals wait for their requests to be rendered
	result       PhaseResult

	sentAll atomic.Bool             // nothing will be sent any more
	over    atomic.Bool             // and every answer is in
	tooMany atomic.Pointer[tooMany] // why the phase gave up; nil when it has not

	// For snapshots, beside the fields that they shadow.
	startShown, endShown, cutShown atomic.Int64
}

// tooMany are the failures that made a phase give up, of how many requests.
type tooMany struct {
	failed, of int64
	missed     string // the error of the last, where none of the answers has what a setting names as its text
}

// begin starts the clock of the phase.
func (p *phase) begin(now int64) {
	p.start, p.result.Start = now, now
	p.stops.begin(now, p.cfg.Duration)
	p.startShown.Store(now)
	p.endShown.Store(p.stops.end)
	p.cutShown.Store(p.stops.cut)
	p.wait.begin(now)
	p.books.begin(p.result.Target, now)
	p.scaling.begin(now)
	p.windows.begin(now)
	if p.pred != nil {
		p.pred.heir = p
		p.slots.inherit(p.pred.slots)
		if p.punctual != nil {
			p.punctual.inherit(p.pred)
		}
		p.books.sessions.level = p.pred.slots.sessions.held
	}
}

// handle acts on one piece of news.
func (p *phase) handle(ev event, now int64) {
	switch r := ev.r; ev.kind {
	case phaseBegins:
		p.engine.phases = append(p.engine.phases, p)
		p.engine.first, p.engine.before = ev.answered, p.engine.requests
		p.begin(max(now, ev.at))
	case firstContent:
		p.engine.stall.heard(now)
		p.freePrefill(r, ev.at)
	case answerOver:
		p.engine.stall.heard(now)
		p.answerOver(r, now)
	case turnReady:
		p.goOn(ev, now)
	case playOver:
		p.books.reading--
		ev.play.tree.busy--
		p.books.skip(skipFailed, ev.play.Conversation.RequestsOf(ev.turn-1))
		p.cutShort(ev.play, ev.turn, ev.answered, skipFailed)
	}
}

func (p *phase) freePrefill(r *request, at int64) {
	if r.prefilling {
		r.prefilling = false
		r.stay.sent(r)
		p.free(mode.PrefillSlots, at, r.stay)
	}
}

// free gives a slot of one kind back that s holds, to p and to who follows it.
func (p *phase) free(kind int, at int64, s *stay) {
	for q := p; q != nil; q = q.heir {
		q.slots.all()[kind].release(at)
	}
	p.giveBack(kind, at, s)
}

// answerOver frees what r held and hands it on to be read.
func (p *phase) answerOver(r *request, now int64) {
	if r.abandoned {
		return // booked already, see giveUp
	}
	end := r.end()
	r.stay.sent(r)
	p.freePrefill(r, end)
	if !r.slotless {
		p.free(mode.WireSlots, end, r.stay)
	}
	if !r.silent {
		p.books.answered(r)
		if p.scaling != nil {
			p.scaling.ended++
		}
		p.windows.answered(r)
		p.engine.arrived(r)
		r.ended = p.engine.completions
		p.engine.completions++
	}
	p.punctual.end(r.stay)
	switch {
	case r.ends():
		r.play.tree.busy--
		why := ""
		if r.failed() {
			why = skipFailed
		}
		p.playOver(r.play, r.turn, end, why)
		p.capTreeIdle(r.play.tree, end)
	case p.stops.why != "":
		r.play.tree.busy--
		p.books.skip(skipCut, r.play.Conversation.RequestsOf(r.turn))
		p.cutShort(r.play, r.turn+1, end, skipCut)
	default:
		r.goesOn = true
		p.books.reading++
	}
	if !r.silent {
		p.heard(r, now)
	}
	for q := p; q != nil; q = q.heir {
		q.settle(now)
	}
	if r.stay != nil && !r.silent {
		if r.admitted = r.stay.admitted; !r.stay.settled {
			r.admitted, r.unsettled, r.stay.order = r.freed, true, r.ended
		}
	}
	p.engine.read(r)
}

// playOver ends a session at a turn, why is for a reason before its end: who waits
// for it goes on, and the last one of a tree frees the slot.
func (p *phase) playOver(pl *play, turn int, at int64, why string) {
	p.books.live--
	p.books.branches.end(pl, turn, why)
	if p.engine.forget != nil {
		p.engine.forget(pl.ID)
	}
	if pl.parent != nil {
		p.joined(pl, at)
	}
	if pl.tree.live--; pl.tree.live > 0 {
		return
	}
	p.free(mode.SessionSlots, at, pl.newest)
	for q := p; q != nil; q = q.heir {
		q.books.sessions.leave(at)
	}
}

// cutShort ends a session whose turns from turn on are not sent, nor what they
// start. Those of a trace that were due by then are unsent.
func (p *phase) cutShort(pl *play, turn int, at int64, why string) {
	p.books.skip(why, requestsLeft(pl, turn))
	p.unsentTurns(pl, turn, at, why)
	p.books.open--
	p.playOver(pl, turn, at, why)
}

// step sends what may be sent now and tells when to come back.
func (p *phase) step(now int64) (next int64) {
	p.slots.grow(p.start, now)
	p.books.requests.aim(p.slots.target(), now)
	p.collect(now)
	p.capIdle(now)
	p.wait.ripen(now, p.stops.end)
	p.stallIfDue(now)
	p.scaleIfDue(now)
	p.endIfStable(now)
	p.stopIfDue(now)
	for p.stops.why == "" && !p.starved && p.sendOne(now) {
	}
	p.settle(now)
	p.endIfDue(now)
	return p.deadline()
}

// capIdle has all waiting turns come earlier by the same time where nothing has
// been under way, nor will be, for longer than it may.
func (p *phase) capIdle(now int64) {
	if p.idleMost == pace.Never {
		return
	}
	if len(p.books.onWire) > 0 || p.books.reading > 0 || p.wait.turns.Len() > 0 {
		p.idleSince = record.None
		return
	}
	if p.idleSince == record.None {
		p.idleSince = now
	}
	if by := p.wait.ripens() - later(p.idleSince, p.idleMost); p.wait.later.Len() > 0 && by > 0 {
		p.wait.hasten(by)
	}
}

// capTreeIdle has the waiting turns of a tree come earlier by the same time where, from a moment on, nothing of it is
// under way for longer than it may.
func (p *phase) capTreeIdle(t *tree, from int64) {
	if p.treeIdleMost == pace.Never || t.busy > 0 || t.live == 0 {
		return
	}
	p.wait.hastenTree(t, later(from, p.treeIdleMost))
}

// deadline is when something is due by the clock.
func (p *phase) deadline() int64 {
	next := p.punctual.looks()
	if p.stops.why == "" && !p.starved { // the renderer wakes us
		next = min(next, p.stops.end, p.scaling.looks(), p.windows.looks(), p.slots.grows(p.start), p.wait.ripens())
		if p.wanted() && (p.wait.ticks.Len() == 0 || p.skipping) {
			next = min(next, p.wait.next)
		}
	}
	if len(p.books.onWire) > 0 {
		if p.stops.cutTried == pace.Never { // afterwards it is tried when the sending is over
			next = min(next, p.stops.cut)
		}
		next = min(next, later(p.stops.cutTried, int64(watchdogMargin)))
		if p.engine.stall.over == "" {
			next = min(next, p.engine.stall.due)
		}
	}
	return next
}
