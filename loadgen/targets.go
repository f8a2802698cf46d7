package loadgen

import "aiperf.dev/aiperf/schema"

// targets chooses where each request goes, when it goes. It belongs to whoever
// drives the engine.
type targets struct {
	choose   func(t *targets, r *request) int
	inFlight []int // requests on the wire, by target
	turn     int   // of the round robin
}

// balancing are the ways to choose, by their names in the schema.
var balancing = map[string]func(*targets, *request) int{
	"":                (*targets).next,
	"round_robin":     (*targets).next,
	"session":         (*targets).ofSession,
	"least_in_flight": (*targets).idlest,
}

// newTargets are those of e. A session that has a connection for itself stays
// where it leads.
func newTargets(e *schema.Endpoint) targets {
	t := targets{choose: balancing[e.URLStrategy], inFlight: make([]int, max(1, len(e.URLs)))}
	if t.choose == nil || e.ConnectionReuse == "sticky-user-sessions" {
		t.choose = (*targets).ofSession
	}
	return t
}

// next is the target whose turn it is.
func (t *targets) next(*request) int {
	i := t.turn
	t.turn = (t.turn + 1) % len(t.inFlight)
	return i
}

// ofSession is the same target for all requests of a session, sessions in turn.
func (t *targets) ofSession(r *request) int { return int(r.play.Index % int64(len(t.inFlight))) }

// idlest is the target with the fewest requests on the wire, those of equal
// load in turn.
func (t *targets) idlest(*request) int {
	n := len(t.inFlight)
	best := t.turn
	for k := range n {
		if i := (t.turn + k) % n; t.inFlight[i] < t.inFlight[best] {
			best = i
		}
	}
	t.turn = (best + 1) % n
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
