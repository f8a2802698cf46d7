package loadgen

import (
	"math"
	"time"

	"aiperf.dev/aiperf/internal/queue"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/loadgen/pace"
)

// A punctual client never stands still. It would have sent what was due while ours
// stood still, and what waits behind that would have waited less: a wait for a slot
// behind our own backlog is our lateness and not the server's queue. So the slots of an
// open loop are counted a second time, as the punctual client has them. It sends the
// same requests in the same order, and each holds its slots for as long as it really
// did, but begins when it is due and its slots are free.
//
// Which slot is free first may depend on answers that are not over yet. Then the
// request is settled later, and its record waits for that.
type punctual struct {
	limits  [3]limit // as the punctual client has them; by mode.SessionSlots …
	waiting queue.Queue[*stay]
	waits   [3]int // slots that those take

	behind int   // settled requests under way that it sent earlier
	late   int64 // at most by so much
	// All answers that were over by seen have been noticed: as a process that stood
	// still reads in any order what came meanwhile, this follows the clock in steps.
	seen, step int64

	spare []stay
}

// stay is one request and what it holds.
type stay struct {
	after      *stay // its session's request before, from whose end it is due; nil for the first
	ready, due int64 // when it could be sent but for the slots; and at the earliest, were the answer before it there
	freed      int64 // when its slots were free and it could go
	dispatched int64
	took       [3]bool

	own      int64    // how late it was sent after that
	start    int64    // when the punctual client sends it
	admitted int64    // the same by the clock of the real run
	settled  bool     // both are known
	isBehind bool     // it is under way, and the punctual client sent it earlier
	over     bool     // its answer is
	returned [3]int64 // when slots were given back before it was settled; record.None
	order    int64    // of its record, which waits for that; record.None when none does

	missed *lostTick // instead of a request: an arrival that was not sent
}

// lostTick is an arrival that had no slot when it was looked at, late by so much. lost
// is the request that it would have sent; nil where that is not known.
type lostTick struct {
	due, late int64
	lost      *request
	why       string // it is not sent, unless that is this client's doing
	booked    bool
}

const (
	// pause is the least lateness of a sending that is handed on to whoever waits for
	// the slot. Less is the price of a sending, which a busy slot would add up.
	pause = int64(time.Millisecond)
	// unread is how long it takes at most, while the process runs, to notice an answer.
	unread = 100 * int64(time.Millisecond)
)

// newPunctual is nil where nothing is due by a clock, or nothing limits it.
func newPunctual(all [3]mode.Limit, closed bool) *punctual {
	l := &punctual{}
	limited := false
	for i := range all {
		l.limits[i] = newLimit(all[i].N, all[i].Opens)
		limited = limited || l.limits[i].on
	}
	if closed || !limited {
		return nil
	}
	return l
}

// inherit takes over what pred still holds.
func (l *punctual) inherit(pred *phase) {
	for i, real := range pred.slots.all() {
		l.limits[i].held = real.held
		if q := pred.punctual; q != nil {
			l.limits[i].held = q.limits[i].held + q.waits[i]
		}
	}
}

// dispatch takes in a request, in the order of sending. due is when the schedule wants
// it whatever the answer before it, math.MinInt64 where it is due from the end of that.
func (l *punctual) dispatch(r *request, ready, due, now int64, opening bool) {
	if len(l.spare) == 0 {
		l.spare = make([]stay, 64) // one at a time would cost an allocation a request
	}
	s := &l.spare[0]
	l.spare = l.spare[1:]
	*s = stay{
		after: r.play.newest, ready: ready, due: due, freed: r.freed, dispatched: now, order: record.None,
		returned: [3]int64{record.None, record.None, record.None},
		took:     [3]bool{mode.SessionSlots: opening, mode.WireSlots: true, mode.PrefillSlots: r.prefilling},
	}
	for i, took := range s.took {
		if took {
			l.waits[i]++
		}
	}
	r.stay, r.play.newest = s, s
	l.waiting.Push(s)
}

// least is when the punctual client could send s but for the slots.
func (s *stay) least() int64 { return max(s.due, s.ready-s.after.shift()) }

// shift is by how much the punctual client has the answer earlier.
func (s *stay) shift() int64 {
	if s == nil {
		return 0
	}
	return s.freed - s.start + s.own
}

// mayHaveSlot reports whether a punctual client may have a slot at due, where ours has none now.
func (l *punctual) mayHaveSlot(due, now int64) bool {
	return l != nil && (l.waiting.Len() > 0 || l.behind > 0 || now-due >= pause)
}

