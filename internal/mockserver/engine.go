package mockserver

import (
	"math"
	"math/rand/v2"
	"slices"
)

// engine is a batching inference engine. Time goes in steps; a step takes
//
//	(Step + Seq · running) · jitter + Prefill · Σ input tokens that join and are not cached
//
// times Hump in its range, and gives every running sequence one token at its end. At most Batch run,
// the others wait in order of arrival: beyond that load, throughput stays and
// TTFT grows. A long prompt that joins delays the tokens of all.
//
// With KVBlocks, the tokens of a running sequence, with the one that the step
// makes, stand in blocks of its own. When there are too few for a step, the
// sequence that joined last gives up its blocks and goes to the head of the
// line; when it joins again, all of its tokens are read again.
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
	had := len(e.running)
	free := e.preempt(c)
	preempted := had - len(e.running)
	for len(e.waiting) > 0 && len(e.running) < c.Batch {
		x := e.waiting[0]
		if need := c.blocks(x.in + x.made + 1); need <= free || x.aborted.Load() {
			free -= need
		} else {
			break
		}
		e.waiting = e.waiting[1:]
		if x.aborted.Load() {
			free += c.blocks(x.in + x.made + 1)
			s.finish(x, true)
			continue
		}
		e.running = append(e.running, x)
		if x.preempted == 0 {
			x.start = at
			s.server.figures.turn(x)
		}
		joined += x.in - x.cached + x.made
	}
	s.server.counts.waiting.Store(int64(len(e.waiting)))
	s.server.counts.running.Store(int64(len(e.running)))
	s.server.figures.step(len(e.running), max(0, c.KVBlocks-free), preempted)
	if e.stepping = len(e.running) > 0; !e.stepping {
		return
	}
	took := (float64(c.Step)+float64(c.Seq)*float64(len(e.running)))*spread(c.Shape,
		c.Jitter, e.rng) + float64(c.Prefill)*float64(joined)
	took *= s.pace(at) * c.Hump.at(len(e.running))
	s.plan(at+int64(took), func(at int64) { e.end(s, at) })
}

// preempt makes room for one more token of every running sequence, and tells
// how many blocks are left. One sequence alone always has room: others are
// refused when they arrive.
func (e *engine) preempt(c *Config) (free int) {
	if c.KVBlocks == 0 {
		return math.MaxInt
	}
	free = c.KVBlocks
	for _, x := range e.running {
		free -= c.blocks(x.in + x.made + 1)
	}
	for free < 0 {
		last := len(e.running) - 1
		x := e.running[last]
		e.running[last] = nil
		e.running = e.running[:last]
		e.waiting = slices.Insert(e.waiting, 0, x)
		x.preempted++
		free += c.blocks(x.in + x.made + 1)
	}
	return free
}

// blocks is how many hold so many tokens; none are counted without a limit.
func (c *Config) blocks(tokens int) int {
	if c.KVBlocks == 0 {
		return 0
	}
	return (tokens + c.Block - 1) / c.Block
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
