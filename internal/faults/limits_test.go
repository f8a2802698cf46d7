//go:build unix

package faults

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	fs "aiperf.dev/aiperf/internal/faultserver"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/schema"
)

// most is how many requests there are at once, each from its arrival to until.
func most(all []arrival, until func(arrival) int64) (n int) {
	type edge struct {
		at   int64
		step int
	}
	var edges []edge
	for _, a := range all {
		edges = append(edges, edge{a.at, 1}, edge{until(a), -1})
	}
	slices.SortFunc(edges, func(a, b edge) int { return int(a.at - b.at) })
	now := 0
	for _, e := range edges {
		now += e.step
		n = max(n, now)
	}
	return n
}

// firstToken and lastToken are when the server sent them.
func firstToken(a arrival) int64 { return a.first }
func lastToken(a arrival) int64  { return a.first + a.log.Last - a.log.First }

// A limit of N is reached and never exceeded, as the server counts: one of
// sessions, of requests on the wire, of prefills; in closed loops and at rates;
// while it grows, and when one phase hands over to the next.
func TestConcurrencyAsTheServerCounts(t *testing.T) {
	t.Parallel()
	const slots, n = 24, 3 * 24
	for _, c := range []struct {
		name   string
		phases []schema.Phase
		until  func(arrival) int64
	}{
		{"concurrency", []schema.Phase{{Type: "concurrency", Concurrency: slots, Requests: n}}, lastToken},
		{"in flight", []schema.Phase{{Type: "concurrency", Concurrency: n, InFlight: slots, Requests: n}}, lastToken},
		{"in flight at a rate", []schema.Phase{{Type: "constant", Rate: 2000, InFlight: slots, Requests: n}}, lastToken},
		{"prefill", []schema.Phase{{Type: "concurrency", Concurrency: n, PrefillConcurrency: slots, Requests: n}}, firstToken},
		{"prefill at a rate", []schema.Phase{{Type: "poisson", Rate: 2000, PrefillConcurrency: slots, Requests: n}}, firstToken},
		{"skipping", []schema.Phase{{Type: "constant", Rate: 2000, Concurrency: slots, OnCap: "skip", Requests: n}}, lastToken},
		{"ramped", []schema.Phase{{Type: "concurrency", Concurrency: slots, ConcurrencyRamp: &schema.Ramp{Duration: 0.05}, Requests: n}}, lastToken},
		{"seamless", []schema.Phase{
			{Kind: "warmup", Type: "concurrency", Concurrency: slots, Requests: slots + 12},
			{Type: "concurrency", Concurrency: slots, Requests: n, Seamless: true},
		}, lastToken},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			j, all := against(t, "mock:?ttft=100ms&itl=5ms&osl=4", nil, c.phases...)
			if got := most(all, c.until); got > slots {
				t.Errorf("at most %d at once as the server has it, want %d", got, slots)
			}
			for _, p := range j.result.Phases {
				if c.name == "skipping" && p.Skipped["on_cap"] == 0 {
					t.Errorf("phase %s: no arrival was skipped", p.Name)
				}
				if p.OK != p.Issued || p.Gauge.Max < slots {
					t.Errorf("phase %s: %d of %d ok, at most %d at once as we have it; want all, and %d", p.Name, p.OK,
						p.Issued, p.Gauge.Max, slots)
				}
			}
		})
	}
}

// All slots of a closed loop are used at once.
func TestBurstIsDueAtOnce(t *testing.T) {
	t.Parallel()
	const slots = 24
	_, all := against(t, "mock:?ttft=200ms&osl=1", nil, schema.Phase{
		Type: "concurrency", Concurrency: slots,
		Requests: 2 * slots,
	})
	for _, a := range all[:slots] {
		if a.intended != 0 {
			t.Errorf("one of the first %d was intended at %v, not at once", slots, time.Duration(a.intended))
		}
	}
}

// A phase begins when the one before it has its answers, or, if it follows
// seamlessly, as soon as the one before it has sent all.
func TestHandOver(t *testing.T) {
	t.Parallel()
	phases := func(seamless bool) []schema.Phase { // two slots and three requests: the third runs alone
		return []schema.Phase{
			{Kind: "warmup", Type: "concurrency", Concurrency: 2, Requests: 3},
			{Type: "concurrency", Concurrency: 2, Requests: 4, Seamless: seamless},
		}
	}
	t.Run("in turn", func(t *testing.T) {
		t.Parallel()
		_, all := against(t, "mock:?ttft=50ms&osl=1", nil, phases(false)...)
		over, next := int64(math.MinInt64), int64(math.MaxInt64)
		for _, a := range all {
			if a.rec.Warmup {
				over = max(over, a.first)
			} else {
				next = min(next, a.at)
			}
		}
		if early := time.Duration(over - next); early > 0 {
			t.Errorf("the second phase began %v before the first one had its answers", early)
		}
	})
	t.Run("seamless", func(t *testing.T) {
		t.Parallel()
		var n atomic.Int64
		second := make(chan struct{})
		s := fs.Start(t, fs.Script{fs.Loop(fs.Read(), func(*fs.Conn) bool {
			switch n.Add(1) {
			case 3: // is answered when the second phase has begun
				<-second
			case 4:
				close(second)
			}
			return true
		}, fs.Send(good()))})
		j := newJob(t, s.URL())
		j.Phases = phases(true)
		for i := range j.Phases {
			j.Phases[i].Kind = cmp.Or(j.Phases[i].Kind, "profiling")
			j.Phases[i].Name = j.Phases[i].Kind
		}
		j.run(t)
		if len(j.records) != 7 {
			t.Errorf("%d records of 7", len(j.records))
		}
	})
}

