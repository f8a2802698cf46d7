package dataset

import (
	"time"

	"aiperf.dev/aiperf/loadgen/dataset/trace"
)

// Replay holds what is sent of a trace against what was recorded. It has one
// user.
type Replay struct {
	rows    []trace.Row
	first   map[string]int32 // first row of a conversation
	block   int
	whole   func(row int32) bool // the row holds its whole history
	taken   []bool               // by row: it was sent once; later plays are no part of the trace
	ends    map[string]turnEnd   // the last turn of each conversation that ended
	zero    time.Duration        // the replay's time that is the trace's zero
	started bool
	sent    []trace.Sent
}

type turnEnd struct {
	turn int64
	at   time.Duration
}

// onTime is how late or early a request may be and still count as on time.
const onTime = 10 * time.Millisecond

// Replay starts a comparison; nil when nothing recorded is played. Without a
// schedule the recorded times are none of its business.
func (s *Set) Replay(scheduled bool) *Replay {
	p := &Replay{first: map[string]int32{}, ends: map[string]turnEnd{}}
	if t, ok := s.stored.(*traceStore); ok {
		p.block = t.block
		var whole []bool
		for i := range t.Len() {
			p.first[t.outline(i).ID] = int32(len(p.rows))
			for _, at := range t.session(i) {
				p.rows = append(p.rows, t.rows[at])
				whole = append(whole, t.complete[i])
			}
		}
		p.whole = func(row int32) bool { return whole[row] }
	} else if scheduled && s.Timed() {
		for i := range s.Len() {
			c := s.Outline(i)
			p.first[c.ID] = int32(len(p.rows))
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

// Add takes one request: turn of conversation, when it was intended, sent and
// ended. Row and Follows of s are filled in here; its lengths count only where
// the request says as much as the row does.
func (p *Replay) Add(conversation string, turn int64, intended, ended time.Duration, s trace.Sent) {
	row, ok := p.first[conversation]
	if !ok {
		return
	}
	row += int32(turn)
	if int(row) >= len(p.rows) || p.taken[row] {
		return
	}
	p.taken[row] = true
	if r := &p.rows[row]; r.Timed && (!p.started || intended-r.At < p.zero) {
		p.zero, p.started = intended-r.At, true
	}
	s.Row, s.Follows = int(row), turn > 0
	if before, ok := p.ends[conversation]; ok && before.turn == turn-1 {
		s.Early = s.At < before.at
	}
	p.ends[conversation] = turnEnd{turn, ended}
	if turn > 0 && !p.whole(row) {
		s.In, s.Known = 0, -1 // the history comes on top of what the row says
	}
	p.sent = append(p.sent, s)
}

// Fidelity is the verdict on the replay.
func (p *Replay) Fidelity() trace.Fidelity {
	for i := range p.sent {
		p.sent[i].At -= p.zero
	}
	p.zero = 0
	return trace.Compare(p.rows, p.sent, p.block, onTime)
}
