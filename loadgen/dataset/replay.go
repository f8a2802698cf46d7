package dataset

import (
	"cmp"
	"slices"
	"time"

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

// Replay starts a comparison; nil when nothing recorded is played. Without a
// schedule the recorded times are none of its business.
func (s *Set) Replay(scheduled bool) *Replay {
	p, first := &Replay{ends: map[string]turnEnd{}}, map[string]int32{}
	p.first = func(id string) (int32, bool) { row, ok := first[id]; return row, ok }
	if t, ok := s.stored.(*traceStore); ok {
		p.block, p.ratio = t.block, t.ratio
		whole := make([]bool, 0, len(t.order))
		own := !scheduled || !slices.IsSorted(t.order) || len(t.order) < len(t.rows) // else the store's rows do
		if p.rows = t.rows; own {
			p.rows = make([]trace.Row, 0, len(t.order))
		}
		p.first = t.firstRows()
		for i := range t.sessions() {
			for _, at := range t.session(i) {
				if own {
					p.rows = append(p.rows, t.rows[at])
				}
				whole = append(whole, t.complete[i])
			}
		}
		p.whole = func(row int32) bool { return whole[row] }
		if t.kids != nil {
			p.trees = newForest(s)
		}
	} else if scheduled && s.Timed() {
		for i := range s.Len() {
			c := s.Outline(i)
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
	} else if s.Trees() {
		p.trees = newForest(s)
		for c := range s.Each() {
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

// forest is what was played of conversations that start others, by session.
type forest struct {
	requests int // that the conversations have, each once
	byID     map[string]*Conversation
	silent   map[string]*Conversation // by what it starts: the one that sends nothing itself; nil where several do
	sessions map[string]*lived
	order    []*lived
}

// lived is one session. Times are −1 where nothing was sent.
type lived struct {
	of         *Conversation
	parent     string
	sent, ends []time.Duration
	last       time.Duration // when the newest answer was over
	children   []*lived
}

func newForest(s *Set) *forest {
	f := &forest{byID: map[string]*Conversation{}, silent: map[string]*Conversation{}, sessions: map[string]*lived{}}
	all := s.Each()
	if t, ok := s.stored.(*traceStore); ok {
		all = t.each(t.outline)
	}
	for c := range all {
		f.byID[c.ID] = c
		for k := range c.Turns {
			if !c.Turns[k].Silent {
				f.requests++
			}
		}
		if c.Turns[0].Silent {
			c.eachStart(func(st *Start) {
				if other, ok := f.silent[st.ID]; ok && other != c {
					f.silent[st.ID] = nil
				} else {
					f.silent[st.ID] = c
				}
			})
		}
	}
	return f
}

func (f *forest) session(id, parent string, of *Conversation) *lived {
	l := f.sessions[id]
	if l == nil {
		l = &lived{of: of, parent: parent, sent: unset(len(of.Turns)), ends: unset(len(of.Turns))}
		f.sessions[id] = l
		f.order = append(f.order, l)
	}
	return l
}

func unset(n int) []time.Duration { return slices.Repeat([]time.Duration{-1}, n) }

// waits tells whether a turn waits for what others before it have started.
func (f *forest) waits(conversation string, turn int64) bool {
	if f == nil {
		return false
	}
	c := f.byID[conversation]
	for i := range c.Turns {
		for k := range c.Turns[i].Starts {
			if int64(c.Turns[i].Starts[k].JoinAt) == turn {
				return true
			}
		}
	}
	return false
}

func (f *forest) add(r Played, at time.Duration) {
	l := f.session(r.Session, r.Parent, f.byID[r.Conversation])
	if int(r.Turn) < len(l.sent) {
		l.sent[r.Turn], l.ends[r.Turn], l.last = at, r.Ended, max(l.last, r.Ended)
	}
}

// kept counts the requests that depend on an answer, and those of them that
// were sent after all answers that they depend on.
func (f *forest) kept() (all, kept int) {
	for _, l := range slices.Clone(f.order) {
		up := f.sessions[l.parent]
		if up == nil && l.parent != "" && f.silent[l.of.ID] != nil {
			up = f.session(l.parent, "", f.silent[l.of.ID]) // it sent nothing, so no request names it
		}
		if up != nil {
			up.children = append(up.children, l)
		}
	}
	begun := map[*lived]time.Duration{} // when a child could begin; absent: nothing is known
	// A tree's sessions are gone through from the top, so that what starts a
	// session is known before the session.
	for _, root := range f.order {
		if f.sessions[root.parent] != nil {
			continue
		}
		for todo := []*lived{root}; len(todo) > 0; {
			l := todo[len(todo)-1]
			todo = append(todo[:len(todo)-1], l.children...)
			a, k := l.judge(begun)
			all, kept = all+a, kept+k
		}
	}
	return all, kept
}

// judge goes through the turns of one session and says when its children could
// begin.
func (l *lived) judge(begun map[*lived]time.Duration) (all, kept int) {
	ready, known := begun[l]
	waiting := map[int][]*lived{} // by turn: children that it waits for
	starts := map[string][]int{}  // by conversation: the turns that start it, −1 before the first
	joins := map[string][]int{}
	for i := range l.of.Before {
		starts[l.of.Before[i].ID] = append(starts[l.of.Before[i].ID], -1)
		joins[l.of.Before[i].ID] = append(joins[l.of.Before[i].ID], 0)
	}
	for k := range l.of.Turns {
		for _, s := range l.of.Turns[k].Starts {
			starts[s.ID], joins[s.ID] = append(starts[s.ID], k), append(joins[s.ID], s.JoinAt)
		}
	}
	slices.SortStableFunc(l.children, func(a, b *lived) int { return cmp.Compare(a.sent[0], b.sent[0]) })
	from := map[int][]*lived{}
	nth := map[string]int{}
	for _, c := range l.children { // the n-th of a conversation is the one that its n-th start began
		n := nth[c.of.ID]
		nth[c.of.ID]++
		if n >= len(starts[c.of.ID]) {
			continue
		}
		k := starts[c.of.ID][n]
		from[k] = append(from[k], c)
		if j := joins[c.of.ID][n]; j > 0 {
			waiting[j] = append(waiting[j], c)
		}
	}
	begins := max(0, slices.IndexFunc(l.sent, func(at time.Duration) bool { return at >= 0 }))
	if begins > 0 && l.of.Turns[begins-1].Silent {
		begins = 0 // nothing was left out
	}
	for k := begins; k < len(l.of.Turns); k++ {
		for _, c := range waiting[k] {
			ready, known = max(ready, c.last), true
		}
		done, sent := l.ends[k], l.sent[k] >= 0
		if l.of.Turns[k].Silent {
			done = ready
		} else if sent && known {
			if all++; l.sent[k] >= ready {
				kept++
			}
		}
		if !sent && !l.of.Turns[k].Silent {
			break
		}
		known = known || sent
		for _, c := range from[k] {
			if known {
				begun[c] = done
			}
		}
		ready = done
	}
	return all, kept
}
