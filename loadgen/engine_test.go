package loadgen

import (
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/queue"
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

func (r *ring) next() (*request, bool) {
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
		for range 4 {
			r, _ := e.maker.open(ph, ph.load.Sessions)
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
	m := queue.NewMailbox[finished](0, nil)
	for _, order := range []int64{3, 0, 2, 1, 5, 4} {
		rec := record.New()
		rec.RequestID = order
		m.Put(finished{order: order, rec: &rec}, false)
	}
	m.Close()
	var got []int64
	(&finisher{out: m}).collect(func(f finished) { got = append(got, f.rec.RequestID) })
	for i, id := range got {
		if id != int64(i) {
			t.Fatalf("emitted %v", got)
		}
	}
	if len(got) != 6 {
		t.Errorf("emitted %v", got)
	}
}
