package transport

import (
	"sync"
	"sync/atomic"
)

// pool holds a target's idle connections, last used first. With sticky
// sessions each session has its own; unclaimed ones serve whoever comes first.
type pool struct {
	mu       sync.Mutex
	reuse    reuse
	idle     list
	sessions map[string]*list

	// Kept connections that carried an answer, and those that the server closed
	// instead of answering.
	kept, lost atomic.Int64

	endless atomic.Int64 // answers with a mark at their end whose body did not end
	ends    atomic.Bool  // a body ended after its mark
	unasked atomic.Int64 // connections that brought something after an answer, when nothing was asked
}

// endlessAlways is how many bodies a server must have left open after the mark,
// and none ended, before no more is waited for.
const endlessAlways = 2

// neverEnds tells that nothing follows a mark but the wait for it.
func (p *pool) neverEnds() bool { return !p.ends.Load() && p.endless.Load() >= endlessAlways }

// lostAlways is how many kept connections a server must have closed, and more
// than it answered on, before each request gets a fresh one.
const lostAlways = 3

// closes reports whether the target closes what it is expected to keep.
func (p *pool) closes() bool {
	lost := p.lost.Load()
	return lost >= lostAlways && lost > p.kept.Load()
}

type reuse uint8

const (
	pooled reuse = iota
	never
	sticky
)

// list is an intrusive stack of connections.
type list struct {
	top *conn
	n   int
}

func (l *list) push(c *conn) {
	c.up, c.down, c.in = nil, l.top, l
	if l.top != nil {
		l.top.up = c
	}
	l.top = c
	l.n++
}

func (l *list) remove(c *conn) {
	if c.up != nil {
		c.up.down = c.down
	} else {
		l.top = c.down
	}
	if c.down != nil {
		c.down.up = c.up
	}
	c.up, c.down, c.in = nil, nil, nil
	l.n--
}

// pop removes an idle connection for the session, and returns it; nil if there is none.
func (p *pool) pop(session string) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := &p.idle
	if p.reuse == sticky && session != "" {
		if own := p.session(session); own.top != nil {
			l = own
		}
	}
	for c := l.top; c != nil; c = l.top {
		l.remove(c)
		if c.opening != nil || !p.closes() {
			p.claim(c, session)
			return c
		}
		c.poke()
	}
	return nil
}

// claim makes c the session's, if sessions matter.
func (p *pool) claim(c *conn, session string) {
	if p.reuse == sticky {
		c.session = session
	}
}

// session is the session's list, made if need be.
func (p *pool) session(key string) *list {
	l := p.sessions[key]
	if l == nil {
		l = &list{}
		p.sessions[key] = l
	}
	return l
}

// put keeps c for the next request; false if it must be closed instead.
func (p *pool) put(c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.dead.Load() || (p.reuse == never || p.closes()) && c.opening == nil {
		return false
	}
	l := &p.idle
	if c.session != "" {
		if l = p.sessions[c.session]; l == nil {
			return false // the session was forgotten
		}
	}
	l.push(c)
	return true
}

// remove takes c out, if it is in.
func (p *pool) remove(c *conn) {
	p.mu.Lock()
	if c.in != nil {
		c.in.remove(c)
	}
	p.mu.Unlock()
}

// forget ends a session and returns its idle connections.
func (p *pool) forget(session string) (orphans []*conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.sessions[session]
	if l == nil {
		return nil
	}
	delete(p.sessions, session)
	for l.top != nil {
		orphans = append(orphans, l.top)
		l.remove(l.top)
	}
	return orphans
}

// waiting counts the unclaimed idle connections.
func (p *pool) waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.idle.n
}

// adopt makes a fresh connection the session's.
func (p *pool) adopt(c *conn, session string) {
	p.mu.Lock()
	p.claim(c, session)
	p.mu.Unlock()
}