// Requests are cancelled when their delay has passed since they were written,
// never before; the server sees those, and no others, go away.
func TestCancellationAsTheServerSeesIt(t *testing.T) {
	t.Parallel()
	const n, delay = 40, 50 * time.Millisecond
	j, all := against(t, "mock:?ttft=400ms&osl=1", nil, schema.Phase{
		Type: "concurrency", Concurrency: n, Requests: n,
		Cancellation: &schema.Cancellation{Rate: 40, Delay: delay.Seconds()},
	})
	for _, a := range all {
		cancelled := a.rec.Status == record.Cancelled
		if after := time.Duration(a.rec.CancelAsked - a.rec.WriteEnd); cancelled &&
			(after < delay || a.rec.HTTPStatus != 499) {
			t.Errorf("request %d was cancelled after %v with status %d, want %v or later, 499",
				a.rec.RequestID, after, a.rec.HTTPStatus, delay)
		}
		// it may have answered before it noticed
		if gone := a.log.Aborted; gone != cancelled && (gone || a.log.First == 0) {
			t.Errorf("request %d ended as %s, gone away as the server has it: %v", a.rec.RequestID, a.rec.Status, gone)
		}
	}
	// Binomial(40, 0.4): four standard deviations are 12.4.
	if got := j.result.Phases[0].CancelledCount; got < 4 || got > 28 {
		t.Errorf("%d of %d were cancelled, want about 16", got, n)
	}
}

// The turns of a conversation come in order over one connection, each when the
// answer before it and the think time are over, and with that answer in it; no
// more conversations are open at once than there are slots.
func TestConversationsAsTheServerSeesThem(t *testing.T) {
	t.Parallel()
	const slots, turns, delay = 3, 3, 40 * time.Millisecond
	var talks []any
	for i := range 2 * slots {
		list := []any{map[string]any{"text": "first"}}
		for k := range turns - 1 {
			list = append(list, map[string]any{"text": fmt.Sprint("later ", k), "delay": delay.Milliseconds()})
		}
		talks = append(talks, map[string]any{"session_id": fmt.Sprint(i), "turns": list})
	}
	_, all := drive(t, "mock:?ttft=5ms&osl=7", func(j *job) {
		j.Set = inline(t, "multi_turn", talks)
		j.Endpoint.ConnectionReuse, j.client.Reuse = "sticky-user-sessions", "sticky-user-sessions"
		j.Phases = []schema.Phase{{Type: "concurrency", Concurrency: slots, Sessions: 2 * slots}}
	})
	sessions := map[string][]arrival{}
	var whole []arrival // conversations as requests from the first arrival to the last answer
	for _, a := range all {
		sessions[a.log.SessionID] = append(sessions[a.log.SessionID], a)
	}
	for id, s := range sessions {
		if len(s) != turns {
			t.Fatalf("conversation %s has %d turns, want %d", id, len(s), turns)
		}
		for i, a := range s[1:] {
			before := s[i]
			if wait := time.Duration(a.at - lastToken(before)); a.rec.Turn != int64(i+1) || wait < delay {
				t.Errorf("conversation %s: turn %d came %v after the answer before it, want turn %d and %v or later",
					id, a.rec.Turn, wait, i+1, delay)
			}
			if a.log.Conn != before.log.Conn || a.log.InTokens <= before.log.InTokens+before.log.OutTokens {
				t.Errorf("conversation %s, turn %d: connection %d after %d, %d tokens after %d and an answer of %d; want the same connection, and all of it in the prompt",
					id, i+1, a.log.Conn, before.log.Conn, a.log.InTokens, before.log.InTokens, before.log.OutTokens)
			}
		}
		w := s[0]
		w.first, w.log.First, w.log.Last = lastToken(s[turns-1]), 0, 0
		whole = append(whole, w)
	}
	if n := most(whole, lastToken); n > slots || len(whole) != 2*slots {
		t.Errorf("%d conversations, at most %d open at once; want %d and %d", len(whole), n, 2*slots, slots)
	}
}

// When the time of a phase is over nothing new is sent; what is answered within
// the grace counts, the rest is cancelled when that is over and not before.
func TestGraceAsTheServerSeesIt(t *testing.T) {
	t.Parallel()
	const slots, lasts = 4, 200 * time.Millisecond
	for _, c := range []struct {
		name, mock string
		grace      time.Duration
		want       record.Status
	}{
		{"answered within it", "mock:?ttft=300ms&osl=1", time.Minute, record.OK},
		{"not answered", "mock:?ttft=60s&osl=1", lasts, record.Cut},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			j, all := against(t, c.mock, nil, schema.Phase{
				Type: "concurrency", Concurrency: slots, Duration: schema.Seconds(lasts.Seconds()),
				GracePeriod: schema.Seconds(c.grace.Seconds()),
			})
			over := j.result.Phases[0].Start + int64(lasts)
			if p := j.result.Phases[0]; p.Issued != slots || p.Stop != "duration" {
				t.Errorf("%d requests, stopped by %s; want %d, duration", p.Issued, p.Stop, slots)
			}
			for _, a := range all {
				cut := c.want == record.Cut
				if a.rec.Status != c.want || a.log.Aborted != cut || a.rec.InWindow == cut {
					t.Errorf("request %d: %s %s, gone away as the server has it: %v, in the window: %v",
						a.rec.RequestID, a.rec.Status, a.rec.ErrorKind, a.log.Aborted, a.rec.InWindow)
				}
				if cut && (a.rec.CancelAsked < over+int64(c.grace) || a.rec.ErrorKind != "grace_over") {
					t.Errorf("request %d was cancelled %v after the phase: %s", a.rec.RequestID,
						time.Duration(a.rec.CancelAsked-over), a.rec.ErrorKind)
				}
			}
		})
	}
}
