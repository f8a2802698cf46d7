package loadgen

import (
	"math"
	"time"
)

// stopIfDue applies the stop conditions that do not come from sending.
func (p *phase) stopIfDue(now int64) {
	switch {
	case p.engine.interrupted.Load() && p.stop != stopInterrupted:
		p.halt(stopInterrupted, now)
		p.cutAt = min(p.cutAt, later(now, p.drain()))
	case p.stop == "" && p.engine.failing.Load():
		p.halt(stopFailures, now)
		p.cutAt = min(p.cutAt, later(now, p.drain()))
	case p.stop == "" && now >= p.endAt:
		if p.catchUp(now); p.stop == "" && !p.starved {
			p.halt(stopDuration, now)
		}
	}
	if p.engine.aborted.Load() {
		p.cutAt = min(p.cutAt, now)
	}
	p.cutShown.Store(p.cutAt)
}

// drain is how long answers are waited for when the phase ends before its time.
func (p *phase) drain() int64 {
	if p.grace == never {
		return int64(defaultGrace)
	}
	return p.grace
}

// halt ends the sending.
func (p *phase) halt(why string, now int64) {
	if p.stop != "" && why == stopInterrupted {
		p.stop = why // it was draining already
		return
	}
	p.stop = why
	if n := p.ticks.len(); n > 0 {
		p.skipped[skipStopped] += int64(n)
	}
	p.ticks, p.arrival = queue[int64]{}, never
	for p.turns.len() > 0 {
		r := p.turns.pop().r
		p.cutShort(r.play, r.turn, now, skipCut)
	}
	for _, t := range p.delayed {
		p.cutShort(t.r.play, t.r.turn, now, skipCut)
	}
	p.delayed = nil
	p.source.close()
}

// settle cancels what outlived its grace, and notices the end.
func (p *phase) settle(now int64) {
	if now >= p.cutAt && !p.cancelled {
		p.cutTried = min(p.cutTried, now)
		p.cutOff()
	}
	if now >= later(p.cutTried, int64(watchdogMargin)) {
		p.giveUp(now)
	}
	if p.arrivals != nil && p.arrival == never && p.ticks.len() == 0 && p.noNew == "" {
		p.noNew = stopSchedule
	}
	if !p.sentAll.Load() && (p.stop != "" || p.noNew != "" && p.open == 0) {
		p.source.close()
		p.sentAll.Store(true)
		p.engine.clock.Wake() // the pacer waits for this
	}
	if p.live == 0 && p.reading == 0 && (p.stop != "" || p.noNew != "") && !p.over.Load() {
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
	p.cancelled = true
	for _, r := range p.onWire {
		r.late = true
		e.sender.Cancel(&r.x)
	}
}

// close sums the phase up.
func (p *phase) close(now int64) {
	res := &p.result
	res.End, res.Issued, res.Skipped = p.lastEnd, p.issued, p.skipped
	res.HeldUp = p.heldUp.Load()
	res.Stop = p.stop
	if res.Stop == "" {
		res.Stop = p.noNew
	}
	if p.rated && (p.cfg.RateRamp != nil || len(p.cfg.RateSeries) > 0) && p.arrivedAt > p.start {
		res.Rate = float64(p.arrived) / time.Duration(p.arrivedAt-p.start).Seconds()
	}
	res.Gauge = p.onGauge.result(now)
	if p.thinking {
		// With think time the wire cannot be full: what is held are sessions.
		h := p.held.result(now)
		res.Gauge.HeldShare, res.Gauge.SteadyStart, res.Gauge.SteadyEnd = h.HeldShare, h.SteadyStart, h.SteadyEnd
		res.Gauge.SteadyMean = math.NaN()
	}
	p.over.Store(true)
	p.engine.clock.Wake()
}
