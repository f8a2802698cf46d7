// Package sim simulates whole plans: the program as it is, from the experiment
// to its results, with the built-in server and the network between them in
// virtual time. In goes an experiment, out come its results and the server's
// log, which is the truth. Nothing depends on the machine, so thousands of plans
// tell how often a conclusion is wrong.
package sim

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net/http"
	"strings"

	"aiperf.dev/aiperf/internal/heap"
	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/loadgen/transport/wire"
	"aiperf.dev/aiperf/runner/onerun"
)

// between is how long a plan rests between two runs, in ns.
const between = 100_000_000

// Worlds are the runs of one plan, one after the other, and its servers, which
// live as long as the plan does. The zero value has none yet.
type Worlds struct {
	// Log, if set, takes the log of each server.
	Log func(url string) *bytes.Buffer

	// Pace, if set, is the factor on all times of a server in a run, from 0 on: what an
	// instance's memory, placement or cache make of it as long as they last.
	Pace func(url string, run int) float64

	// Dead, if set, reports whether the server is gone for a run: it takes no connection.
	Dead func(url string, run int) bool

	// Stall, if set, is when the client stands still in a run: servers work on, answers
	// arrive and are stamped, and nobody acts on them before the end. In order, none of
	// which begins before the one before is over.
	Stall func(run int) []Pause

	// Others is how many users of another client ask each server all the time that a run
	// takes, one question after the other: the program does not know of them.
	Others int

	// Scrape has the servers' pages of metrics read, see RunScraped.
	Scrape bool
	// Garble, if set, is what becomes of such a page on its way.
	Garble func(page []byte) []byte
	tell   func(telemetry.Sample)

	unlogged  bool // nobody reads what the servers log
	exporters []onerun.Exporter

	runs    int   // so far
	at      int64 // ns since the plan began, at the start of the run in progress
	run     *world
	servers map[string]*mockserver.Virtual
	names   []string // of servers, in the order in which they were met
}

// Pause is a time, in ns since a run began, in which its client stands still.
type Pause struct{ From, To int64 }

// Open begins the next run, against the servers of urls.
func (w *Worlds) Open(urls []string) (loadgen.World, error) {
	if w.run != nil {
		w.at += w.run.now + between
		w.run.others.leave()
	}
	w.run = &world{plan: w}
	for _, u := range urls {
		s, err := w.server(u)
		if err != nil {
			return nil, err
		}
		if w.Pace != nil {
			s.Slow(w.Pace(u, w.runs))
		}
		w.run.targets = append(w.run.targets, s)
		w.run.dead = append(w.run.dead, w.Dead != nil && w.Dead(u, w.runs))
	}
	if w.Stall != nil {
		w.run.pauses = w.Stall(w.runs)
	}
	w.runs++
	for _, s := range w.run.targets {
		for range w.Others {
			w.run.others.join(w.run, s)
		}
	}
	if w.Scrape {
		w.run.scrape()
	}
	return w.run, nil
}

// Close completes the logs.
func (w *Worlds) Close() error {
	for _, u := range w.names {
		if err := w.servers[u].Close(); err != nil {
			return err
		}
	}
	return nil
}

func (w *Worlds) server(url string) (*mockserver.Virtual, error) {
	if s := w.servers[url]; s != nil {
		return s, nil
	}
	cfg, err := mockserver.ParseURL(url)
	if err != nil {
		return nil, err
	}
	if w.Log != nil {
		if b := w.Log(url); b != nil {
			cfg.Log = b
		}
	}
	s, err := mockserver.NewVirtual(cfg, func() int64 { return w.at + w.run.now })
	if err != nil {
		return nil, err
	}
	if w.servers == nil {
		w.servers = map[string]*mockserver.Virtual{}
	}
	w.servers[url], w.names = s, append(w.names, url)
	return s, nil
}

// world is one run. It belongs to one goroutine.
type world struct {
	plan    *Worlds
	targets []*mockserver.Virtual
	dead    []bool // of targets
	now     int64  // ns since the run began
	todo    heap.Heap[happening]
	count   int
	flights map[*transport.Exchange]*flight
	pauses  []Pause // that are to come
	stopped bool    // the client stands still
	held    []func()
	others  others
}

