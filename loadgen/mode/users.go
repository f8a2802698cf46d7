package mode

import (
	"fmt"
	"math"
	"slices"
	"time"

	"aiperf.dev/aiperf/internal/heap"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/schema/fields"
)

var userCentric = Mode{
	Name: "user_centric", Title: "simulated users, each at its own pace",
	Doc: "Simulated users: each sends at its own pace, and who is through is followed by a fresh one.",
	Takes: []fields.Setting{
		{Name: "rate", Needed: "give requests per second (--user-centric-rate)", Or: []string{"rate_series"}},
		{
			Name: "users", Needed: "say how many users there are (--num-users)",
			Only: "use concurrency, or --user-centric-rate",
		},
	},
	Instead: map[string]string{"rate_series": "use rate", "rate_ramp": "drop it"},
	Patient: true, NeedsSet: true, Turns: 2,
	Expected: atRate,
	Artifact: func(p *schema.Phase, float func(float64) string) string {
		return fmt.Sprintf("user_centric-users%d-qps%s", p.Users, float(p.Rate))
	},
	open: func(_ *Mode, p *schema.Phase, root int64, set *dataset.Set) (Load, error) {
		arrivals, err := newUsers(p, root, set)
		if err != nil {
			return Load{}, err
		}
		sessions, err := newUsers(p, root, set)
		return Load{Arrivals: arrivals, Sessions: &players{users: sessions}, FollowUp: arrivals.followUp}, err
	},
}

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
	waiting heap.Heap[user]
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

// Before orders users by the time when they start.
func (a user) Before(b user) bool { return a.at < b.at || a.at == b.at && a.n < b.n }

func newUsers(p *schema.Phase, root int64, set *dataset.Set) (*users, error) {
	if p.Users < 1 || !(p.Rate > 0) {
		return nil, errorf(p, "a user_centric phase needs users and a rate above 0")
	}
	n := p.Users
	l := max(1, int(math.RoundToEven(float64(set.Turns())/float64(set.Len())))-1)
	u := &users{sampler: sampler(p, root, set), gap: float64(n) / p.Rate}
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
	u.waiting.Push(user{at, turns, u.n})
	u.n++
}

// start is the next user to begin: when, with which conversation, and how many
// of its turns are left.
func (u *users) start() (at time.Duration, c *dataset.Conversation, turns int) {
	who := u.waiting.Pop()
	if c = u.sampler.Next(); c != nil {
		turns = len(c.Turns)
	}
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

// followUp is due at the user's pace, and not before the answer: from then on
// the user goes on from there.
func (u *users) followUp(a Answered) (due int64, heldUp bool) {
	due = a.Intended + int64(seconds(u.gap))
	return max(a.End, due), a.End > due
}

// players plays the conversations of users, in the order in which they start.
type players struct {
	*users
	started int64
}

func (p *players) Next() (n int64, c *dataset.Conversation, turns int, ok bool) {
	_, c, turns = p.start()
	p.started++
	return p.started - 1, c, turns, c != nil
}

// sends is when every turn of every user is due, at least n of them, or those
// of as many users as sessions says (0: all).
func (u *users) sends(n int, sessions int64) []send {
	gap := seconds(u.gap)
	var all []send
	for i := int64(1); ; i++ {
		at, _, turns := u.start()
		for t := range turns {
			all = append(all, send{at + time.Duration(t)*gap, i - 1, t})
		}
		// Users start in order, so what lies before the latest start is complete.
		if last := i == sessions; last || len(all) >= n {
			slices.SortFunc(all, send.compare)
			if last || all[n-1].at <= at {
				return all
			}
		}
	}
}
