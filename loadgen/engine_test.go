package loadgen

import (
	"testing"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

// nowhere sends nothing and remembers what it was given last.
type nowhere struct{ last *transport.Exchange }

func (n *nowhere) Start(x *transport.Exchange) { x.End = 0; n.last = x }
func (*nowhere) Cancel(*transport.Exchange)    {}

// ring deals the same requests again and again.
type ring struct {
	requests []*request
	i        int
}

func (r *ring) take() (*request, bool) {
	r.i++
	q := r.requests[r.i%len(r.requests)]
	q.goesOn, q.answered = false, false
	return q, false
}
func (*ring) close() {}
func (*ring) wait()  {}

// From the end of an answer to the next send: nothing is allocated.
func TestDispatchDoesNotAllocate(t *testing.T) {
	for name, p := range map[string]schema.Phase{
		"closed loop": {Type: "concurrency", Concurrency: 1, Requests: 1 << 40, PrefillConcurrency: 1},
		"open loop":   {Type: "poisson", Rate: 1e9, Requests: 1 << 40, Concurrency: 1},
	} {
		j := job(t, p)
		j.Emit = func(*record.Record) {}
		w := &world{}
		d, err := newDriver(&j, w, w)
		if err != nil {
			t.Fatal(err)
		}
		net := &nowhere{}
		e, ph := d.engine, d.phases[0]
		e.sender, e.read = net, func(*request) {}
		src := &ring{}
		for i := range int64(4) {
			r, _ := e.render.open(ph, sampled{j.Set.Sampler(1)}, i)
			src.requests = append(src.requests, r)
		}
		ph.source = src
		e.post(event{kind: phaseBegins, phase: ph})
		w.now = 1000
		e.drive(true)
		sent := e.requests
		allocs := testing.AllocsPerRun(2000, func() {
			w.now += 10
			net.last.User.(*request).x.End = w.now
			if ph.prefill.on {
				e.post(event{kind: firstContent, r: net.last.User.(*request)})
			}
			e.done(net.last)
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations per request", name, allocs)
		}
		if e.requests-sent < 2000 {
			t.Errorf("%s: only %d requests were sent", name, e.requests-sent)
		}
	}
}

func TestMailboxAndQueueKeepEverything(t *testing.T) {
	t.Parallel()
	m := newMailbox[int]()
	for i := range 100 {
		m.put(i, i%10 == 0)
	}
	m.close()
	var got []int
	for x, ok := m.take(); ok; x, ok = m.take() {
		got = append(got, x)
	}
	if len(got) != 100 || got[0] != 0 || got[9] != 90 || got[10] != 1 || got[99] != 99 {
		t.Errorf("took %v", got)
	}
	var q queue[int]
	next := 0
	for i := range 10_000 {
		q.push(i)
		if i%3 != 0 {
			if x := q.pop(); x != next {
				t.Fatalf("popped %d, want %d", x, next)
			}
			next++
		}
	}
	if q.len() != 10_000-next || cap(q.items) > 20_000 {
		t.Errorf("%d left in room for %d", q.len(), cap(q.items))
	}
}

func TestCollectorOrders(t *testing.T) {
	t.Parallel()
	m := newMailbox[finished]()
	for _, order := range []int64{3, 0, 2, 1, 5, 4} {
		rec := record.New()
		rec.RequestID = order
		m.put(finished{order: order, rec: &rec}, false)
	}
	m.close()
	var got []int64
	collect(m, func(f finished) { got = append(got, f.rec.RequestID) })
	for i, id := range got {
		if id != int64(i) {
			t.Fatalf("emitted %v", got)
		}
	}
	if len(got) != 6 {
		t.Errorf("emitted %v", got)
	}
}

func TestPacer(t *testing.T) {
	t.Parallel()
	p, err := newPacer(record.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for i := range int64(20) {
		due := p.Now() + i*50_000
		p.WaitUntil(due)
		if now := p.Now(); now < due {
			t.Errorf("woke %d ns early", due-now)
		}
	}
	// A wake before, and one during, a wait without end.
	p.Wake()
	p.WaitUntil(never)
	asleep := make(chan struct{})
	go func() {
		for p.Sleeping() == awake {
		}
		p.Wake()
		close(asleep)
	}()
	p.WaitUntil(never)
	<-asleep
	if p.Sleeping() != awake {
		t.Errorf("still sleeping until %d", p.Sleeping())
	}
}
