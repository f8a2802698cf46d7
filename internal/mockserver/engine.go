package mockserver

import "math/rand/v2"

// engine is a batching inference engine. Time goes in steps; a step takes
//
//	(Step + Seq · running) · jitter + Prefill · Σ input tokens that join and are not cached
//
// and gives every running sequence one token at its end. At most Batch run,
// the others wait in order of arrival: beyond that load, throughput stays and
// TTFT grows. A long prompt that joins delays the tokens of all.
type engine struct {
	waiting, running []*exchange
	stepping         bool
	rng              *rand.Rand
}

// enter puts an exchange into line.
func (e *engine) enter(s *scheduler, x *exchange, at int64) {
	if x.aborted.Load() {
		s.finish(x, true)
		return
	}
	e.waiting = append(e.waiting, x)
	s.server.counts.waiting.Store(int64(len(e.waiting)))
	if !e.stepping {
		e.begin(s, at)
	}
}

// begin lets sequences join and starts a step, if there is anything to run.
func (e *engine) begin(s *scheduler, at int64) {
	c, joined := &s.server.cfg, 0
	for len(e.waiting) > 0 && len(e.running) < c.Batch {
		x := e.waiting[0]
		e.waiting = e.waiting[1:]
		if x.aborted.Load() {
			s.finish(x, true)
			continue
		}
		e.running = append(e.running, x)
		x.start = at
		joined += x.in - x.cached
	}
	s.server.counts.waiting.Store(int64(len(e.waiting)))
	s.server.counts.running.Store(int64(len(e.running)))
	if e.stepping = len(e.running) > 0; !e.stepping {
		return
	}
	took := (float64(c.Step)+float64(c.Seq)*float64(len(e.running)))*spread(c.Shape, c.Jitter, e.rng) + float64(c.Prefill)*float64(joined)
	took *= s.pace(at)
	s.plan(at+int64(took), func(at int64) { e.end(s, at) })
}

// end gives out the step's tokens. A step that ends late because this machine
// was busy delays the next one too: an engine does not catch up.
func (e *engine) end(s *scheduler, at int64) {
	if now := s.server.now(); now-at > int64(s.server.cfg.Step) {
		at = now
	}
	stay := e.running[:0]
	for _, x := range e.running {
		if s.token(x) {
			stay = append(stay, x)
		}
	}
	clear(e.running[len(stay):])
	e.running = stay
	e.begin(s, at)
}
