package loadgen

import (
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/loadgen/render"
	"aiperf.dev/aiperf/loadgen/transport"
)

// play is one session: a conversation being played. It belongs to whoever has
// its current request.
type play struct {
	render.Session
	turns int   // how many of its turns are played
	num   int64 // ordinal in the run, given when it starts
}

// request is one turn of a play on its way: rendered, waiting, on the wire,
// being read. Renderer, scheduler, client and finisher have it one after the
// other; nobody keeps it.
type request struct {
	x     transport.Exchange
	phase *phase
	play  *play
	turn  int

	render.Turn // what it was made of; with Err it fails without being sent

	id         int64 // dispatch ordinal in the run
	intended   int64
	admitted   int64
	ended      int64    // ordinal of completion in the run
	place      int      // index in the scheduler's list of what is on the wire
	prefilling bool     // holds a prefill slot; the scheduler's
	answered   bool     // content was seen; the connection's
	late       bool     // cancelled because grace, or the run, was over
	job        jobTimes // of a request of several steps
	goesOn     bool     // another turn follows its answer
	abandoned  bool     // given up by the watchdog; the scheduler's
}

// last tells whether no turn follows.
func (r *request) last() bool { return r.turn+1 >= r.play.turns }

// current is the turn that is sent.
func (r *request) current() *dataset.Turn { return &r.play.Conversation.Turns[r.turn] }

// next is the turn after it.
func (r *request) next() *dataset.Turn { return &r.play.Conversation.Turns[r.turn+1] }

// end is when the answer was over.
func (r *request) end() int64 {
	if r.x.End == record.None {
		return r.admitted
	}
	return r.x.End
}

// followUp is when the schedule wants the turn after r, whose answer has ended.
func (p *phase) followUp(r *request) int64 {
	due, heldUp := p.load.FollowUp(mode.Answered{PhaseStart: p.start, Intended: r.intended, End: r.end(), Next: r.next()})
	if heldUp {
		p.books.heldUp.Add(1)
	}
	return due
}

// think tells whether a conversation has pauses between its turns.
func think(c *dataset.Conversation) time.Duration {
	var sum time.Duration
	for i := 1; i < len(c.Turns); i++ {
		sum += max(0, c.Turns[i].Delay)
	}
	return sum
}
