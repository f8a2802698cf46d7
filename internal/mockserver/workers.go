package mockserver

import (
	"slices"
	"time"
)

// workers answer one request each. The others wait in order of arrival, so
// that the server has a true saturation: workers ÷ mean time of an answer.
type workers struct {
	busy    int
	waiting []*exchange
	idle    []int64 // since when the workers are free that have worked, in order
}

// full reports whether the line takes no one else.
func (w *workers) full(c *Config) bool {
	return c.Queue > 0 && w.busy >= c.Workers && len(w.waiting) >= c.Queue
}

// enter gives x a worker, or a place in line.
func (w *workers) enter(s *scheduler, x *exchange) {
	if w.busy < s.server.cfg.Workers {
		at := x.came
		if w.busy+len(w.idle) == s.server.cfg.Workers { // it may have come before the one before it was answered
			at = max(at, w.idle[0])
			w.idle = w.idle[1:]
		}
		w.give(s, x, at)
		return
	}
	w.waiting = append(w.waiting, x)
	w.book(s)
}

func (w *workers) give(s *scheduler, x *exchange, at int64) {
	w.busy++
	x.slotted = true
	w.book(s)
	s.serve(x, at)
}

// leave frees a worker at a moment. What this machine was late by does not
// count, up to a millisecond: the next answer begins when this one should have
// ended.
func (w *workers) leave(s *scheduler, x *exchange) {
	x.slotted = false
	w.busy--
	at := s.server.now()
	if !x.lost && x.due > at-int64(time.Millisecond) {
		at = min(at, x.due)
	}
	for w.busy < s.server.cfg.Workers && len(w.waiting) > 0 {
		next := w.waiting[0]
		w.waiting = w.waiting[1:]
		if next.aborted.Load() {
			s.finish(next, true)
			continue
		}
		w.give(s, next, max(at, next.came))
	}
	if w.busy < s.server.cfg.Workers { // nobody waits
		i, _ := slices.BinarySearch(w.idle, at)
		w.idle = slices.Insert(w.idle, i, at)
	}
	w.book(s)
}

func (w *workers) book(s *scheduler) {
	s.server.counts.running.Store(int64(w.busy))
	s.server.counts.waiting.Store(int64(len(w.waiting)))
}
