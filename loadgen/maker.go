package loadgen

import (
	"math"
	"sync"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/loadgen/render"
	"aiperf.dev/aiperf/loadgen/transport"
)

// maker makes requests that are ready to be sent. It is safe for concurrent
// use.
type maker struct {
	*render.Renderer
	detailed bool // the client keeps what details need
	sticky   bool // a session has its connections for itself
	done     func(*transport.Exchange)
	ends     func(data []byte) bool // of the endpoint's row
	pool     sync.Pool              // *request
}

func newMaker(job *Job, done func(*transport.Exchange)) (*maker, error) {
	r, err := render.New(&job.Endpoint, job.Models, job.Spec, job.Tokenizer)
	if err != nil {
		return nil, err
	}
	r.Chat = job.Chat
	return &maker{
		Renderer: r, detailed: job.Detail != nil, sticky: job.Endpoint.ConnectionReuse == "sticky-user-sessions",
		done: done, ends: r.Spec.Ends,
		pool: sync.Pool{New: func() any { return &request{} }},
	}, nil
}

// open is the first request of the next session of phase p.
func (m *maker) open(p *phase, sessions mode.Sessions) (*request, bool) {
	index, c, turns, ok := sessions.Next()
	if !ok {
		return nil, false
	}
	if c.Think != nil {
		c = c.Drawn(p.keys.Normal(index))
	}
	pl := &play{Session: m.Open(p.keys, c, index), turns: turns, tree: &tree{live: 1}}
	pl.root = pl.ID
	r := m.request(p, pl, 0)
	r.starts = m.starts(p, pl, c.Before, beforeFirst)
	return r, true
}

// beforeFirst stands for the turn of what begins together with a session.
const beforeFirst = -1

// starts are the first requests of what turn t of pl starts.
func (m *maker) starts(p *phase, pl *play, list []dataset.Start, t int) []*request {
	if len(list) == 0 {
		return nil
	}
	out := make([]*request, len(list))
	for k := range list {
		s := m.Child(p.keys, &pl.Session, &list[k], t, k)
		if s.Conversation.Think != nil {
			s.Conversation = s.Conversation.Drawn(p.keys.Normal(s.Index))
		}
		child := &play{
			Session: s, turns: len(s.Conversation.Turns), joinAt: list[k].JoinAt, from: pl.ID, root: pl.root,
			depth: pl.depth + 1, beside: t == beforeFirst,
		}
		out[k] = m.request(p, child, 0)
	}
	return out
}

// request is turn t of the play.
func (m *maker) request(p *phase, pl *play, t int) *request {
	r := m.pool.Get().(*request)
	header, body, bound := r.x.Header, r.x.Body, r.x.OnEvent
	*r = request{phase: p, play: pl, turn: t}
	r.x.Header, r.x.Body = header, body
	if r.silent = r.current().Silent; r.silent {
		r.x.User = r
		return r
	}
	r.Turn = m.Render(p.keys, &pl.Session, t, &r.x)
	r.x.Detailed, r.x.Bulk, r.x.Opaque = m.detailed, m.Spec.Bulk, m.Spec.Bytes
	r.x.CancelAfter, r.x.Deadline = p.cancelAfter(pl.Index, t), record.None
	if m.sticky {
		r.x.Affinity = pl.ID
	}
	if r.x.Ends = nil; m.Streaming && m.Spec.MayEnd != nil {
		r.x.Ends = m.ends
	}
	if p.slots.countsPrefill && m.Streaming {
		if bound == nil {
			bound = r.onEvent // once per request object: it is reused
		}
		r.x.OnEvent = bound
	}
	r.x.Done, r.x.User = m.done, r
	return r
}

// recycle takes back a request that nobody needs any more.
func (m *maker) recycle(r *request) {
	r.play, r.phase = nil, nil
	m.pool.Put(r)
}

// onEvent watches for the first content, which frees the prefill slot.
func (r *request) onEvent(data []byte) {
	if !r.answered && r.phase.engine.maker.Spec.HasContent(data) {
		r.answered = true
		e := r.phase.engine
		at := e.clock.Now()
		if n := len(r.x.Events); n > 0 { // it may have come while this process stood still
			at = r.x.Events[n-1].At
		}
		e.post(event{kind: firstContent, r: r, at: at})
	}
}

// cancelAfter is when request (index, turn) is cancelled on purpose, in ns after
// it was written; None for most.
func (p *phase) cancelAfter(index int64, turn int) int64 {
	c := p.cfg.Cancellation
	if c == nil || p.warmup || !p.keys.Cancels(index, turn, c.Rate) {
		return record.None
	}
	return int64(math.Round(c.Delay * 1e9))
}
