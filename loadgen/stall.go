package loadgen

import (
	"fmt"
	"math"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/pace"
	"aiperf.dev/aiperf/schema"
)

// defaultStall is how long a run waits for a sign of life while requests are under way.
const defaultStall = 600 * time.Second

// stall notices a server that keeps connections and says nothing any more: requests are
// on the wire, and for limit none has ended and no byte of any answer has come. That
// more requests are sent is no sign of the server's. It belongs to whoever drives.
type stall struct {
	limit int64  // pace.Never for ever
	sign  int64  // the last that is known
	due   int64  // when it is worth looking again
	over  string // why the run ended; "" while it has not
}

// newStall takes the setting. Without it, only a real network is watched: what a
// simulation leaves out between two events is no silence.
func newStall(e *schema.Endpoint, real bool) stall {
	s := stall{limit: pace.Never, sign: record.None, due: pace.Never}
	switch d := e.StallTimeout; {
	case d != nil && *d > 0 && !math.IsInf(float64(*d), 1):
		s.limit = int64(d.Go())
	case d == nil && real:
		s.limit = int64(defaultStall)
	}
	return s
}

// heard notes that something came at now.
func (s *stall) heard(now int64) {
	s.sign = now
	if s.limit != pace.Never {
		s.due = later(now, s.limit)
	}
}

// stallIfDue ends the run when no server has said anything for the limit. A request that
// was sent into silence of the user's making, such as a pause between turns, begins it.
func (p *phase) stallIfDue(now int64) {
	e := p.engine
	s := &e.stall
	if s.limit == pace.Never || s.over != "" || len(p.books.onWire) == 0 {
		return
	}
	if s.due == pace.Never { // the first request
		s.heard(now)
	}
	if now < s.due {
		return
	}
	first, waiting := int64(pace.Never), 0
	for _, of := range e.phases {
		for _, r := range of.books.onWire {
			first = min(first, r.freed)
			s.sign = max(s.sign, r.x.Heard())
			waiting++
		}
	}
	if first != pace.Never {
		s.sign = max(s.sign, first)
	}
	if now-s.sign < s.limit {
		s.due = later(s.sign, s.limit)
		return
	}
	s.over = fmt.Sprintf("phase %s stalled: %s under way, and nothing came from the server for %v (stall_timeout)",
		p.cfg.Name, words.Count(waiting, "request"), time.Duration(now-s.sign).Round(time.Second))
	e.stalled.Store(true)
	e.failing.Store(true)
}
