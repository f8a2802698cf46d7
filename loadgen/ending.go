package loadgen

import (
	"math"
	"time"

	"aiperf.dev/aiperf/internal/record"
)

// stopIfDue applies the stop conditions that do not come from sending.
func (p *phase) stopIfDue(now int64) {
	s := &p.stops
	switch {
	case p.engine.interrupted.Load() && s.why != stopInterrupted:
		p.halt(stopInterrupted, now)
		s.hasten(now)
	case p.engine.stall.over != "" && s.why != stopStalled && s.why != stopInterrupted:
		p.halt(stopStalled, now)
		s.cut = min(s.cut, now) // there is nothing to wait for
	case s.why == "" && p.engine.failing.Load():
		why := stopFailures
		if p.engine.outages.over != "" {
			why = stopUnreachable
		}
		p.halt(why, now)
		s.hasten(now)
	case s.why == "" && now >= s.end:
		if p.catchUp(now); s.why == "" && !p.starved {
			p.halt(stopDuration, now)
		}
	}
	if p.engine.aborted.Load() {
		s.cut = min(s.cut, now)
	}
	p.cutShown.Store(s.cut)
}

// halt ends the sending.
func (p *phase) halt(why string, now int64) {
	if p.stops.why != "" && (why == stopInterrupted || why == stopStalled) {
		p.stops.why = why // it was draining already
		return
	}
	p.stops.why = why
	p.wait.clear(func(due int64) { p.dropWaiting(due, now) }, func(t followTurn) { p.dropTurn(t, now) })
	p.source.close()
}

// endIfDue cancels what outlived its grace, and notices the end.
func (p *phase) endIfDue(now int64) {
	s, b := &p.stops, &p.books
	if late := now - s.cut; late >= unread/10 && !s.awaited && !s.isCut {
		s.cut, s.awaited = later(now, unread), true // what was answered in time is read first
	}
	if now >= s.cut && !s.isCut {
		s.cutTried = min(s.cutTried, now)
		p.cutOff()
	}
	if now >= later(s.cutTried, int64(watchdogMargin)) {
		p.giveUp(now)
	}
	if p.wait.exhausted() && s.noNew == "" {
		s.noNew = s.last
	}
	if !p.sentAll.Load() && (s.why != "" || s.noNew != "" && b.open == 0) {
		p.source.close()
		p.sentAll.Store(true)
		p.engine.clock.Wake() // the pacer waits for this
	}
	if b.live == 0 && b.reading == 0 && s.reason() != "" && !p.over.Load() {
		p.close(now)
	}
}

// cutOff cancels what is still on the wire. What is just being sent cannot be
// cancelled yet: then it is tried again when that is over.
func (p *phase) cutOff() {
	e := p.engine
	e.resume.Store(true) // before looking: who ends a sending looks after it
	if e.sends.Load() > 0 {
		return
	}
	p.stops.isCut = true
	for _, r := range p.books.onWire {
		r.late = true
		e.sender.Cancel(&r.x)
	}
}

// close sums the phase up.
func (p *phase) close(now int64) {
	res := &p.result
	p.bookMissed()
	p.books.sum(res, now)
	p.steadyRate(res)
	p.windows.sum(res)
	res.Stop = p.stops.reason()
	if res.Scale = p.scaling.report(); res.Scale != nil {
		res.Gauge.SteadyStart, res.Gauge.SteadyEnd = record.None, record.None
		res.Gauge.HeldShare = math.NaN() // there is no one load
	}
	if !p.load.Closed {
		res.Due = res.Issued + res.Unsent
	}
	if span := time.Duration(p.wait.arrivedAt - p.start).Seconds(); p.load.EveryTurn && p.result.Varying && span > 0 {
		res.Rate = float64(p.wait.arrived) / span
	}
	p.over.Store(true)
	p.engine.clock.Wake()
}

// steadyRate finds the steady window of a load that a clock sends at one rate; a
// closed loop has found its own.
func (p *phase) steadyRate(res *PhaseResult) {
	if p.load.Closed || p.load.Varying || p.scaling != nil {
		return
	}
	ramp := int64(0)
	if r := p.cfg.RateRamp; r != nil {
		ramp = int64(r.Duration * 1e9)
	}
	if start, end, ok := p.books.requests.open(ramp); ok {
		res.Gauge.SteadyStart, res.Gauge.SteadyEnd = start, end
	}
}
