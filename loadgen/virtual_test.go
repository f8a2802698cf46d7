package loadgen

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/heap"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/dataset/datasettest"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/loadgen/pace"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

// world is a clock and a network in which time passes only when everybody
// waits. It answers each request after latency.
type world struct {
	latency func(*transport.Exchange) time.Duration
	reply   func(*transport.Exchange) []string // events; nil: one short answer
	content time.Duration                      // first content, 0: with the end
	// a connection opens, and the client holds it before it writes; nil: all are kept
	dial func(*transport.Exchange) (opens, held time.Duration)
	at   map[time.Duration]func(*driver) // what happens when
	deaf bool                            // cancelling does nothing
	// answers are stamped when they come, whatever the client does then
	kernel bool
	gone   func(target int, at time.Duration) bool     // a target refuses connections; nil: none ever does
	supply func(*driver, *phase, mode.Sessions) source // renders; nil: when asked

	mu      sync.Mutex
	now     int64
	stamp   int64 // of what happens
	todo    heap.Heap[happening]
	sent    []sending
	refused int // by a target that was gone
	peak    int
	flying  int
	forgot  []string
	ordinal int
	driver  *driver
}

// sending is one request as the network saw it.
type sending struct {
	at      time.Duration
	id      int64
	session string
	turn    int
	body    string
	header  string
}

type happening struct {
	at int64
	n  int
	x  *transport.Exchange
	do func()
}

func (w *world) Now() int64      { return w.now }
func (w *world) Wake()           {}
func (w *world) Sleeping() int64 { return math.MinInt64 }

// WaitUntil lets the next thing happen, or time pass to t.
func (w *world) WaitUntil(t int64) {
	if w.todo.Len() == 0 || w.todo.Top().at > t {
		if t == pace.Never {
			panic("everybody waits and nothing will happen")
		}
		w.now = max(w.now, t)
		return
	}
	h := w.todo.Pop()
	w.now = max(w.now, h.at)
	w.stamp = w.now
	if w.kernel {
		w.stamp = h.at
	}
	h.do()
}

func (w *world) after(d int64, x *transport.Exchange, do func()) {
	w.ordinal++
	w.todo.Push(happening{w.now + d, w.ordinal, x, do})
}

func (w *world) Start(x *transport.Exchange) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := x.User.(*request)
	w.sent = append(w.sent, sending{
		time.Duration(w.now), r.id, r.play.ID, r.turn, string(x.Body), string(x.Header),
	})
	w.flying++
	w.peak = max(w.peak, w.flying)
	if w.gone != nil && w.gone(x.Target, time.Duration(w.now)) {
		w.refuse(x)
		return
	}
	x.Sent, x.WriteEnd, x.Connecting, x.CancelAsked, x.End = w.now, w.now, record.None, record.None, record.None
	x.Status, x.HTTPStatus, x.Streamed = record.OK, 200, x.Stream
	latency := time.Millisecond
	if w.latency != nil {
		latency = w.latency(x)
	}
	before := time.Duration(0)
	if w.dial != nil {
		opens, held := w.dial(x)
		before = opens + held
		x.Connecting, x.Sent, x.WriteEnd = int64(opens), w.now+int64(before), w.now+int64(before)
		latency += before
	}
	if w.content > 0 && x.OnEvent != nil {
		w.after(int64(before+w.content), nil, func() {
			x.Events = []transport.Event{{At: w.stamp}}
			x.OnEvent([]byte(`{"choices":[{"delta":{"content":"a"}}]}`))
		})
	}
	if x.CancelAfter != record.None && x.CancelAfter < int64(latency) {
		latency = time.Duration(x.CancelAfter)
		x.Status, x.CancelAsked = record.Cancelled, w.now+x.CancelAfter
	}
	w.after(int64(latency), x, func() { w.answer(x) })
}

// refuse ends x as a server that nobody listens for does, within a moment.
func (w *world) refuse(x *transport.Exchange) {
	w.refused++
	x.Sent, x.WriteEnd, x.FirstByte, x.CancelAsked, x.Connected = record.None, record.None, record.None, record.None,
		record.None
	x.Status, x.HTTPStatus, x.ErrorKind, x.ErrorText = record.Connection,
		record.None, "refused", "connect: connection refused"
	w.after(int64(50*time.Microsecond), x, func() {
		w.flying--
		x.End, x.Events, x.Payload = w.now, nil, nil
		x.Done(x)
	})
}

func (w *world) answer(x *transport.Exchange) {
	w.flying--
	x.End, x.FirstByte = w.stamp, w.stamp
	events := []string{`{"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}`}
	if !x.Stream {
		events = []string{`{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`}
	}
	if w.reply != nil {
		events = w.reply(x)
	}
	x.Payload, x.Events = nil, nil
	for _, e := range events {
		from := len(x.Payload)
		x.Payload = append(x.Payload, e...)
		x.Events = append(x.Events, transport.Event{
			Start: int32(from), End: int32(len(x.Payload)), At: w.stamp,
			Low: w.stamp,
		})
	}
	x.Done(x)
}