// Now is ns since the run began.
func (w *world) Now() int64 { return w.now }

// Wake does nothing: nobody sleeps.
func (w *world) Wake() {}

// Sleeping says that somebody is awake.
func (w *world) Sleeping() int64 { return math.MinInt64 }

// WaitUntil lets the next thing happen, or time pass to t.
func (w *world) WaitUntil(t int64) {
	if len(w.pauses) > 0 && w.pauses[0].From <= min(t, w.next()) {
		w.stand(w.pauses[0])
		w.pauses = w.pauses[1:]
		return
	}
	if t == math.MaxInt64 && w.next() == math.MaxInt64 {
		panic("everybody waits and nothing will happen")
	}
	w.pass(t)
}

// stand lets a pause of the client pass.
func (w *world) stand(p Pause) {
	w.stopped = true
	for w.next() <= p.To {
		w.pass(p.To)
	}
	w.now = max(w.now, p.To)
	w.stopped = false
	for len(w.held) > 0 {
		do := w.held[0]
		w.held = w.held[1:]
		do()
	}
}

// act has the client act, which waits while it stands still.
func (w *world) act(do func()) {
	if w.stopped {
		w.held = append(w.held, do)
		return
	}
	do()
}

// next is when something happens next; the end of time when nothing does.
func (w *world) next() int64 {
	at, _ := w.nearest()
	return at
}

// nearest is what happens next: by a server, or of what was planned, −1.
func (w *world) nearest() (next int64, server int) {
	next, server = int64(math.MaxInt64), -1
	if w.todo.Len() > 0 {
		next = w.todo.Top().at
	}
	for i, name := range w.plan.names {
		if at, ok := w.plan.servers[name].Next(); ok && at-w.plan.at < next {
			next, server = at-w.plan.at, i
		}
	}
	return next, server
}

// pass lets the next thing happen, if that is by t; else time passes to t.
func (w *world) pass(t int64) {
	next, server := w.nearest()
	switch {
	case next > t:
		w.now = max(w.now, t)
	case server >= 0:
		w.now = max(w.now, next)
		w.plan.servers[w.plan.names[server]].Work()
	default:
		h := w.todo.Pop()
		w.now = max(w.now, h.at)
		h.do()
	}
}

// after plans do, for a moment that may be now.
func (w *world) after(d int64, do func()) {
	w.count++
	w.todo.Push(happening{w.now + d, w.count, do})
}

// flight is a request that is under way.
type flight struct {
	world    *world
	x        *transport.Exchange
	visit    *mockserver.Visit
	response wire.Response
	sse      wire.SSE
	inRead   int // events of this read so far
	over     bool
}

// Start sends x: it arrives at once.
func (w *world) Start(x *transport.Exchange) {
	x.Sent, x.WriteEnd, x.FirstByte, x.End, x.CancelAsked = w.now, w.now, record.None, record.None, record.None
	x.DNS, x.Dial, x.TLS, x.Connecting, x.Reused, x.Status = record.None, record.None, record.None, record.None, true,
		record.OK
	x.HTTPStatus, x.ReceiveLag, x.BytesSent, x.BytesReceived = record.None, math.NaN(), int64(len(x.Body)), 0
	x.Payload, x.Events, x.Streamed = nil, nil, false
	f := &flight{world: w, x: x}
	f.response.Sink, f.sse.Event = f, f.event
	f.response.Reset()
	if w.flights == nil {
		w.flights = map[*transport.Exchange]*flight{}
	}
	w.flights[x] = f
	if x.Deadline != record.None {
		w.after(x.Deadline-w.now, func() { f.end(record.Timeout, "timeout") })
	}
	if x.CancelAfter != record.None {
		w.after(x.CancelAfter, func() { f.cancel() })
	}
	if w.dead[x.Target] || w.targets[x.Target].Crashed() {
		w.after(0, func() { f.end(record.Connection, "connection_refused") })
		return
	}
	f.visit = w.targets[x.Target].Ask(x.Path, header(x.Header), x.Body, f.arrive, func() {
		w.after(0, func() { f.end(record.Truncated, "truncated") }) // unless it is over, at the same moment
	})
}

