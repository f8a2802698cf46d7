package mode

import (
	"fmt"
	"math"
	"slices"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/schema"
)

// saidByPauses is what to do about a rate of sessions with pauses.
const saidByPauses = "the recorded pauses say when to send (concurrency says how many sessions there are)"

var agenticReplay = Mode{
	Name: "agentic_replay", Title: "closed loop of recorded sessions, from their middle",
	Doc:    "A closed loop of recorded sessions: each slot goes on from a moment inside one, with its pauses, and takes another session when it is over.",
	Closed: true, NeedsSet: true, Primed: true,
	Instead: map[string]string{"rate": saidByPauses, "rate_ramp": "drop it", "rate_series": saidByPauses},
	open: func(m *Mode, p *schema.Phase, root int64, set *dataset.Set) (Load, error) {
		t, err := newTrajectories(p, root, set)
		if err != nil {
			return Load{}, err
		}
		return Load{Arrivals: newBurst(m, p, root), Sessions: t}, nil
	},
}

// Priming is the name of the phase that Primed adds.
const Priming = "agentic_warmup"

// WithPriming adds, before each phase of a mode that is primed, the one that
// primes the server's cache for it: the last request of each session before the
// moment from which the phase goes on, with one token for an answer.
func WithPriming(phases []schema.Phase) []schema.Phase {
	var out []schema.Phase
	for i := range phases {
		p := &phases[i]
		if m, err := Of(p); err == nil && m.Primed && p.Primes == "" {
			grace := schema.Duration(math.Inf(1))
			if p.AgenticWarmupGracePeriod != nil {
				grace = schema.Duration(*p.AgenticWarmupGracePeriod)
			}
			out = append(out, schema.Phase{
				Name: Priming, Kind: "warmup", Type: p.Type, Primes: p.Name, Sessions: int64(p.Concurrency),
				Concurrency: p.Concurrency, PrefillConcurrency: p.PrefillConcurrency, InFlight: p.InFlight,
				GracePeriod:             &grace,
				TrajectoryStartMinRatio: p.TrajectoryStartMinRatio, TrajectoryStartMaxRatio: p.TrajectoryStartMaxRatio,
				BurstPhaseStarts: p.BurstPhaseStarts, LaterReplay: p.LaterReplay,
			})
		}
		out = append(out, *p)
	}
	return out
}

// Where a session is gone on from, as shares of its recorded time, when nothing
// is said. They are AIPerf's.
const startMin, startMax = 0.25, 0.75

// trajectories are the sessions of an agentic replay: for each slot one that
// goes on from a moment inside it, after these whole ones. The phase that primes
// draws the same.
type trajectories struct {
	set      *dataset.Set
	sampler  *dataset.Sampler
	root     int64
	lo, hi   float64
	slots, i int
	priming  bool
	burst    bool
	later    bool          // as in AIPerf after 0.13
	lead     time.Duration // priming: the longest time from a request to the moment gone on from
	first    time.Duration // later, without burst: the shortest wait of all slots, which all of them wait less
}

func newTrajectories(p *schema.Phase, root int64, set *dataset.Set) (*trajectories, error) {
	t := &trajectories{
		set: set, root: root, lo: startMin, hi: startMax, slots: p.Concurrency,
		priming: p.Primes != "", burst: p.BurstPhaseStarts, later: p.LaterReplay,
	}
	if v := p.TrajectoryStartMinRatio; v != nil {
		t.lo = *v
	}
	if v := p.TrajectoryStartMaxRatio; v != nil {
		t.hi = *v
	}
	switch {
	case p.Kind == "warmup" && !t.priming:
		return nil, errorf(p, "%w", diag.Errorf("a phase of type agentic_replay is measured").
			Try("its warmup is made for it, and runs before it"))
	case t.slots < 1:
		return nil, errorf(p, "%w", diag.Errorf("agentic_replay needs concurrency").
			Try("say how many sessions run at the same time (--concurrency)"))
	case t.lo > t.hi:
		return nil, fieldError("trajectory_start_min_ratio", "%v is above trajectory_start_max_ratio, %v", t.lo, t.hi)
	case t.slots > set.Len() && !set.Wraps() && !(p.Sessions > 0 && p.Sessions <= int64(set.Len())):
		return nil, errorf(p, "%w", diag.Errorf("concurrency %d is more than %s, which is all there are: equal prompts would meet in the server's cache", t.slots, words.CountOf(set.Len(), "session", "sessions")).
			Try("lower it, mark each play (cache_bust), or allow the same sessions again (--allow-dataset-wrap)"))
	}
	t.sampler = set.Sampler(int64(seed.Of(root, "sampling/agentic")))
	return t, t.look(set.Sampler(int64(seed.Of(root, "sampling/agentic"))))
}