// miss takes in an arrival that is not sent, in the order of sending. opening is one
// that no turn waits for.
func (l *punctual) miss(m *lostTick, opening, prefills bool) {
	s := &stay{ready: m.due, due: m.due, freed: m.due, missed: m, order: record.None}
	s.took = [3]bool{mode.SessionSlots: opening, mode.WireSlots: true, mode.PrefillSlots: prefills}
	l.waiting.Push(s)
}

// bookMissed books what still waits when a phase ends, by what is known.
func (p *phase) bookMissed() {
	if p.punctual == nil {
		return
	}
	for _, s := range p.punctual.waiting.All() {
		if m := s.missed; m != nil {
			p.book(m, m.why)
		}
	}
}

func (p *phase) book(m *lostTick, why string) {
	if !m.booked {
		m.booked = true
		p.lose(m.due, m.lost, why)
	}
}

// sent notes how late r went after it could. To open a connection is part of what a
// request takes, with any client.
func (s *stay) sent(r *request) {
	if s == nil {
		return
	}
	at := s.dispatched
	if x := &r.x; x.Sent != record.None {
		at = x.Sent - max(0, x.Connecting)
	}
	if own := at - s.freed; own >= pause {
		s.own = own
	}
}

// settle finds out when the punctual client sends what p sent, as far as that is
// known by now.
func (p *phase) settle(now int64) {
	l := p.punctual
	if l == nil {
		return
	}
	for i := range l.limits {
		l.limits[i].grow(p.start, now-p.start)
	}
	if now >= l.step+unread {
		l.seen, l.step = l.step, now
	}
	for l.waiting.Len() > 0 {
		s := l.waiting.First()
		free, known := p.freeFor(s)
		if !known {
			return
		}
		l.waiting.Pop()
		if m := s.missed; m != nil {
			why := m.why
			if free <= m.due && (m.late >= pause || free <= m.due-pause) {
				why = skipLate
			}
			p.book(m, why)
			continue
		}
		l.begin(s, free)
		for kind, at := range s.returned {
			if at != record.None {
				p.giveBack(kind, at, s)
			}
		}
		if s.order != record.None {
			p.engine.admitted(s.order, s.admitted)
		}
	}
}

// freeFor is since when the punctual client has slots for s, which is the first that
// waits. An answer that is not over yet may free one sooner than those that are free:
// not before seen by our clock, nor by more before that than such a request is late.
func (p *phase) freeFor(s *stay) (since int64, known bool) {
	l, underWay, late := p.punctual, false, int64(0)
	for q := p; q != nil; q = q.pred {
		underWay = underWay || len(q.books.onWire) > 0
		if q.punctual != nil {
			late = max(late, q.punctual.late)
			if q != p && q.punctual.waiting.Len() > 0 {
				return 0, false
			}
		}
	}
	since = math.MinInt64
	for i, took := range s.took {
		switch q := &l.limits[i]; {
		case !took || !q.on:
		case q.opened.Len() > 0:
			since = max(since, int64(q.opened.Top()))
		case underWay:
			since = pace.Never
		}
	}
	known = !underWay || since <= max(s.least(), l.seen-late)
	return since, known || s.missed != nil && s.due < l.seen-late // what comes is too late for it
}

// looks is when there may be more to settle.
func (l *punctual) looks() int64 {
	if l == nil || l.waiting.Len() == 0 {
		return pace.Never
	}
	return l.step + unread
}

// begin has the punctual client send s, whose slots are free since a time.
func (l *punctual) begin(s *stay, since int64) {
	least := s.least()
	s.start = max(least, since)
	// on the real clock: what the answer before it was late by counts once
	s.admitted = min(s.start+s.ready-least, s.freed)
	s.start = s.admitted - s.ready + least
	s.settled, s.after = true, nil
	for i, took := range s.took {
		if took {
			l.waits[i]--
			l.limits[i].acquire(s.start)
		}
	}
	if shift := max(s.shift(), s.dispatched-s.start); !s.over && shift >= pause {
		s.isBehind = true
		l.behind++
		l.late = max(l.late, shift)
	}
}

// end notes that the answer to s is over.
func (l *punctual) end(s *stay) {
	if s == nil {
		return
	}
	s.over = true
	if s.isBehind {
		if l.behind--; l.behind == 0 {
			l.late = 0
		}
	}
}

// giveBack returns a slot of one kind that s held, nil for a request of no account: as
// the punctual client does it, to p and to who follows it.
func (p *phase) giveBack(kind int, at int64, s *stay) {
	if s != nil && !s.settled {
		s.returned[kind] = at
		return
	}
	for q := p; q != nil; q = q.heir {
		if q.punctual != nil {
			q.punctual.limits[kind].release(at - s.shift())
		}
	}
}
