package fidelity

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"aiperf.dev/aiperf/loadgen/dataset"
)

// forest is what was played of conversations that start others, by session.
type forest struct {
	requests int // that the conversations have, each once
	byID     map[string]*dataset.Conversation
	// by what it starts: the one that sends nothing itself; nil where several do
	silent   map[string]*dataset.Conversation
	sessions map[string]*lived
	order    []*lived
}

// lived is one session. Times are −1 where nothing was sent.
type lived struct {
	of         *dataset.Conversation
	parent     string
	sent, ends []time.Duration
	last       time.Duration // when the newest answer was over
	children   []*lived
}

func newForest(all iter.Seq[*dataset.Conversation]) *forest {
	f := &forest{
		byID: map[string]*dataset.Conversation{}, silent: map[string]*dataset.Conversation{},
		sessions: map[string]*lived{},
	}
	for c := range all {
		f.byID[c.ID] = c
		for k := range c.Turns {
			if !c.Turns[k].Silent {
				f.requests++
			}
		}
		if c.Turns[0].Silent {
			c.EachStart(func(st *dataset.Start) {
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

func (f *forest) session(id, parent string, of *dataset.Conversation) *lived {
	l := f.sessions[id]
	if l == nil {
		l = &lived{of: of, parent: parent, sent: unset(len(of.Turns)), ends: unset(len(of.Turns))}
		f.sessions[id] = l
		f.order = append(f.order, l)
	}
	return l
}

func unset(n int) []time.Duration { return slices.Repeat([]time.Duration{-1}, n) }

// waits reports whether a turn waits for what others before it have started.
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
