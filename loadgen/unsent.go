package loadgen

import (
	"aiperf.dev/aiperf/internal/record"
)

// What the schedule wanted and was never sent leaves a record, too: nobody was
// served, which is worse than any latency, and leaving it out would make an
// overloaded server look fast.

// dropTick loses an arrival. lost is the request that it would have sent, where
// that is known.
func (p *phase) dropTick(due int64, lost *request, why string) {
	// another arrival sends, or sent, what it was for
	if lost == nil && (why == skipNoTurn || p.stops.why == stopRequests) {
		p.books.skip(why, 1)
		return
	}
	p.lose(due, lost, why)
}

// lose books an arrival that nothing else makes up for.
func (p *phase) lose(due int64, lost *request, why string) {
	p.books.skip(why, 1)
	if lost == nil {
		p.unsent(due, nil, 0, why)
		return
	}
	p.unsent(due, lost.play, 0, why)
	p.engine.maker.recycle(lost)
}

// dropWaiting loses an arrival that still waits when the phase stops. What has come to
// the end of its time by the clock asks whose doing that is: where nothing limits the
// load, nothing but this client held it back.
func (p *phase) dropWaiting(due, now int64) {
	byClock := p.stops.why == stopDuration && !p.load.Closed
	switch {
	case byClock && p.punctual == nil:
		p.lose(due, nil, skipLate)
	case byClock && p.punctual.mayHaveSlot(due, now):
		p.punctual.miss(&lostTick{due: due, late: now - due, why: skipStopped},
			p.wait.turns.Len() == 0, p.slots.countsPrefill)
	default:
		p.dropTick(due, nil, skipStopped)
	}
}

// dropTurn loses a follow-up that waits, and the rest of its session.
func (p *phase) dropTurn(t followTurn, now int64) {
	pl, turn := t.r.play, t.r.turn
	if !p.load.EveryTurn && !p.load.Closed && t.due <= now && t.due < p.stops.end && !p.stamped(pl, turn) {
		p.unsent(t.due, pl, turn, skipCut)
	}
	p.cutShort(pl, turn, now, skipCut)
}

// stamped reports whether turn t of pl has a time of its own in the schedule.
func (p *phase) stamped(pl *play, t int) bool {
	return p.load.DueAt != nil && pl.Conversation.Turns[t].Timestamp != nil
}

// unsentTurns are the turns from t on that the schedule wanted: by now when the
// phase has stopped, by its end when only the session has.
func (p *phase) unsentTurns(pl *play, t int, now int64, why string) {
	for ; t < pl.turns; t++ {
		if !p.stamped(pl, t) {
			continue
		}
		if due := p.start + int64(p.load.DueAt(&pl.Conversation.Turns[t])); due < p.stops.end &&
			(due <= now || p.stops.why == "") {
			p.unsent(due, pl, t, why)
		}
	}
}

// unsent books a request that was due and is never sent; pl is nil where the
// session was not known yet.
func (p *phase) unsent(due int64, pl *play, turn int, why string) {
	p.books.unsent++
	if p.engine.unsent == nil {
		return
	}
	rec := record.New()
	rec.RequestID, rec.Phase, rec.Warmup = -1-p.engine.share.ID(p.engine.dropped), p.cfg.Name, p.warmup
	p.engine.dropped++
	rec.Status, rec.ErrorKind, rec.ErrorMessage = record.Unsent, why, "never sent: "+unsentWords[why]
	rec.Intended, rec.Open = due, !p.load.Closed
	rec.Measured = p.counts()
	if pl != nil {
		rec.ConversationID, rec.SessionID, rec.Turn, rec.Model = pl.Conversation.ID, pl.ID, pl.number(turn), pl.Model
		rec.ParentSession, rec.RootSession, rec.Depth = pl.from, pl.root, pl.depth
	}
	p.engine.unsent(&rec)
}

// counts reports whether what the phase does counts in the results.
func (p *phase) counts() bool { return !p.warmup && !p.cfg.ExcludeFromResults }

var unsentWords = map[string]string{
	skipOnCap:   "no slot was free when it was due",
	skipLate:    "nothing held it back when it was due, but this client had stood still",
	skipStopped: "it still waited when the phase stopped",
	skipCut:     "the phase stopped before this turn",
	skipFailed:  "the turn before it failed",
}