// look goes through the sessions of the slots, so that what cannot be gone on
// from is said before anything is sent.
func (t *trajectories) look(sampler *dataset.Sampler) error {
	soonest := time.Duration(math.MaxInt64)
	for slot := range t.slots {
		i, _ := sampler.Draw()
		m := t.moment(t.set.Outline(i), slot)
		if err := m.check(m.of); err != nil {
			return err
		}
		switch {
		case !t.priming:
			soonest = min(soonest, m.soonest())
		case !t.burst:
			t.lead = max(t.lead, t.leadOfAll(m))
		}
	}
	if t.later && soonest < math.MaxInt64 {
		t.first = soonest
	}
	return nil
}

// leadOfAll is the longest lead of the streams that are under way.
func (t *trajectories) leadOfAll(m *moment) (lead time.Duration) {
	m.each(func(s *dataset.Conversation, k int) {
		if k > 0 {
			lead = max(lead, t.leadOf(m, s, k))
		}
	})
	return lead
}

// leadOf is how long before the moment the last request of s was sent; idle
// time that the dataset cuts short is no reason to wait.
func (t *trajectories) leadOf(m *moment, s *dataset.Conversation, k int) time.Duration {
	if !m.timed || s.Turns[k-1].Timestamp == nil {
		return 0
	}
	lead := m.at - *s.Turns[k-1].Timestamp
	if longest, ok := t.set.LongestGap(); ok {
		lead = min(lead, longest)
	}
	return lead
}

func (t *trajectories) Next() (n int64, c *dataset.Conversation, turns int, ok bool) {
	slot := t.i
	if t.i++; t.priming && slot >= t.slots {
		return 0, nil, 0, false
	}
	i, n := t.sampler.Draw()
	if c = t.set.Play(i, n); c == nil {
		return 0, nil, 0, false
	}
	if slot < t.slots {
		m := t.moment(c, slot)
		if t.priming {
			if t.burst && t.later { // a slot's streams keep their distances from each other
				t.lead = t.leadOfAll(m)
			}
			c = m.primed(c, true, t)
		} else {
			if m.first = t.first; t.burst {
				m.first = m.soonest()
			}
			c = m.rest(c, true)
		}
	}
	return n, c, len(c.Turns), true
}

// Skip leaves a session out.
func (t *trajectories) Skip() {
	t.i++
	t.sampler.Draw()
}

// moment is the time inside a session from which a slot goes on. A stream is
// the session or one of those that it starts.
type moment struct {
	of    *dataset.Conversation
	timed bool          // the turns have time stamps
	at    time.Duration // trace time, where they have
	turn  int           // else the first turn that is sent
	first time.Duration // what all streams wait less
}

// moment draws where slot goes on in c.
func (t *trajectories) moment(c *dataset.Conversation, slot int) *moment {
	u := seed.Stream(t.root, fmt.Sprintf("trajectory/%d", slot)).Float64()
	begin, end, timed := span(c)
	if timed {
		length := float64(end - begin)
		return &moment{of: c, timed: true, at: begin + time.Duration(length*(t.lo+u*(t.hi-t.lo)))}
	}
	m := &moment{of: c}
	if n := len(c.Turns); t.hi > 0 && n > 1 { // as AIPerf: one turn at least is left behind the one that primes
		lo, hi := min(int(t.lo*float64(n)), n-2), min(int(t.hi*float64(n)), n-2)
		m.turn = 1 + lo + int(u*float64(hi-lo+1))
	}
	return m
}

// span is from the first to the last time stamp of c and what it starts.
func span(c *dataset.Conversation) (begin, end time.Duration, ok bool) {
	for i := range c.Turns {
		if ts := c.Turns[i].Timestamp; ts != nil {
			if !ok {
				begin, end, ok = *ts, *ts, true
			}
			begin, end = min(begin, *ts), max(end, *ts)
		}
		for _, s := range c.Turns[i].Starts {
			if b, e, known := span(s.Conversation); known {
				if !ok {
					begin, end, ok = b, e, true
				}
				begin, end = min(begin, b), max(end, e)
			}
		}
	}
	return begin, end, ok
}

// next is the first turn of stream s at the moment or behind it.
func (m *moment) next(s *dataset.Conversation) int {
	if !m.timed {
		if s.ID == m.of.ID {
			return m.turn
		}
		return 0
	}
	for k := range s.Turns {
		if ts := s.Turns[k].Timestamp; ts != nil && *ts >= m.at {
			return k
		}
	}
	return len(s.Turns)
}

// live reports whether something of s, or of what it has started, is still to be
// sent.
func (m *moment) live(s *dataset.Conversation) bool {
	return m.next(s) < len(s.Turns) || len(m.started(s)) > 0
}

