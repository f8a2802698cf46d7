package loadgen

import (
	"testing"
	"time"

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
			r, _ := e.maker.open(ph, ph.load.Sessions, i)
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
			if ph.slots.prefill.on {
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
	m := newMailbox[int](0, nil)
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

// What is not urgent waits until it is due, and a while longer while others are
// pressed; nothing else does.
func TestMailboxPutsOff(t *testing.T) {
	t.Parallel()
	pressed := true
	m := newMailbox[int](time.Hour, func() bool { return pressed })
	take := func(want int) {
		t.Helper()
		if got, ok := m.take(); got != want || !ok {
			t.Fatalf("took %d, %v; want %d", got, ok, want)
		}
	}
	m.put(1, false)
	m.put(2, true)
	take(2)
	for i := range patience {
		m.ripen()
		m.mu.Lock()
		if !m.due || !m.putOff() || m.due || !m.armed {
			t.Fatalf("the work was not put off for the %dth time", i+1)
		}
		m.mu.Unlock()
	}
	m.put(3, false)
	m.ripen()
	take(1)
	take(3) // what has become due is taken to its end
	m.put(4, false)
	pressed = false
	m.ripen()
	take(4)
	pressed = true
	m.put(5, false)
	m.close()
	take(5)
	if _, ok := m.take(); ok {
		t.Error("something is left")
	}
	m.ripen() // a timer that fired while it was stopped
}

// The engine is under pressure from a late sending on until it has recovered.
func TestPressure(t *testing.T) {
	t.Parallel()
	w := &world{}
	e := &engine{clock: w, sender: &nowhere{}}
	sends := func(at, due int64) bool {
		w.now = at
		e.out = []*request{{intended: due}}
		e.step()
		return e.pressed()
	}
	const start = int64(time.Second)
	if w.now = start; e.pressed() {
		t.Error("pressed before anything was sent")
	}
	if sends(start+tooLate, start) {
		t.Error("pressed though nothing was too late")
	}
	if !sends(start+tooLate+1, start) {
		t.Error("not pressed though something was late")
	}
	if w.now += recovery - 1; !e.pressed() {
		t.Error("recovered too early")
	}
	if w.now++; e.pressed() {
		t.Error("never recovers")
	}
}

func TestCollectorOrders(t *testing.T) {
	t.Parallel()
	m := newMailbox[finished](0, nil)
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

// The lead settles where a quarter of the wakings are later, and what is waited
// awake stays within its share.
func TestPacerLearns(t *testing.T) {
	t.Parallel()
	p := &pacer{lead: maxLead / 4, mayspin: true}
	for i := range 4000 { // late by 0 to 99 µs, evenly
		p.learn(int64(i*37%100) * 1000)
	}
	if p.lead < 65_000 || p.lead > 85_000 {
		t.Errorf("lead %d ns, want about 75,000", p.lead)
	}
	for range 1000 {
		p.learn(10 * maxLead)
	}
	if p.lead != maxLead {
		t.Errorf("lead %d ns, want at most %d", p.lead, maxLead)
	}
	p.spun = 49_800_000
	if got := p.allowed(int64(time.Second)); got != maxLead {
		t.Errorf("allowed %d ns of what is left", got)
	}
	if p.spun++; p.allowed(int64(time.Second)) != 0 {
		t.Error("more was allowed than the share")
	}
	p.spun, p.mayspin = 0, false
	if p.allowed(int64(time.Second)) != 0 {
		t.Error("allowed on the only processor")
	}
	for range 1000 {
		p.learn(-1)
	}
	if p.lead != 0 {
		t.Errorf("lead %d ns though waking takes no time", p.lead)
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
