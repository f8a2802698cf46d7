package loadgen

import (
	"sync/atomic"

	"aiperf.dev/aiperf/internal/record"
)

// books are what a phase knows of what it did: sessions and requests under way,
// counts, levels over time. They decide nothing.
type books struct {
	issued, started int64 // requests dispatched, sessions begun
	live            int   // sessions that are not over
	open            int   // of these, with turns still to send
	reading         int   // answers being read for the turn after them
	thinking        bool  // some conversation has pauses between its turns
	onWire          []*request
	lastEnd         int64
	lastWhole       int64 // of what was not cut off; record.None before

	skipped map[string]int64 // turns and arrivals that were not sent, by reason
	unsent  int64            // of these, those that were due by the schedule

	branches branches // of sessions that start others

	requests, sessions gauge // levels: on the wire, held
	residence          int64 // Σ end − sent, ns

	// Read while the phase runs.
	inFlight, sent atomic.Int64
	heldUp         atomic.Int64 // turns of users whose time came before their answer
	tally          tally
}

// tally counts how the requests of a phase ended.
type tally struct {
	ok, failed, cancelled, cut atomic.Int64
	missed                     atomic.Int64 // of those that failed: no text where a setting says that it is
}

// all is how many have ended.
func (t *tally) all() int64 {
	return t.ok.Load() + t.failed.Load() + t.cancelled.Load() + t.cut.Load()
}

func newBooks() books { return books{skipped: map[string]int64{}, lastWhole: record.None} }

// begin starts the levels.
func (b *books) begin(target int, now int64) {
	b.lastEnd = now
	b.requests, b.sessions = newGauge(target, now), newGauge(target, now)
}

// dispatch notes that r goes on the wire.
func (b *books) dispatch(r *request, now int64) {
	r.place = len(b.onWire)
	b.onWire = append(b.onWire, r)
	b.requests.enter(now)
	b.inFlight.Add(1)
	b.sent.Add(1)
	b.issued++
}

// answered notes that r is not on the wire any more.
func (b *books) answered(r *request) {
	last := len(b.onWire) - 1
	b.onWire[r.place] = b.onWire[last]
	b.onWire[r.place].place = r.place
	b.onWire[last] = nil
	b.onWire = b.onWire[:last]
	end := r.end()
	b.requests.leave(end)
	b.inFlight.Add(-1)
	if b.lastEnd = max(b.lastEnd, end); !r.late {
		b.lastWhole = max(b.lastWhole, end)
	}
	if r.x.Sent != record.None {
		b.residence += end - r.x.Sent
	}
}

// startPlay notes that a session begins with r.
func (b *books) startPlay(r *request) {
	b.started++
	b.live++
	b.branches.open(r)
	if !r.ends() {
		b.open++
		c := r.play.Conversation
		// sessions wait for what they start
		b.thinking = b.thinking || think(c) > 0 || c.Requests() > int64(len(c.Turns))
	}
}

// skip notes what is not sent.
func (b *books) skip(why string, n int64) {
	if n > 0 {
		b.skipped[why] += n
	}
}

// sum fills in what was done.
func (b *books) sum(res *PhaseResult, now int64) {
	res.End, res.Issued, res.Skipped, res.Unsent = b.lastEnd, b.issued, b.skipped, b.unsent
	res.Answered = b.lastWhole
	res.HeldUp = b.heldUp.Load()
	res.Gauge = b.requests.result(now, b.lastWhole)
	if b.thinking {
		// With think time the wire cannot be full: what is held are sessions.
		h := b.sessions.result(now, b.lastWhole)
		h.Mean, h.Max = res.Gauge.Mean, res.Gauge.Max
		res.Gauge = h
	}
	res.Gauge.Residence = b.residence
}

// branches are the counts of one phase.
type branches struct{ record.Branches }

// begin notes that a session starts another one, and at which time the first
// request of that is due.
func (b *branches) begin(first *request, at int64) {
	b.Spawned++
	if first.current().Timestamp != nil && first.intended > at {
		b.Delayed++
	}
}

// open notes that a session begins that none started.
func (b *branches) open(first *request) {
	if first.silent {
		b.Graphs++
	}
}

// release notes that a turn has nothing to wait for any more; over says that the
// phase ended meanwhile.
func (b *branches) release(over bool) {
	if over {
		b.Suppressed++
		return
	}
	b.Resumed++
}

// end notes that pl is over, in whose turn, and why it does not go on; "" where
// nothing was left.
func (b *branches) end(pl *play, turn int, why string) {
	switch {
	case pl.beside && why != skipCut: // AIPerf does not follow these
	case pl.from == "":
		if why == "" && pl.Conversation.Turns[0].Silent {
			b.GraphsDone++
		}
	case why == skipFailed:
		b.Failed++
	case why == "":
		b.Completed++
	default:
		if b.Truncated++; turn == 0 {
			b.Spawned--
		}
	}
}

// failed reports whether an answer ended in an error that is not a cancellation on
// purpose.
func (r *request) failed() bool {
	return !r.silent && r.x.Status != record.OK && r.x.Status != record.Cancelled
}
