package loadgen

import "math"

// collect notes the arrivals that have come, up to the last one that can be
// sent.
func (p *phase) collect(now int64) {
	for p.arrival <= now && p.arrival < p.endAt && p.wanted() {
		p.ticks.push(p.arrival)
		p.arrived, p.arrivedAt = p.arrived+1, p.arrival
		p.advance()
	}
}

// wanted tells whether another arrival has a use.
func (p *phase) wanted() bool {
	switch {
	case p.stop != "" || p.noNew != "" && !(p.rated && p.open > 0):
		return false
	case p.cfg.Requests > 0 && p.issued+int64(p.ticks.len()) >= p.cfg.Requests && !p.finishes:
		return false
	}
	return true
}

// catchUp sends what was due before the end and had its slots by then: it
// counts by when it was due, however late we are. Not what would be cancelled at
// once, and nothing in a closed loop, where nothing is due by the clock. Turns
// that are due later are in delayed, and arrivals are not collected.
func (p *phase) catchUp(now int64) {
	p.starved = false
	if p.gate != nil || now >= p.cutAt {
		return
	}
	for p.stop == "" {
		switch {
		case !p.hadSlots():
			if !p.skipping || !p.drop(skipOnCap) {
				return
			}
		case !p.sendOne(now):
			p.starved = p.ticks.len() > 0 && p.noNew == "" // it was not rendered in time
			return
		}
	}
}

// hadSlots tells whether the slots for what is next were free before the end.
func (p *phase) hadSlots() bool {
	return p.wire.freeBefore(p.endAt) && p.prefill.freeBefore(p.endAt) &&
		(p.turns.len() > 0 || p.sessions.freeBefore(p.endAt))
}

// sendOne sends the next request if its slots are free, and tells whether there
// was something to do.
func (p *phase) sendOne(now int64) bool {
	follow := p.turns.len() > 0
	switch {
	case p.rated && p.ticks.len() == 0:
		return false
	case !follow && p.noNew != "":
		return p.drop(skipNoTurn)
	case !follow && p.gate == nil && p.ticks.len() == 0:
		return false
	case p.wire.full() || p.prefill.full() || !follow && p.sessions.full():
		return p.skipping && p.drop(skipOnCap)
	}
	var r *request
	intended := now
	if follow {
		t := p.turns.pop()
		r, intended = t.r, t.due
	} else if r = p.startPlay(); r == nil {
		return false
	}
	if p.arrivals != nil && (p.rated || !follow) {
		intended = p.ticks.pop()
	}
	p.dispatch(r, intended, now, !follow)
	return true
}

// drop loses the arrival that is next, if there is one.
func (p *phase) drop(why string) bool {
	if p.ticks.len() == 0 {
		return false
	}
	if why == skipOnCap && !p.rated { // the arrival brings its own conversation
		if r, _ := p.source.take(); r == nil {
			return false
		}
	}
	p.ticks.pop()
	p.skipped[why]++
	return true
}

// startPlay is the first request of a new session, nil when none is ready.
func (p *phase) startPlay() *request {
	r, over := p.source.take()
	if over {
		p.noNew = stopSchedule
	}
	if r == nil {
		return nil
	}
	r.play.num = p.engine.plays
	p.engine.plays++
	p.started++
	p.live++
	if r.play.turns > 1 {
		p.open++
		p.thinking = p.thinking || think(r.play.conversation) > 0
	}
	if p.cfg.Sessions > 0 && p.started >= p.cfg.Sessions {
		p.noNew = stopSessions
	}
	return r
}

// dispatch takes the slots and puts r on the wire.
func (p *phase) dispatch(r *request, intended, now int64, opening bool) {
	e := p.engine
	if opening {
		p.held.enter(now)
	}
	granted := p.occupy(r, opening, now)
	if p.gate != nil && opening {
		intended, granted = granted, now // the slot is the arrival: how late it was taken is the turnaround
	}
	if !opening && r.last() {
		p.open--
	}
	r.id, r.intended, r.admitted = e.requests, intended, min(max(intended, granted), now)
	e.requests++
	if e.timeout > 0 {
		r.x.Deadline = later(now, e.timeout)
	}
	r.place = len(p.onWire)
	p.onWire = append(p.onWire, r)
	p.onGauge.enter(now)
	p.inFlight.Add(1)
	p.sent.Add(1)
	p.issued++
	e.out = append(e.out, r)
	if p.cfg.Requests > 0 && p.issued >= p.cfg.Requests {
		if p.finishes {
			p.noNew = stopRequests
		} else {
			p.halt(stopRequests, now)
		}
	}
}

// occupy takes r's slots and tells since when they are all free: an arrival
// that found them free was admitted when it was due, however late it is sent.
// In a closed loop it is since when the slot that was waited for is free.
func (p *phase) occupy(r *request, opening bool, now int64) (since int64) {
	since = math.MinInt64
	take := func(l *limit) {
		free := l.take(now)
		if l.on && (p.gate == nil || !opening || p.gate == l) {
			since = max(since, free)
		}
	}
	if opening {
		take(&p.sessions)
	}
	take(&p.wire)
	if p.countsPrefill {
		r.prefilling = true
		take(&p.prefill)
	}
	return since
}