func (w *world) Cancel(x *transport.Exchange) {
	if w.deaf {
		return
	}
	for i, h := range w.todo.All() {
		if h.x == x {
			w.todo.Remove(i)
			x.Status, x.CancelAsked = record.Cancelled, w.now
			w.after(0, nil, func() { w.flying--; x.End = w.now; x.Events, x.Payload = nil, nil; x.Done(x) })
			return
		}
	}
}

func (w *world) Release(*transport.Exchange)        {}
func (w *world) Forget(id string)                   { w.forgot = append(w.forgot, id) }
func (w *world) Predial(context.Context, int) error { return nil }

// Before orders by moment, then by plan.
func (h happening) Before(o happening) bool { return h.at < o.at || h.at == o.at && h.n < o.n }

// outcome is what a virtual run left behind.
type outcome struct {
	result  Result
	records []*record.Record
	driver  *driver
}

// offsets are when requests were sent.
func (w *world) offsets() []time.Duration {
	var at []time.Duration
	for _, s := range w.sent {
		at = append(at, s.at)
	}
	return at
}

// play runs job in w.
func (w *world) play(t *testing.T, job Job) outcome {
	t.Helper()
	var out outcome
	job.Emit = func(r *record.Record) { out.records = append(out.records, r) }
	d, err := newDriver(&job, w, w)
	if err != nil {
		t.Fatalf("newDriver: %v", err)
	}
	var rd reader
	d.engine.read = func(r *request) { d.finisher.finish(r, &rd) }
	ready := make(chan struct{})
	close(ready)
	w.driver = d
	d.supply = func(p *phase, c mode.Sessions) (source, <-chan struct{}) {
		if w.supply != nil {
			return w.supply(d, p, c), ready
		}
		return &direct{open: func() (*request, bool) { return d.engine.maker.open(p, c) }}, ready
	}
	for at, do := range w.at {
		w.after(int64(at), nil, func() { do(d); d.engine.drive(false) })
	}
	out.driver = d
	out.result = d.run(context.Background(), context.Background())
	slices.SortFunc(w.sent, func(a, b sending) int { return int(a.id - b.id) })
	checkBooks(t, out)
	return out
}

// checkBooks holds for every run: each request is emitted once, in order of
// completion, and every one is accounted for.
func checkBooks(t *testing.T, out outcome) {
	t.Helper()
	seen := map[int64]bool{}
	last := int64(math.MinInt64)
	for _, r := range out.records {
		if seen[r.RequestID] {
			t.Errorf("request %d was emitted twice", r.RequestID)
		}
		seen[r.RequestID] = true
		if r.End < last {
			t.Errorf("request %d ended at %d and was emitted after one that ended at %d", r.RequestID, r.End, last)
		}
		last = r.End
	}
	var issued int64
	for _, p := range out.result.Phases {
		issued += p.Issued
		if p.OK+p.Failed+p.CancelledCount+p.Cut != p.Issued {
			t.Errorf("phase %s: %d ok + %d failed + %d cancelled ≠ %d issued", p.Name, p.OK, p.Failed, p.CancelledCount,
				p.Issued)
		}
	}
	for i := range issued {
		if j := out.driver.job; j.Share.Of <= 1 && j.Starts == nil && !seen[i] {
			t.Errorf("request %d was issued and never emitted", i)
		}
	}
	if int64(len(out.records)) != issued {
		t.Errorf("%d records of %d requests", len(out.records), issued)
	}
}

// job is a small run of the given phases over single turns.
func job(t *testing.T, phases ...schema.Phase) Job {
	t.Helper()
	spec, ok := endpoint.Lookup("chat")
	if !ok {
		t.Fatal("no chat endpoint")
	}
	for i := range phases {
		p := &phases[i]
		if p.Name == "" {
			p.Name = "profiling"
		}
		if p.Kind == "" {
			p.Kind = "profiling"
		}
	}
	return Job{
		Phases: phases, Spec: spec, Tokenizer: datasettest.Bytes{}, Seed: 42, Text: 42, Clock: record.NewClock(),
		Endpoint: schema.Endpoint{URLs: []string{"http://127.0.0.1:1"}, Type: "chat", Streaming: true},
		Models:   schema.Models{Items: []schema.Model{{Name: "m"}}},
		Set:      datasettest.Conversations(t, 1, 1, 1, 1, 1, 1, 1),
	}
}

// endpointThatCannotRender is the job's endpoint with a Body that fails.
func endpointThatCannotRender(j Job) *endpoint.Spec {
	spec := *j.Spec
	spec.Body = func([]byte, *endpoint.Input) ([]byte, error) { return nil, fmt.Errorf("no place for it") }
	return &spec
}

const msec = time.Millisecond

func millis(v ...float64) (d []time.Duration) {
	for _, x := range v {
		d = append(d, time.Duration(math.Round(x*1e6)))
	}
	return d
}

func ptr[T any](v T) *T { return &v }