// started are the streams that turns of s before the moment have started and
// that are not over.
func (m *moment) started(s *dataset.Conversation) (out []dataset.Start) {
	if !m.timed && s.ID != m.of.ID {
		return nil
	}
	k := m.next(s)
	for i := range k {
		for _, st := range s.Turns[i].Starts {
			// A session whose turns have no times is over when its join is.
			if over := !m.timed && (st.JoinAt == 0 || st.JoinAt <= k); over || !m.live(st.Conversation) {
				continue
			}
			if st.JoinAt -= k - 1; st.JoinAt < 1 {
				st.JoinAt = 0
			}
			out = append(out, st)
		}
	}
	return out
}

// each calls f for every stream that is under way, with its next turn.
func (m *moment) each(f func(s *dataset.Conversation, k int)) {
	var visit func(s *dataset.Conversation)
	visit = func(s *dataset.Conversation) {
		if k := m.next(s); k < len(s.Turns) {
			f(s, k)
		}
		for _, st := range m.started(s) {
			visit(st.Conversation)
		}
	}
	visit(m.of)
}

// check refuses streams that go on from answers which nobody has: only a turn
// with its whole history can be the first one sent.
func (m *moment) check(c *dataset.Conversation) (err error) {
	m.each(func(s *dataset.Conversation, k int) {
		if k > 0 && !s.Turns[k].Complete && err == nil {
			err = diag.Errorf("conversation %s: turn %d continues answers that were not recorded, so an agentic replay cannot start there", s.ID, k).
				Try("--trajectory-start-min-ratio 0 --trajectory-start-max-ratio 0 plays conversations from their beginning")
		}
	})
	return err
}

// wait is how long the next turn k of s waits from the moment on.
func (m *moment) wait(s *dataset.Conversation, k int) time.Duration {
	if ts := s.Turns[k].Timestamp; m.timed && ts != nil {
		return max(0, *ts-m.at)
	}
	return max(0, s.Turns[k].Delay)
}

// soonest is the shortest wait of the streams that wait for nobody.
func (m *moment) soonest() time.Duration {
	least := time.Duration(math.MaxInt64)
	m.each(func(s *dataset.Conversation, k int) {
		for _, st := range m.started(s) {
			if st.JoinAt == 1 {
				return
			}
		}
		least = min(least, m.wait(s, k))
	})
	return least
}

// rest is what of stream s is still to be sent. A silent turn stands before it
// where somebody else is under way, and in a session, whose first request would
// go out at once.
func (m *moment) rest(s *dataset.Conversation, session bool) *dataset.Conversation {
	out := *s
	k, starts := m.next(s), m.started(s)
	for i := range starts {
		starts[i].Conversation = m.rest(starts[i].Conversation, false)
	}
	out.Turns = slices.Clone(s.Turns[k:])
	out.Skipped, out.Before = k, nil
	gated := slices.ContainsFunc(starts, func(st dataset.Start) bool { return st.JoinAt == 1 })
	if len(out.Turns) > 0 && !gated {
		out.Turns[0].Delay = max(0, m.wait(s, k)-m.first)
	}
	shift := k
	if session || len(starts) > 0 {
		out.Turns = append([]dataset.Turn{{Silent: true, Starts: starts}}, out.Turns...)
		shift--
		out.Skipped--
	}
	for i := range out.Turns {
		if t := &out.Turns[i]; !t.Silent && shift != 0 {
			t.Starts = slices.Clone(t.Starts)
			for n := range t.Starts {
				if t.Starts[n].JoinAt > 0 {
					t.Starts[n].JoinAt -= shift
				}
			}
		}
	}
	out.All = max(1, out.RequestsFrom(0))
	return &out
}

// primed is the last request of stream s before the moment, with an answer of
// one token, and those of the streams that it has started. Streams stand where
// they stand in rest, so that sessions keep their ids.
func (m *moment) primed(s *dataset.Conversation, session bool, t *trajectories) *dataset.Conversation {
	out := *s
	k, starts := m.next(s), m.started(s)
	for i := range starts {
		starts[i].Conversation, starts[i].JoinAt = m.primed(starts[i].Conversation, false, t), 0
	}
	out.Turns, out.Skipped, out.Before = nil, k-1, nil
	sends := k > 0 && k < len(s.Turns) && !s.Turns[k-1].Silent
	if session || len(starts) > 0 || !sends {
		out.Turns = append(out.Turns, dataset.Turn{Silent: true, Starts: starts})
		out.Skipped--
	}
	if sends {
		last := s.Turns[k-1]
		last.MaxTokens, last.Starts, last.Delay = 1, nil, 0
		if !t.burst || t.later {
			last.Delay = t.lead - t.leadOf(m, s, k)
		}
		out.Turns = append(out.Turns, last)
	}
	out.All = max(1, out.RequestsFrom(0))
	return &out
}
