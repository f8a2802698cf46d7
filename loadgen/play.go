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

	from, root string // ids of the session that started it, "" for none, and of the first of its tree
	depth      int64
	beside     bool // it began together with the session that started it

	// The rest is the scheduler's. A conversation that starts others is played
	// with these as one tree, which holds one session slot.
	tree     *tree
	parent   *play       // the one that waits for this one; nil: nobody does
	joinAt   int         // the turn at which it does
	owed     map[int]int // by turn: sessions that it waits for
	held     *followTurn // the turn that waits for them
	intended int64       // when the newest turn was due
	newest   *stay       // of its newest request, or of the one whose answer it waited for
}

// number is the place of turn t in the whole conversation.
func (pl *play) number(t int) int64 { return int64(pl.Conversation.Skipped + t) }

// tree is a session with all that it starts.
type tree struct {
	live int // sessions of it that are not over
	busy int // requests of it that are under way, or whose answers are being read
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
	freed      int64    // when its slots were free and it could go
	stay       *stay    // nil where a wait for slots is of no account; the scheduler's
	admitted   int64    // as freed, with a client that never stands still
	unsettled  bool     // that is not known yet; see stay
	ended      int64    // ordinal of completion in the run
	place      int      // index in the scheduler's list of what is on the wire
	prefilling bool     // holds a prefill slot; the scheduler's
	answered   bool     // content was seen; the connection's
	late       bool     // cancelled because grace, or the run, was over
	job        jobTimes // of a request of several steps
	goesOn     bool     // another turn follows its answer, or what the turn starts
	abandoned  bool     // given up by the watchdog; the scheduler's
	shunned    bool     // nothing is sent: its server is gone; see outages
	silent     bool     // nothing is sent: its turn only starts others, or waited for them
	slotless   bool     // it takes no slot

	starts []*request // of the first turn: first requests of what begins together with it
}

// last reports whether no turn follows.
func (r *request) last() bool { return r.turn+1 >= r.play.turns }

// ends reports whether nothing follows: no turn, and nothing that r's turn starts.
func (r *request) ends() bool { return r.last() && len(r.current().Starts) == 0 }

// current is the turn that is sent.
func (r *request) current() *dataset.Turn { return &r.play.Conversation.Turns[r.turn] }

// next is the turn after it.
func (r *request) next() *dataset.Turn { return &r.play.Conversation.Turns[r.turn+1] }

// end is when the answer was over.
func (r *request) end() int64 {
	if r.x.End == record.None {
		return r.freed
	}
	return r.x.End
}

// followUp is when the schedule wants the turn after r, whose answer has ended.
func (p *phase) followUp(r *request) int64 {
	due, heldUp := p.load.FollowUp(mode.Answered{
		PhaseStart: p.start, Intended: r.intended, End: r.end(),
		Next: r.next(),
	})
	if heldUp {
		p.books.heldUp.Add(1)
	}
	return due
}

// startAt is when the schedule wants the first turn of a session that another
// one starts at a time: at its own where the schedule has one, else after its
// delay.
func (p *phase) startAt(first *dataset.Turn, at int64) int64 {
	if p.load.DueAt != nil && first.Timestamp != nil {
		return p.start + int64(p.load.DueAt(first))
	}
	return later(at, int64(max(0, first.Delay)))
}

// requestsLeft is how many requests of pl are not sent when turn and all later
// ones are not, with what they start.
func requestsLeft(pl *play, turn int) int64 {
	return pl.Conversation.RequestsFrom(turn) - pl.Conversation.RequestsFrom(pl.turns)
}

// goOn takes in what follows an answer: the sessions that it starts, and the
// next turn. All sessions are known before any of them can be over.
func (p *phase) goOn(ev event, now int64) {
	p.books.reading--
	ev.play.tree.busy--
	p.adopt(ev.play, ev.starts)
	for _, r := range ev.starts {
		r.play.newest = ev.play.newest
		p.books.branches.begin(r, ev.answered)
		p.ready(followTurn{r: r, due: r.intended, answered: ev.answered}, now)
	}
	switch {
	case ev.r != nil:
		p.ready(followTurn{r: ev.r, due: ev.at, answered: ev.answered}, now)
	case ev.turn+1 >= ev.play.turns:
		p.books.open--
		p.playOver(ev.play, ev.turn, ev.answered, "")
	}
	p.capTreeIdle(ev.play.tree, ev.answered)
}

// adopt makes the sessions of first requests part of pl's tree.
func (p *phase) adopt(pl *play, first []*request) {
	for _, r := range first {
		child := r.play
		child.num, child.tree = p.engine.plays, pl.tree
		p.engine.plays++
		pl.tree.live++
		p.books.live++
		p.books.open++
		if child.parent = nil; child.joinAt > 0 && child.joinAt < pl.turns {
			child.parent = pl
			if pl.owed == nil {
				pl.owed = map[int]int{}
			}
			pl.owed[child.joinAt]++
		}
	}
}

// ready takes in a turn whose predecessor is answered. It waits for its time,
// and before that for the sessions that it joins.
func (p *phase) ready(t followTurn, now int64) {
	pl := t.r.play
	switch {
	case pl.owed[t.r.turn] > 0:
		pl.held = &t
		p.books.branches.Suspended++
	case p.stops.why != "":
		p.dropTurn(t, now)
	default:
		p.wait.add(t, now, p.stops.end)
	}
}

// joined notes that a session is over that another one waits for at a turn. The last
// one lets the turn go, whose think time begins then.
func (p *phase) joined(child *play, at int64) {
	pl, turn := child.parent, child.joinAt
	pl.owed[turn]--
	t := pl.held
	if pl.owed[turn] > 0 || t == nil || t.r.turn != turn {
		return
	}
	pl.held = nil
	p.books.branches.release(p.stops.why != "")
	if at > t.answered {
		t.answered, pl.newest = at, child.newest
		t.due, _ = p.load.FollowUp(mode.Answered{
			PhaseStart: p.start, Intended: pl.intended, End: at,
			Next: t.r.current(),
		})
	}
	p.ready(*t, at)
}

// think reports whether a conversation has pauses between its turns.
func think(c *dataset.Conversation) time.Duration {
	var sum time.Duration
	for i := 1; i < len(c.Turns); i++ {
		sum += max(0, c.Turns[i].Delay)
	}
	return sum
}
