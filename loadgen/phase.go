package loadgen

import (
	"container/heap"
	"math"
	"sync/atomic"
	"time"

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
	tally    tally

	// For snapshots, beside the fields that they shadow.
	startShown, endShown, cutShown atomic.Int64
}

// followTurn is a turn that waits, and since when it is due.
type followTurn struct {
	r   *request
	due int64
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

// delayedTurns is a heap, earliest first; equal ones in order of their sessions.
type delayedTurns []followTurn

func (h delayedTurns) Len() int { return len(h) }
func (h delayedTurns) Less(i, j int) bool {
	return h[i].due < h[j].due || h[i].due == h[j].due && h[i].r.play.num < h[j].r.play.num
}
func (h delayedTurns) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *delayedTurns) Push(x any)   { *h = append(*h, x.(followTurn)) }
func (h *delayedTurns) Pop() any {
	old := *h
	x := old[len(old)-1]
	old[len(old)-1] = followTurn{}
	*h = old[:len(old)-1]
	return x
}
