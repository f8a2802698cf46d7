package mode

import (
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/schema"
)

// Part is what one worker carries out of a phase: of arrivals, sessions and slots
// every Of-th from its own number on. All workers work out the whole schedule, since
// it depends on seed and number alone, and each leaves out what is not its own: what
// they send together is what one of them would send.
type Part struct {
	Load
	// Phase has the part's own bounds, limits and rate.
	Phase  *schema.Phase
	Limits [3]Limit
	Share  record.Share
}

// Block is a run of sessions that a worker is given, From to before To. The last one
// is played for at most Turns of its turns; 0: for all.
type Block struct {
	From, To int64
	Turns    int
}

// OpenPart is Open for the share of one worker. With blocks, a closed loop plays the
// sessions of these, one block after another, until there is none any more: who answers
// fast then gets more of them. blocks waits until the next one is known.
func OpenPart(
	p *schema.Phase, root int64, set *dataset.Set, share record.Share, blocks func() (Block, bool),
) (Part, error) {
	l, err := Open(p, root, set)
	if err != nil {
		return Part{}, err
	}
	part := Part{Load: l, Phase: p, Limits: l.Mode.Limits(p, root), Share: share}
	if share.Of <= 1 {
		return part, nil
	}
	if err := part.divide(p, root, set, blocks); err != nil {
		return Part{}, errorf(p, "%w", err)
	}
	return part, nil
}

// Divides says why so many workers cannot share p, before anything is opened for it; nil where they can.
func Divides(p *schema.Phase, workers int64) error {
	m, err := Of(p)
	if err != nil || workers <= 1 {
		return nil //nolint:nilerr // what p itself gets wrong is said elsewhere
	}
	if err := indivisible(p, m.Limits(p, 0), workers); err != nil {
		return errorf(p, "%w", err)
	}
	return nil
}

// indivisible is what in p one worker alone can do, or is too little for all.
func indivisible(p *schema.Phase, limits [3]Limit, workers int64) error {
	if p.AdaptiveScale != nil {
		return diag.Errorf("a load that adapts while it runs has one worker").Try("leave the number of workers out")
	}
	if p.Stability != nil {
		return diag.Errorf("a run that ends by its own windows has one worker").Try("leave the number of workers out")
	}
	for _, l := range limits {
		if l.N > 0 && int64(l.N) < workers {
			return diag.Errorf("%s %d is less than one for each of %s", l.Name, l.N,
				words.CountOf(workers, "worker", "workers")).Try("take at most " + words.Count(int64(l.N), "worker"))
		}
	}
	return nil
}

func (t *Part) divide(p *schema.Phase, root int64, set *dataset.Set, blocks func() (Block, bool)) error {
	if err := indivisible(p, t.Limits, t.Share.Of); err != nil {
		return err
	}
	own := *p
	own.Rate = p.Rate / float64(t.Share.Of)
	for i, n := range [...]*int{
		SessionSlots: &own.Concurrency, WireSlots: &own.InFlight, PrefillSlots: &own.PrefillConcurrency,
	} {
		l := &t.Limits[i]
		l.N = int(t.Share.Count(int64(l.N)))
		l.Opens = every(l.Opens, t.Share)
		if *n > 0 {
			*n = l.N
		}
	}
	switch {
	case t.Closed && blocks != nil:
		own.Requests, own.Sessions = 0, 0 // the blocks end
		t.Load.Sessions = &given{sessions: t.Load.Sessions, next: blocks}
	default:
		own.Sessions, own.Requests = t.Share.Count(p.Sessions), t.requests(p, root, set)
		none := p.Sessions > 0 && own.Sessions == 0 || p.Requests > 0 && own.Requests == 0 // others send it all
		t.Load.Sessions = &dealt{Sessions: t.Load.Sessions, share: t.Share, none: none}
		t.Arrivals = &ownArrivals{Arrivals: t.Arrivals, share: t.Share, none: none}
	}
	t.Phase = &own
	return nil
}

