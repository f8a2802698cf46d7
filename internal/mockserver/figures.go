package mockserver

import (
	"sort"
	"sync"
)

// figures are what the server measures of its own work. The scheduler writes them,
// /metrics reads them. Times are seconds.
type figures struct {
	mu                     sync.Mutex
	prompt, generated      int64   // tokens read, when the first token was made; tokens made
	lookedUp               int64   // of prompts, in the prefix cache
	found                  int64   // of these
	whole, aborted, failed int64   // requests by how they ended
	preempted              int64   // times
	steps, stepped         int64   // of the engine; sequences in them
	active                 int64   // requests that are worked on or wait
	joules                 float64 // of a GPU, up to busyAt
	cap                    float64 // most watts of a GPU, 0 for no limit
	capped                 int64   // ns for which it was held below what it wanted, up to busyAt
	busyAt                 int64
	now                    func() int64 // ns since the server began
	slots                  int          // so many requests are its full load
	blocks                 int64        // of the KV cache in use
	ttft, itl, e2e         histogram
	queue, prefill, decode histogram
	inferred               histogram // from its turn to the end
}

// histogram counts values up to edges, which rise.
type histogram struct {
	edges  []float64
	counts []int64 // of each edge and of what is beyond, not cumulative
	n      int64
	sum    float64
}

func (h *histogram) add(v float64, times int64) {
	if h.counts == nil {
		h.counts = make([]int64, len(h.edges)+1)
	}
	h.counts[sort.SearchFloat64s(h.edges, v)] += times
	h.n += times
	h.sum += v * float64(times)
}

// arrived books a request that the server works on.
func (f *figures) arrived(x *exchange, lookedUp bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	x.booked = true
	f.integrate()
	f.active++
	if lookedUp {
		f.lookedUp += int64(x.in)
		f.found += int64(x.cached)
	}
}

// turn books the moment at which a request's turn came.
func (f *figures) turn(x *exchange) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue.add(seconds(x.start-x.came), 1)
}

// made books the tokens that x got by now; of an answer that is made in one piece, the
// first was there at x.firstAt.
func (f *figures) made(x *exchange, now int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := int64(x.made - x.counted)
	if x.counted == 0 {
		if x.firstAt == 0 {
			x.firstAt = now
		}
		x.lastAt = x.firstAt
		f.prompt += int64(x.in)
		f.ttft.add(seconds(x.firstAt-x.came), 1)
		f.prefill.add(seconds(x.firstAt-x.start), 1)
		n--
	}
	if x.spec.ProducesTokens {
		f.generated += int64(x.made - x.counted)
	}
	x.counted = x.made
	if n > 0 {
		f.itl.add(seconds(now-x.lastAt)/float64(n), n)
		x.lastAt = now
	}
}

// finished books the end of a request.
func (f *figures) finished(x *exchange) {
	if !x.booked {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.integrate()
	f.active--
	switch {
	case x.lost:
		f.aborted++
		return
	case x.fate != fine:
		f.failed++
		return
	}
	f.whole++
	f.e2e.add(seconds(x.end-x.came), 1)
	f.inferred.add(seconds(x.end-x.start), 1)
	f.decode.add(seconds(x.lastAt-x.firstAt), 1)
}

// step books a step of the engine, and the blocks that are in use while it lasts.
func (f *figures) step(running, blocks, preempted int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if running > 0 {
		f.steps++
		f.stepped += int64(running)
	}
	f.blocks = int64(blocks)
	f.preempted += int64(preempted)
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }
