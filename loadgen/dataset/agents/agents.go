// Package agents tells the agents of a coding session apart. A recorder that does
// not know about them writes their requests into one list. In goes the list, out
// come the requests of each agent.
//
// Which requests belong to one agent can be told from their hashes: an agent's
// next request begins with all blocks of its last one, is of the same model, and
// comes after that one was answered. What begins with a part of them is either
// the same agent after it has shortened its context, or another one that forked.
// It is the same agent if nobody ever goes on from the longer context; of
// several, the one that shares most blocks. The rule is that of AIPerf's loader.
package agents

import (
	"cmp"
	"slices"
)

// Request is what is told of a request.
type Request struct {
	Place  int     // in the list
	T, End float64 // when it was sent and answered, s
	Out    int64   // tokens of the answer
	Model  string
	Hashes []uint64 // of the blocks of its input
}

// Slack is how much earlier than the end of something a request may be that
// comes after it, in s: recorded times are rounded.
const Slack = 1e-6

// chain are the requests of one agent in the order of time.
type chain struct {
	list   []Request
	tail   Request // the last one with hashes
	fork   int     // the place of the request it forked from, −1 for none
	depth  int     // blocks that the two share
	merged bool    // it was the continuation of another chain
}

// A continuation that comes so late after a context of which it shares less is
// another session that has the same beginning.
const (
	longestSeam  = 3600 // s
	leastOverlap = 0.5
)

// titleTokens bounds the answer of a request that gives a session its title.
const titleTokens = 64

// Split takes the requests of one list apart: those of its main agent, and
// those of others by their first request.
func Split(list []Request) (main []Request, others [][]Request) {
	title, rest := withoutTitle(list)
	if len(rest) == 0 {
		return list, nil
	}
	s := splitting{forks: map[int][]int{}, chainOf: map[int]int{}}
	slices.SortStableFunc(rest, earlier)
	for _, q := range rest {
		s.add(q)
	}
	s.joinSeams()
	first := s.chainOf[rest[0].Place]
	for i := range s.chains {
		if c := &s.chains[i]; !c.merged && i != first {
			others = append(others, c.list)
		}
	}
	slices.SortStableFunc(others, func(a, b []Request) int { return earlier(a[0], b[0]) })
	main = append(title, s.chains[first].list...)
	if len(title) > 0 {
		slices.SortStableFunc(main, earlier)
	}
	return main, others
}

func earlier(a, b Request) int { return cmp.Or(cmp.Compare(a.T, b.T), cmp.Compare(a.Place, b.Place)) }

// withoutTitle sets the earliest request apart if it has nothing to do with the
// others, as one that asks for a title: it would count as the main agent. Its
// first block begins no other request, and its answer is short or none of its
// blocks comes again.
func withoutTitle(list []Request) (title, rest []Request) {
	list = slices.Clone(list)
	if len(list) < 2 {
		return nil, list
	}
	first := slices.MinFunc(list, earlier)
	if len(first.Hashes) == 0 {
		return nil, list
	}
	own := map[uint64]bool{}
	for _, h := range first.Hashes {
		own[h] = true
	}
	for _, q := range list {
		if q.Place == first.Place || len(q.Hashes) == 0 {
			continue
		}
		if q.Hashes[0] == first.Hashes[0] || first.Out > titleTokens &&
			slices.ContainsFunc(q.Hashes, func(h uint64) bool { return own[h] }) {
			return nil, list
		}
	}
	return []Request{first}, slices.DeleteFunc(list, func(q Request) bool { return q.Place == first.Place })
}

// splitting is a list while it is taken apart.
type splitting struct {
	chains  []chain
	forks   map[int][]int // chains by the place of the request they forked from
	chainOf map[int]int   // of a request with hashes, by its place
}

