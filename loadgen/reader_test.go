package loadgen

import (
	"context"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/dataset/datasettest"
	"aiperf.dev/aiperf/loadgen/pace"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

// echo answers every request at once.
type echo struct {
	clock    record.Clock
	answers  func(n int) string // content of the nth answer
	started  int
	released chan *transport.Exchange
}

func (e *echo) Start(x *transport.Exchange) {
	const none = record.None
	text := e.answers(e.started)
	e.started++
	now := e.clock.Now()
	x.Sent, x.WriteEnd, x.FirstByte, x.End, x.CancelAsked = now, now, now, now, none
	x.Status, x.HTTPStatus, x.ErrorKind, x.ErrorText = record.OK, 200, "", ""
	x.Payload = []byte(`{"choices":[{"message":{"content":"` + text + `"},"finish_reason":"stop"}]}`)
	x.Events = []transport.Event{{End: int32(len(x.Payload)), At: now, Low: now}}
	x.BytesReceived = int64(len(x.Payload))
	go x.Done(x)
}

func (*echo) Cancel(*transport.Exchange)         {}
func (*echo) Forget(string)                      {}
func (*echo) Predial(context.Context, int) error { return nil }
func (e *echo) Release(x *transport.Exchange)    { e.released <- x }

// sticking is a tokenizer that does not come back from a certain text before it
// is let go.
type sticking struct {
	datasettest.Bytes
	on          func(text string) bool
	stuck, free chan struct{}
}

func (s *sticking) Count(text string) int {
	if s.on(text) {
		s.stuck <- struct{}{}
		<-s.free
	}
	return len(text)
}

// An answer whose reading does not end is given up: the run ends, the request is
// counted once, with the reason, and what its reader says later is ignored.
func TestStuckReadersAreGivenUp(t *testing.T) {
	t.Parallel()
	const bad = "bad answer"
	alone := func(text string) bool { return text == bad }
	for name, c := range map[string]struct {
		turns int
		on    func(string) bool
		want  int // records
	}{
		"last turn":                       {1, alone, 6},
		"after the next turn is sent":     {2, alone, 12},
		"while the next turn is rendered": {2, func(text string) bool { return strings.Contains(text, bad) }, 11},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := job(t, schema.Phase{Type: "concurrency", Concurrency: 1, Sessions: 6})
			tok := &sticking{on: c.on, stuck: make(chan struct{}, 1), free: make(chan struct{})}
			j.Tokenizer = tok
			n := c.turns
			j.Set = datasettest.Conversations(t, n, n, n, n, n, n)
			net := &echo{clock: j.Clock, released: make(chan *transport.Exchange, 100), answers: func(n int) string {
				if n == 2 {
					return bad
				}
				return "fine"
			}}
			var records []*record.Record
			j.Emit = func(r *record.Record) { records = append(records, r) }
			p, err := pace.New(j.Clock)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			d, err := newDriver(&j, p, net)
			if err != nil {
				t.Fatal(err)
			}
			go func() { // as if its time were up
				<-tok.stuck
				d.readers.replace(d.readers.now() + int64(readLimit))
			}()
			res := d.run(context.Background(), context.Background())
			close(tok.free) // it comes back when all is over
			ph := res.Phases[0]
			if len(records) != c.want || int(ph.Issued) != c.want || ph.OK != int64(c.want-1) || ph.Failed != 1 {
				t.Errorf("%d records, phase %+v; want %d, one of them failed", len(records), ph, c.want)
			}
			seen := map[int64]bool{}
			for _, r := range records {
				seen[r.RequestID] = true
				if r.Failed() && (r.Status != record.Client || r.ErrorKind != "answer_not_read" ||
					!strings.Contains(r.ErrorMessage, "had not ended after 1m0s")) {
					t.Errorf("%s %s: %s", r.Status, r.ErrorKind, r.ErrorMessage)
				}
			}
			if len(seen) != len(records) {
				t.Errorf("%d different requests in %d records", len(seen), len(records))
			}
			if len(ph.Notes) != 1 || ph.Notes[0] != "reading did not end and was given up: 1 answer" {
				t.Errorf("notes %q", ph.Notes)
			}
			if n := len(net.released); n != c.want-1 {
				t.Errorf("%d exchanges were given back, want all but the one that is still being read", n)
			}
		})
	}
}

// Once a run is aborted, less patience is had.
func TestReadersOfAnAbortedRun(t *testing.T) {
	t.Parallel()
	var e engine
	rs := newReaders(nil, nil, &e.aborted)
	if got := rs.limit(); got != readLimit {
		t.Errorf("limit %v, want %v", got, readLimit)
	}
	e.aborted.Store(true)
	if got := rs.limit(); got != watchdogMargin {
		t.Errorf("limit %v, want %v", got, watchdogMargin)
	}
	rd := &reader{}
	if r, _, _ := rd.stuck(int64(time.Hour)); r != nil || rd.lost {
		t.Error("a reader that reads nothing is stuck")
	}
	rd.begin(&request{}, 100)
	if r, _, _ := rd.stuck(99); r != nil {
		t.Error("given up before its time")
	}
	if r, since, _ := rd.stuck(100); r == nil || since != 100 || rd.goesOn() || rd.end() {
		t.Error("not given up")
	}
}
