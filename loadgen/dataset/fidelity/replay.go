// Package fidelity holds what was sent of a recorded data set against what was
// recorded: times, lengths, shared prefixes, and which request waits for which
// answer. In go a dataset.Set and the requests of a run in the order in which they
// ended, out comes a trace.Fidelity.
package fidelity

import (
	"slices"
	"time"

	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
)

// Replay holds what is sent of a trace against what was recorded. It has one
// user.
type Replay struct {
	rows    []trace.Row
	first   func(conversation string) (row int32, ok bool)
	block   int
	whole   func(row int32) bool // the row holds its whole history
	taken   []bool               // by row: it was sent once; later plays are no part of the trace
	ends    map[string]turnEnd   // the last turn of each conversation that ended
	zero    time.Duration        // the replay's time that is the trace's zero
	started bool
	sent    []trace.Sent
	trees   *forest // where conversations start others; else nil

	middle bool // sessions begin in their middle, and come more than once
	paused bool // the pauses of later turns are to be kept
	ratio  float64
}

type turnEnd struct {
	turn int64
	at   time.Duration
}

// onTime is how late or early a request may be and still count as on time.
const onTime = 10 * time.Millisecond

// New starts a comparison; nil when nothing recorded is played. Without a
// schedule the recorded times are none of its business.
func New(set *dataset.Set, scheduled bool) *Replay {
	p, first := &Replay{ends: map[string]turnEnd{}}, map[string]int32{}
	p.first = func(id string) (int32, bool) { row, ok := first[id]; return row, ok }
	if t, ok := set.Recording(); ok {
		p.block, p.ratio, p.first = t.Block, t.Ratio, t.First
		order := t.Sessions.Order()
		whole := make([]bool, 0, len(order))
		own := !scheduled || !slices.IsSorted(order) || len(order) < len(t.Sessions.Rows) // else the set's rows do
		if p.rows = t.Sessions.Rows; own {
			p.rows = make([]trace.Row, 0, len(order))
		}
		for i := range t.Sessions.Len() {
			for _, at := range t.Sessions.Of(i) {
				if own {
					p.rows = append(p.rows, t.Sessions.Rows[at])
				}
				whole = append(whole, t.Complete[i])
			}
		}
		p.whole = func(row int32) bool { return whole[row] }
		if set.Trees() {
			p.trees = newForest(t.Outlines)
		}
	} else if scheduled && set.Timed() {
		for i := range set.Len() {
			c := set.Outline(i)
			first[c.ID] = int32(len(p.rows))
			for k := range c.Turns {
				tn := &c.Turns[k]
				row := trace.Row{Session: c.ID, In: tn.ISL, Out: tn.MaxTokens, Timed: tn.Timestamp != nil}
				if row.Timed {
					row.At = *tn.Timestamp
				}
				p.rows = append(p.rows, row)
			}
		}
		p.whole = func(int32) bool { return false }
	} else if set.Trees() {
		p.trees = newForest(set.Each())
		for c := range set.Each() {
			first[c.ID] = int32(len(p.rows))
			p.rows = append(p.rows, make([]trace.Row, len(c.Turns))...)
		}
		p.whole = func(int32) bool { return false }
	} else {
		return nil
	}
	if !scheduled {
		for i := range p.rows {
			p.rows[i].Timed = false
		}
	}
	p.taken = make([]bool, len(p.rows))
	return p
}

// FromMiddle says that sessions are gone on from their middle and may come again:
// each play counts, and what is not sent is no part of it. Pauses are held
// against the recorded ones where they are to be kept.
func (p *Replay) FromMiddle(pauses bool) {
	p.middle, p.paused = true, pauses && p.block > 0
}

// Played is one request as it was played.
type Played struct {
	Conversation, Session, Parent string // Parent is the session that started it
	Turn                          int64
	Intended, Ended               time.Duration
}

// Add takes one request. Row and Follows of s are filled in here; its lengths
// count only where the request says as much as the row does.
func (p *Replay) Add(r Played, s trace.Sent) {
	conversation, turn, intended, ended := r.Conversation, r.Turn, r.Intended, r.Ended
	row, ok := p.first(conversation)
	if !ok {
		return
	}
	if p.trees != nil && !s.Primes {
		p.trees.add(r, s.At)
	}
	row += int32(turn)
	if int(row) >= len(p.rows) || p.taken[row] {
		return
	}
	if s.Primes {
		s.Row = int(row)
		p.sent = append(p.sent, s)
		return
	}
	p.taken[row] = !p.middle
	if p.middle {
		conversation = r.Session // another play has its own order
	}
	if r := &p.rows[row]; r.Timed && (!p.started || intended-r.At < p.zero) {
		p.zero, p.started = intended-r.At, true
	}
	before, ok := p.ends[conversation]
	s.Row, s.Follows = int(row), turn > 0 && (ok || !p.middle)
	if ok && before.turn == turn-1 {
		s.Early = s.At < before.at
		if p.paused && !p.trees.waits(r.Conversation, turn) {
			s.Paced, s.Due = true, before.at+p.pause(row)
		}
	}
	p.ends[conversation] = turnEnd{turn, ended}
	if turn > 0 && !p.whole(row) {
		s.In, s.Known = 0, -1 // the history comes on top of what the row says
	}
	p.sent = append(p.sent, s)
}

// pause is how long the turn of row waits behind the answer before it.
func (p *Replay) pause(row int32) time.Duration {
	if p.ratio != 0 {
		return files.Scale(p.rows[row].Delay, p.ratio)
	}
	return p.rows[row].Delay
}

// Fidelity is the verdict on the replay.
func (p *Replay) Fidelity() trace.Fidelity {
	for i := range p.sent {
		p.sent[i].At -= p.zero
	}
	p.zero = 0
	rows, primed := p.rows, 0
	if p.middle { // what is sent is all there is
		rows = make([]trace.Row, len(p.sent))
		for i := range p.sent {
			s := &p.sent[i]
			rows[i], s.Row = p.rows[s.Row], i
			if s.Primes {
				primed++
			}
		}
	}
	f := trace.Compare(rows, p.sent, p.block, onTime)
	f.Middle, f.Rows = p.middle, f.Rows-primed
	if p.trees != nil {
		if p.block == 0 && !p.middle { // no trace: nothing but the order was recorded
			f.Rows = p.trees.requests
			f.Missing = f.Rows - len(p.sent)
			f.Score = min(1, float64(len(p.sent))/float64(max(1, f.Rows)))
		}
		if all, kept := p.trees.kept(); all > 0 {
			f.Dependencies = float64(kept) / float64(all)
			f.Score = min(f.Score, f.Dependencies*f.Overlap())
		}
	}
	return f
}