// add gives the request to the agent that it goes on with, else to a new one.
// One without hashes tells nothing: it stays with the first agent.
func (s *splitting) add(q Request) {
	hashed := slices.ContainsFunc(s.chains, func(c chain) bool { return len(c.tail.Hashes) > 0 })
	switch {
	case len(s.chains) == 0:
		s.chains = append(s.chains, chain{fork: -1})
		s.append(0, q)
		return
	case len(q.Hashes) == 0 || !hashed:
		s.append(0, q)
		return
	}
	goesOn, longest := -1, 0
	parent, depth := -1, 0
	for i := range s.chains {
		tail := s.chains[i].tail
		if len(tail.Hashes) == 0 {
			continue
		}
		n, shared := len(tail.Hashes), sharedBlocks(tail.Hashes, q.Hashes)
		if shared == n && n > longest && tail.Model == q.Model && tail.End <= q.T+Slack {
			goesOn, longest = i, n
		}
		if shared > depth || shared > 0 && shared == depth && n > len(s.chains[parent].tail.Hashes) {
			parent, depth = i, shared
		}
	}
	if goesOn >= 0 {
		s.append(goesOn, q)
		return
	}
	c := chain{fork: -1, depth: depth}
	if parent >= 0 {
		c.fork = s.chains[parent].tail.Place
		s.forks[c.fork] = append(s.forks[c.fork], len(s.chains))
	}
	s.chains = append(s.chains, c)
	s.append(len(s.chains)-1, q)
}

func (s *splitting) append(chain int, q Request) {
	c := &s.chains[chain]
	c.list = append(c.list, q)
	s.chainOf[q.Place] = chain
	if len(q.Hashes) > 0 {
		c.tail = q
	}
}

func sharedBlocks(a, b []uint64) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// joinSeams puts chains together: of those that forked from the last request of
// a chain, one is the agent itself with a shorter context. The others are
// compared anew with the request that is the last one then.
func (s *splitting) joinSeams() {
	var open []int
	for at := range s.forks {
		open = append(open, at)
	}
	slices.Sort(open)
	for done := map[int]bool{}; len(open) > 0; {
		at := open[0]
		open = open[1:]
		if done[at] {
			continue
		}
		done[at] = true
		owner := s.chainOf[at]
		if s.chains[owner].tail.Place != at {
			continue // somebody went on from here: all of them are agents of their own
		}
		forks := slices.DeleteFunc(slices.Clone(s.forks[at]), func(i int) bool { return s.chains[i].merged })
		same := s.continuation(s.chains[owner].tail, forks)
		if same < 0 {
			continue
		}
		s.merge(owner, same)
		tail := s.chains[owner].tail
		for _, i := range forks {
			if shared := sharedBlocks(tail.Hashes, s.chains[i].list[0].Hashes); i != same && shared > 0 {
				s.chains[i].fork, s.chains[i].depth = tail.Place, shared
				s.forks[tail.Place] = append(s.forks[tail.Place], i)
				done[tail.Place] = false
				if k, there := slices.BinarySearch(open, tail.Place); !there {
					open = slices.Insert(open, k, tail.Place)
				}
			}
		}
	}
}

// continuation is the chain that goes on from tail as the same agent, −1 for
// none: of the same model, later, and with the most blocks in common.
func (s *splitting) continuation(tail Request, forks []int) int {
	best := -1
	for _, i := range forks {
		c := &s.chains[i]
		first := c.list[0]
		gap := first.T - tail.End
		if c.depth == 0 || gap < -Slack || first.Model != tail.Model ||
			gap > longestSeam && float64(c.depth) < leastOverlap*float64(len(tail.Hashes)) {
			continue
		}
		if best < 0 || c.depth > s.chains[best].depth || c.depth == s.chains[best].depth &&
			first.T < s.chains[best].list[0].T {
			best = i
		}
	}
	return best
}

// merge puts the requests of one chain behind those of another.
func (s *splitting) merge(to, from int) {
	a, b := &s.chains[to], &s.chains[from]
	for _, q := range b.list {
		s.chainOf[q.Place] = to
	}
	a.list = append(a.list, b.list...)
	a.tail, b.merged = b.tail, true
}