// requests is how many of the first p.Requests are the share's.
func (t *Part) requests(p *schema.Phase, root int64, set *dataset.Set) int64 {
	if _, follows := t.Arrivals.(lister); !follows || p.Requests == 0 {
		return t.Share.Count(p.Requests)
	}
	whole, err := Open(p, root, set)
	if err != nil {
		return 0 // it was opened before
	}
	all := whole.Arrivals.(lister).sends(int(p.Requests), p.Sessions)
	n := int64(0)
	for _, s := range all[:min(int64(len(all)), p.Requests)] {
		if t.Share.Has(s.session) {
			n++
		}
	}
	return n
}

// every is what share has of all.
func every(all []time.Duration, share record.Share) (own []time.Duration) {
	for i := share.K; i < int64(len(all)); i += share.Of {
		own = append(own, all[i])
	}
	return own
}

// ownArrivals are those of one share.
type ownArrivals struct {
	Arrivals
	share record.Share
	i     int64
	none  bool // none of them
}

func (a *ownArrivals) Next() (time.Duration, bool) {
	for !a.none {
		at, ok := a.Arrivals.Next()
		a.i++
		if !ok || a.share.Has(a.i-1) {
			return at, ok
		}
	}
	return 0, false
}

// skipper is a source of sessions that can leave the next one out without making it.
type skipper interface{ Skip() }

// leaveOut leaves the next session of s out.
func leaveOut(s Sessions) {
	if quick, ok := s.(skipper); ok {
		quick.Skip()
		return
	}
	s.Next()
}

// dealt are the sessions of one share.
type dealt struct {
	Sessions
	share record.Share
	i     int64
	none  bool // none of them
}

func (d *dealt) Next() (n int64, c *dataset.Conversation, turns int, ok bool) {
	if d.none {
		return 0, nil, 0, false
	}
	for ; !d.share.Has(d.i); d.i++ {
		leaveOut(d.Sessions)
	}
	d.i++
	return d.Sessions.Next()
}

// given are the sessions of the blocks that a worker gets.
type given struct {
	sessions Sessions
	next     func() (Block, bool)
	block    Block
	i        int64
	over     bool
}

func (g *given) Next() (n int64, c *dataset.Conversation, turns int, ok bool) {
	for !g.over && g.i >= g.block.To {
		if g.block, ok = g.next(); !ok {
			g.over = true
		}
	}
	if g.over {
		return 0, nil, 0, false
	}
	for ; g.i < g.block.From; g.i++ {
		leaveOut(g.sessions)
	}
	g.i++
	n, c, turns, ok = g.sessions.Next()
	if most := g.block.Turns; most > 0 && g.i == g.block.To {
		turns = min(turns, most)
	}
	return n, c, turns, ok
}

// Blocks deals the sessions of a closed loop out: each call is the next block, of at
// least size requests where so many are left. size is told how many requests, or sessions, are
// left at least; 0 is no end. It has one user.
func Blocks(p *schema.Phase, root int64, set *dataset.Set, size func(left int64) int64) (func() (Block, bool), error) {
	l, err := Open(p, root, set)
	if err != nil {
		return nil, err
	}
	var sessions, requests int64 // so far
	over := false
	return func() (b Block, ok bool) {
		b.From = sessions
		left := p.Requests - requests
		if p.Requests == 0 || p.Sessions > 0 && p.Sessions-sessions < left {
			left = max(0, p.Sessions-sessions)
		}
		for n, most := int64(0), max(1, size(left)); n < most && !over; sessions++ {
			turns := int64(1)
			if set.Turns() > set.Len() {
				_, c, of, ok := l.Sessions.Next()
				if over = !ok; over {
					break
				}
				turns = c.RequestsFrom(0) - c.RequestsFrom(of)
			}
			if left := p.Requests - requests; p.Requests > 0 && turns >= left {
				if over = true; turns > left {
					b.Turns = int(left)
				}
				turns = left
			}
			over = over || p.Sessions > 0 && sessions+1 >= p.Sessions
			n, requests = n+turns, requests+turns
		}
		b.To = sessions
		return b, b.To > b.From
	}, nil
}
