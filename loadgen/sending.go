package loadgen

import (
	"math"

	"aiperf.dev/aiperf/internal/record"
)

// collect notes the arrivals that have come, up to the last one that can be
// sent.
func (p *phase) collect(now int64) {
	for p.wait.next <= now && p.wait.next < p.stops.end && p.wanted() {
		p.wait.arrive()
	}
}

// wanted reports whether another arrival has a use.
func (p *phase) wanted() bool {
	switch {
	case p.stops.why != "" || p.stops.noNew != "" && !(p.load.EveryTurn && p.books.open > 0):
		return false
	case p.cfg.Requests > 0 && p.books.issued+int64(p.wait.ticks.Len()) >= p.cfg.Requests && !p.finishes:
		return false
	}
	return true
}

// catchUp sends what was due before the end and had its slots by then: it
// counts by when it was due, however late we are. Not what would be cancelled at
// once, and nothing in a closed loop, where nothing is due by the clock. Turns
// that are due later wait on, and arrivals are not collected.
func (p *phase) catchUp(now int64) {
	p.starved = false
	if p.slots.gate != nil || now >= p.stops.cut {
		return
	}
	for p.stops.why == "" {
		switch {
		case !p.slots.freeBefore(p.stops.end, p.wait.turns.Len() == 0):
			if !p.skipping || !p.drop(skipOnCap, now) {
				return
			}
		case !p.sendOne(now):
			p.starved = p.wait.ticks.Len() > 0 && p.stops.noNew == "" // it was not rendered in time
			return
		}
	}
}

// sendOne sends the next request if its slots are free, and reports whether there
// was something to do.
func (p *phase) sendOne(now int64) bool {
	follow := p.wait.turns.Len() > 0
	switch {
	case follow && p.wait.turns.First().r.silent: // it costs nothing
		t := p.wait.turns.Pop()
		p.dispatch(t.r, t.due, t.ready(), math.MinInt64, now, false)
		return true
	case p.load.EveryTurn && p.wait.ticks.Len() == 0:
		return false
	case !follow && p.stops.noNew != "":
		return p.drop(skipNoTurn, now)
	case !follow && p.slots.gate == nil && p.wait.ticks.Len() == 0:
		return false
	case p.slots.full(!follow):
		return p.skipping && p.drop(skipOnCap, now)
	}
	if follow {
		p.sendTurn(p.wait.turns.Pop(), now)
		return true
	}
	r := p.startPlay()
	if r == nil {
		return false
	}
	intended := now
	if !p.load.Closed {
		intended = p.wait.ticks.Pop()
	}
	p.dispatch(r, intended, intended, intended, now, true)
	for _, c := range r.starts {
		c.intended = p.startAt(c.current(), r.intended)
		p.books.branches.begin(c, r.intended)
		p.ready(followTurn{r: c, due: c.intended, answered: r.intended}, now)
	}
	return true
}

// sendTurn sends a follow-up, which at a rate waits for an arrival, too.
func (p *phase) sendTurn(t followTurn, now int64) {
	intended, due := t.due, int64(math.MinInt64)
	if p.load.EveryTurn {
		intended = p.wait.ticks.Pop()
	}
	if p.load.EveryTurn || p.stamped(t.r.play, t.r.turn) {
		due = intended
	}
	p.dispatch(t.r, intended, max(intended, t.answered), due, now, false)
}

// drop loses the arrival that is next, if there is one. One that finds no slot is
// booked when it is known whether a punctual client would have had one.
func (p *phase) drop(why string, now int64) bool {
	if p.wait.ticks.Len() == 0 {
		return false
	}
	var lost *request
	if why == skipOnCap && !p.load.EveryTurn { // the arrival brings its own conversation
		if lost, _ = p.source.next(); lost == nil {
			return false
		}
	}
	due := p.wait.ticks.Pop()
	if why == skipOnCap && p.punctual.mayHaveSlot(due, now) {
		p.punctual.miss(&lostTick{due: due, late: now - due, lost: lost, why: why},
			p.wait.turns.Len() == 0, p.slots.countsPrefill)
		return true
	}
	p.dropTick(due, lost, why)
	return true
}

// startPlay is the first request of a new session, nil when none is ready.
func (p *phase) startPlay() *request {
	r, over := p.source.next()
	if over {
		p.stops.noNew = p.stops.last
	}
	if r == nil {
		return nil
	}
	r.play.num = p.engine.plays
	p.engine.plays++
	p.books.startPlay(r)
	p.adopt(r.play, r.starts)
	if p.cfg.Sessions > 0 && p.books.started >= p.cfg.Sessions {
		p.stops.noNew = stopSessions
	}
	return r
}

// dispatch takes the slots and puts r on the wire. ready is when it could have
// been sent but for the slots; due is for punctual.dispatch.
func (p *phase) dispatch(r *request, intended, ready, due, now int64, opening bool) {
	e := p.engine
	if opening {
		p.books.sessions.enter(now)
	}
	r.play.tree.busy++
	granted := now
	if r.slotless = r.silent && !opening; !r.slotless {
		granted = p.slots.occupy(r, opening, now)
	}
	if p.slots.gate != nil && opening {
		// the slot is the arrival: how late it was taken is the turnaround
		intended, ready, granted = granted, granted, now
	}
	if !opening && r.ends() {
		p.books.open--
	}
	r.freed = min(max(ready, granted), now)
	r.intended, r.admitted, r.play.intended = intended, r.freed, intended
	if p.punctual != nil && !r.slotless {
		p.punctual.dispatch(r, ready, due, now, opening)
	}
	e.out = append(e.out, r)
	if r.silent {
		return
	}
	p.idleSince = record.None
	r.id = e.first + e.share.ID(e.requests-e.before)
	e.free = r.id + 1
	e.requests++
	e.aim(r)
	if e.timeout > 0 {
		r.x.Deadline = later(now, e.timeout)
	}
	if !p.load.Closed && r.Err == nil {
		e.outages.shun(r, now)
	}
	p.books.dispatch(r, now)
	if p.cfg.Requests > 0 && p.books.issued >= p.cfg.Requests {
		if p.finishes {
			p.stops.noNew = stopRequests
		} else {
			p.halt(stopRequests, now)
		}
	}
}
