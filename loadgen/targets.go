package loadgen

import (
	"math"
	"slices"
	"strconv"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

// targets chooses where each request goes, when it goes. It belongs to whoever
// drives the engine.
type targets struct {
	choose   func(t *targets, r *request) int
	inFlight []int // requests on the wire, by target
	turn     int64 // of the round robin, in the share's own counting
	share    record.Share
	cycle    int64 // turns after which models and targets would meet again in the same pairs
}

// balancing are the ways to choose, by their names in the schema.
var balancing = map[string]func(*targets, *request) int{
	"":                (*targets).next,
	"round_robin":     (*targets).next,
	"session":         (*targets).ofSession,
	"least_in_flight": (*targets).idlest,
}

// newTargets are those of e, for requests to so many models. A session that has a
// connection for itself stays where it leads.
func newTargets(e *schema.Endpoint, models int, share record.Share) targets {
	n := max(1, len(e.URLs))
	t := targets{share: share, choose: balancing[e.URLStrategy], inFlight: make([]int, n), cycle: math.MaxInt64}
	if models > 1 {
		t.cycle = int64(lcm(models, n))
	}
	if t.choose == nil || e.ConnectionReuse == "sticky-user-sessions" {
		t.choose = (*targets).ofSession
	}
	return t
}

// lcm is the least common multiple.
func lcm(a, b int) int {
	gcd := a
	for r := b; r > 0; {
		gcd, r = r, gcd%r
	}
	return a / gcd * b
}

// inTurn is the target of turn i. Models take turns as targets do: two of each
// would meet in the same pairs for ever, and the slower model would make its
// target look slow. So after each cycle the targets begin one further on.
func (t *targets) inTurn(i int64) int { return int((i + i/t.cycle) % int64(len(t.inFlight))) }

// next is the target whose turn it is.
func (t *targets) next(*request) int {
	t.turn++
	return t.inTurn(t.share.ID(t.turn - 1))
}

// ofSession is the same target for all requests of a session, sessions in turn.
func (t *targets) ofSession(r *request) int { return t.inTurn(r.play.Index) }

// idlest is the target with the fewest requests on the wire, those of equal
// load in turn.
func (t *targets) idlest(*request) int {
	n, first := len(t.inFlight), t.inTurn(t.share.ID(t.turn))
	best := first
	for k := range n {
		if i := (first + k) % n; t.inFlight[i] < t.inFlight[best] {
			best = i
		}
	}
	t.turn += int64((best-first+n)%n) + 1
	return best
}

// aim chooses r's target.
func (e *engine) aim(r *request) {
	t := &e.targets
	if len(t.inFlight) > 1 {
		r.x.Target = t.choose(t, r)
	}
	t.inFlight[r.x.Target]++
}

// arrived notes that r is not on the wire any more.
func (e *engine) arrived(r *request) { e.targets.inFlight[r.x.Target]-- }

// addresses are what records call the targets: their URLs without queries and
// credentials. Targets that differ in nothing else have their number behind #.
type addresses struct {
	bases []string // URLs as they were given
	marks []string // "#1", or ""
	path  string   // of nearly all requests
	usual []string // addresses with that path
	hide  *secret.Masker
}

func newAddresses(urls []string, path string, hide *secret.Masker) addresses {
	a := addresses{hide: hide, bases: urls, path: path, marks: make([]string, len(urls))}
	if len(urls) == 0 {
		a.usual = []string{""}
	}
	for _, u := range urls {
		a.usual = append(a.usual, hide.Text(transport.PlainURL(u, path)))
	}
	plain := slices.Clone(a.usual)
	for i, u := range urls {
		for j, v := range urls {
			if plain[i] == plain[j] && u != v {
				a.marks[i] = "#" + strconv.Itoa(1+slices.Index(urls, u)) // a URL given twice is one target
				a.usual[i] = plain[i] + a.marks[i]
			}
		}
	}
	return a
}

// of is the address of requests to a target with a path, which may name a model.
func (a *addresses) of(target int, path string) string {
	if path == a.path || len(a.bases) == 0 {
		return a.usual[target]
	}
	return a.hide.Text(transport.PlainURL(a.bases[target], path)) + a.marks[target]
}
