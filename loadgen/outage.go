package loadgen

import (
	"fmt"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/schema"
)

// A server that is gone refuses connections within microseconds. A closed loop
// would try thousands of times a second, which measures nothing: a user whose
// request found no server waits before the next one. So a slot rests after such
// a failure for as long as the outage has lasted, which doubles its pause each
// time. A schedule goes on, and dials no more often than that.
const (
	shortestPause = int64(50 * time.Millisecond)
	longestPause  = int64(time.Second)
)

// defaultUnreachable is how long a run goes on without any connection.
const defaultUnreachable = 10 * time.Second

// outage is a target that does not answer.
type outage struct {
	since      int64 // when that began; record.None while it answers
	next       int64 // when a schedule dials again
	kind, text string
}

// pause is how long to wait before the next attempt.
func (o *outage) pause(now int64) int64 {
	return min(max(now-o.since, shortestPause), longestPause)
}

// outages are what the engine knows of its targets. They belong to whoever drives it.
type outages struct {
	limit  int64    // without a connection to any target, after which the run ends
	of     []outage // by target
	alone  int64    // since when there has been no connection to any; record.None while there is one
	failed int64    // requests that found no connection since then

	over   string // why the run ended for want of a connection; "" while it has not
	before []gap  // outages that are over
}

// gap is a time without any connection, and the requests that failed in it.
type gap struct{ lasted, failed int64 }

func newOutages(e *schema.Endpoint) outages {
	o := outages{limit: int64(defaultUnreachable), of: make([]outage, max(1, len(e.URLs))), alone: record.None}
	if d := e.UnreachableTimeout; d != nil {
		o.limit = int64(d.Go())
	}
	for i := range o.of {
		o.of[i].since = record.None
	}
	return o
}

// heard notes how r ended, and returns how long its user waits before the next
// request: 0 unless there was nobody to answer it.
func (o *outages) heard(r *request, now int64) (pause int64) {
	t, x := &o.of[r.x.Target], &r.x
	switch {
	case x.FirstByte != record.None:
		t.since = record.None
		o.connected(now)
		return 0
	case x.Status != record.Connection: // an end of our own making says nothing about the server
		return 0
	case r.shunned: // nothing was tried
		o.failed++
		return t.pause(now)
	}
	began := r.freed
	if x.Sent != record.None {
		o.connected(now) // up to now
		began = now
	}
	if t.since == record.None {
		t.since = began
	}
	t.kind, t.text = x.ErrorKind, x.ErrorText
	if x.Sent == record.None {
		o.unconnected(began, x.Connected)
	}
	pause = t.pause(now)
	if left := later(o.alone, o.limit) - now; o.alone != record.None && left > 0 {
		pause = min(pause, left) // one more attempt, and it is over
	}
	t.next = now + pause
	return pause
}

// connected notes that there was a connection at now.
func (o *outages) connected(now int64) {
	if o.alone != record.None && now-o.alone >= longestPause {
		o.before = append(o.before, gap{now - o.alone, o.failed})
	}
	o.alone, o.failed = record.None, 0
}

// unconnected notes that a request found no connection from began on. The last
// one that anybody found, if any, was made at last.
func (o *outages) unconnected(began, last int64) {
	if o.alone == record.None {
		o.alone = began
	}
	o.alone = max(o.alone, last)
	o.failed++
}

// shun reports whether a request of a schedule is not worth dialling for: its
// target was found to be gone a moment ago. One request in each pause still tries.
func (o *outages) shun(r *request, now int64) bool {
	t := &o.of[r.x.Target]
	if t.since == record.None {
		return false
	}
	if now >= t.next {
		t.next = now + t.pause(now)
		return false
	}
	r.shunned = true
	r.x.ErrorKind, r.x.ErrorText = t.kind, t.text
	return true
}

// hopeless reports whether the run has been without a connection for too long:
// every target is gone, and no request has been on its way since before.
func (o *outages) hopeless(phases []*phase, now int64) bool {
	if o.alone == record.None || now-o.alone < o.limit {
		return false
	}
	for i := range o.of {
		if o.of[i].since == record.None {
			return false
		}
	}
	for _, p := range phases {
		for _, r := range p.books.onWire {
			if r.freed < o.alone {
				return false
			}
		}
	}
	return true
}

// heard acts on how r ended: its slot may have to rest, and the run to end.
func (p *phase) heard(r *request, now int64) {
	o := &p.engine.outages
	pause := o.heard(r, now)
	if pause == 0 {
		return
	}
	p.rest(now + pause)
	if o.over == "" && o.hopeless(p.engine.phases, now) {
		o.over = fmt.Sprintf("the server was gone: no connection for %v (unreachable_timeout), %s failed meanwhile: %s",
			time.Duration(now-o.alone).Round(100*time.Millisecond), words.Count(o.failed, "request"), r.x.ErrorText)
		p.engine.failing.Store(true)
	}
}

// rest keeps a slot of a closed loop shut until a time: that of the phase which
// sends now.
func (p *phase) rest(until int64) {
	last := p
	for last.heir != nil {
		last = last.heir
	}
	if g := last.slots.gate; g != nil {
		g.rest(until)
	}
}

// notes say of outages that are over that they were.
func (o *outages) notes() (notes []string) {
	var lasted, failed int64
	for _, g := range o.before {
		lasted, failed = lasted+g.lasted, failed+g.failed
	}
	if lasted > 0 {
		notes = append(notes, fmt.Sprintf("the server was gone for %v and came back: %s found no connection meanwhile",
			time.Duration(lasted).Round(100*time.Millisecond), words.Count(failed, "request")))
	}
	return notes
}
