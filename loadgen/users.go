package loadgen

import (
	"container/heap"
	"math"
	"time"

	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/schema"
)

// users is a population of N users at rate q that is in its steady state from
// the start. Each user sends every N/q, users are 1/q apart, and a user that is
// through its conversation is followed by a fresh one, done or not.
//
// With L = max(1, round(mean turns) − 1) and a = (N − i)·L, user i of 0..N−1
// has L − ⌊a/N⌋ turns left (none: it is skipped) and starts in slot
// N − (a mod N), or, when N and L have a common divisor, in slot
// N − (i·step mod N), step being the least integer above 1 coprime to N. Slot s
// is at s/q. One fresh user starts in slot 0.
type users struct {
	waiting userHeap
	sampler *dataset.Sampler
	gap     float64 // s between the turns of one user
	n       int64   // users planned so far: breaks ties
}

// user is somebody who will start a conversation.
type user struct {
	at    float64 // s
	turns int     // at most, 0 for the whole conversation
	n     int64
}

func newUsers(p *schema.Phase, root int64, set *dataset.Set) (*users, error) {
	switch {
	case set == nil:
		return nil, errNoSet
	case p.Users < 1 || !(p.Rate > 0):
		return nil, errorf(p, "a user_centric phase needs users and a rate above 0")
	}
	n := p.Users
	l := max(1, int(math.RoundToEven(float64(set.Turns())/float64(set.Len())))-1)
	u := &users{sampler: set.Sampler(samplerSeed(root, p)), gap: float64(n) / p.Rate}
	u.add(0, 0)
	for i := range n {
		a := (n - i) * l
		if left := l - a/n; left > 0 {
			u.add(float64(startSlot(n, l, i))/p.Rate, left)
		}
	}
	return u, nil
}

// startSlot is the slot of user i in 1..N.
func startSlot(n, l, i int) int {
	if gcd(n, l) > 1 {
		return n - i*coprimeStep(n)%n
	}
	return n - (n-i)*l%n
}

// coprimeStep is the least integer above 1 coprime to n, 1 when n ≤ 2.
func coprimeStep(n int) int {
	if n <= 2 {
		return 1
	}
	for s := 2; ; s++ {
		if gcd(n, s) == 1 {
			return s
		}
	}
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (u *users) add(at float64, turns int) {
	heap.Push(&u.waiting, user{at, turns, u.n})
	u.n++
}

// start is the next user to begin: when, with which conversation, and how many
// of its turns are left.
func (u *users) start() (at time.Duration, c *dataset.Conversation, turns int) {
	who := heap.Pop(&u.waiting).(user)
	c = u.sampler.Next()
	turns = len(c.Turns)
	if who.turns > 0 {
		turns = min(turns, who.turns)
	}
	u.add(who.at+float64(turns)*u.gap, 0)
	return seconds(who.at), c, turns
}

func (u *users) Next() (time.Duration, bool) {
	at, _, _ := u.start()
	return at, true
}

// userHeap is a heap of users, earliest first.
type userHeap []user

func (h userHeap) Len() int { return len(h) }
func (h userHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].n < h[j].n
}
func (h userHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *userHeap) Push(x any)   { *h = append(*h, x.(user)) }
func (h *userHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
