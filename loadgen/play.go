package loadgen

import (
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/transport"
)

// play is one session: a conversation being played. It belongs to whoever has
// its current request.
type play struct {
	conversation *dataset.Conversation
	turns        int   // how many of its turns are played
	index        int64 // ordinal in the phase: what its choices depend on
	num          int64 // ordinal in the run, given when it starts
	id           string
	model        string // unless the turn names one
	target       int
	history      []endpoint.Message
}

// request is one turn of a play on its way: rendered, waiting, on the wire,
// being read. Renderer, scheduler, client and finisher have it one after the
// other; nobody keeps it.
type request struct {
	x     transport.Exchange
	phase *phase
	play  *play
	turn  int

	model     string
	requestID string
	isl       int64 // tokens sent, None when nobody counts them
	broken    error // it could not be rendered: fails without being sent

	id         int64 // dispatch ordinal in the run
	intended   int64
	admitted   int64
	ended      int64 // ordinal of completion in the run
	place      int   // index in the scheduler's list of what is on the wire
	prefilling bool  // holds a prefill slot; the scheduler's
	answered   bool  // content was seen; the connection's
	late       bool  // cancelled because grace, or the run, was over
	goesOn     bool  // another turn follows its answer
	abandoned  bool  // given up by the watchdog; the scheduler's
}

// last tells whether no turn follows.
func (r *request) last() bool { return r.turn+1 >= r.play.turns }

// current is the turn that is sent.
func (r *request) current() *dataset.Turn { return &r.play.conversation.Turns[r.turn] }

// next is the turn after it.
func (r *request) next() *dataset.Turn { return &r.play.conversation.Turns[r.turn+1] }

// end is when the answer was over.
func (r *request) end() int64 {
	if r.x.End == record.None {
		return r.admitted
	}
	return r.x.End
}

// casting decides what is played, in order. It has one user.
type casting interface {
	// next is the next conversation and how many of its turns to play, or false
	// when the phase has no more.
	next() (c *dataset.Conversation, turns int, ok bool)
}

// sampled plays what the sampler says.
type sampled struct{ sampler *dataset.Sampler }

func (s sampled) next() (*dataset.Conversation, int, bool) {
	c := s.sampler.Next()
	return c, len(c.Turns), true
}

// next makes a trace the casting of its own schedule.
func (f *fixed) next() (*dataset.Conversation, int, bool) {
	if f.i == len(f.rows) {
		return nil, 0, false
	}
	f.i++
	r := f.rows[f.i-1]
	return r.conversation, r.turns, true
}

// next makes a population the casting of its own schedule.
func (u *users) next() (*dataset.Conversation, int, bool) {
	_, c, turns := u.start()
	return c, turns, true
}

// followUp is when the turn after r is due, r's answer having ended: a user's
// at its pace, a trace's by its time stamp, else after the think time; never
// before the answer.
func (p *phase) followUp(r *request) int64 {
	end := r.end()
	if p.userGap > 0 {
		due := r.intended + p.userGap
		if end > due {
			p.heldUp.Add(1)
		}
		return max(end, due)
	}
	turn := r.next()
	if p.trace != nil && turn.Timestamp != nil {
		return max(end, p.start+int64(*turn.Timestamp-p.trace.zero))
	}
	return end + int64(max(0, turn.Delay))
}

// think tells whether a conversation has pauses between its turns.
func think(c *dataset.Conversation) time.Duration {
	var sum time.Duration
	for i := 1; i < len(c.Turns); i++ {
		sum += max(0, c.Turns[i].Delay)
	}
	return sum
}