// Cancel ends x.
func (w *world) Cancel(x *transport.Exchange) {
	if f := w.flights[x]; f != nil {
		w.after(0, f.cancel)
	}
}

// Release and Forget have nothing to give back.
func (w *world) Release(*transport.Exchange) {}

// Forget has no connections to close.
func (w *world) Forget(string) {}

// Predial has none to open.
func (w *world) Predial(context.Context, int) error { return nil }

func (f *flight) cancel() {
	if !f.over {
		f.x.CancelAsked = f.world.now
		f.end(record.Cancelled, "cancelled")
	}
}

// end hands the exchange back.
func (f *flight) end(status record.Status, kind string) {
	if f.over {
		return
	}
	f.over = true
	if f.visit != nil {
		f.visit.Leave()
	}
	delete(f.world.flights, f.x)
	f.x.End, f.x.Status = f.world.now, status
	if status != record.OK {
		f.x.ErrorKind, f.x.ErrorText = kind, kind
	}
	f.world.act(func() { f.x.Done(f.x) })
}

// arrive takes bytes of the answer, which share a read. What follows from them
// happens later at the same moment: the server is still writing.
func (f *flight) arrive(b []byte) {
	if f.over {
		return
	}
	f.x.BytesReceived += int64(len(b))
	f.inRead = 0
	if _, err := f.response.Feed(b); err != nil {
		f.world.after(0, func() { f.end(record.ParseError, err.Error()) })
	} else if f.response.Done() {
		f.world.after(0, f.complete)
	}
}

// Begin stamps the first byte.
func (f *flight) Begin() { f.x.FirstByte = f.world.now }

// Head takes the response's header.
func (f *flight) Head(h *wire.Head) error {
	f.x.HTTPStatus, f.x.Reason, f.x.ContentType = int64(h.Status), string(h.Reason), string(h.ContentType)
	f.x.Streamed = strings.HasPrefix(f.x.ContentType, "text/event-stream")
	return nil
}

// Body takes what follows it.
func (f *flight) Body(b []byte) error {
	if f.x.Streamed {
		return f.sse.Feed(b)
	}
	f.x.Payload = append(f.x.Payload, b...)
	return nil
}

// event is one of a stream.
func (f *flight) event(data []byte, isError bool) error {
	x, from := f.x, len(f.x.Payload)
	x.Payload = append(x.Payload, data...)
	x.Events = append(x.Events, transport.Event{
		Start: int32(from), End: int32(len(x.Payload)), At: f.world.now, Low: f.world.now, SameRead: f.inRead > 0,
		Error: isError,
	})
	f.inRead++
	if x.OnEvent != nil {
		kept := bytes.Clone(data)
		f.world.after(0, func() { f.world.act(func() { x.OnEvent(kept) }) })
	}
	return nil
}

// complete ends an answer whose bytes have all come.
func (f *flight) complete() {
	x := f.x
	switch {
	case x.HTTPStatus/100 != 2:
		f.end(record.HTTPError, fmt.Sprintf("http_%d", x.HTTPStatus))
		return
	case !x.Streamed:
		x.Events = append(x.Events, transport.Event{End: int32(len(x.Payload)), At: f.world.now, Low: f.world.now})
	}
	f.end(record.OK, "")
}

// header reads the lines of a request's header.
func header(lines []byte) http.Header {
	h := http.Header{}
	for line := range strings.SplitSeq(string(lines), "\r\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			h.Set(name, value)
		}
	}
	return h
}

// happening is something that will be done, those of one moment in the order in
// which they were planned.
type happening struct {
	at    int64
	count int
	do    func()
}

// Before orders by moment, then by plan.
func (h happening) Before(o happening) bool { return h.at < o.at || h.at == o.at && h.count < o.count }
