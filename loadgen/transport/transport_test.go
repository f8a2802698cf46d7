package transport_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/faultserver"
	"aiperf.dev/aiperf/internal/leak"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/transport"
)

func TestMain(m *testing.M) { leak.Main(m) }

// patience bounds a wait for something that must happen; no result depends on it.
const patience = 2 * time.Minute

// rig is a client and what tests need of it.
type rig struct {
	*transport.Client
	t     *testing.T
	clock record.Clock
}

// open makes a client for url that ends with the test.
func open(t *testing.T, url string, change ...func(*transport.Config)) *rig {
	t.Helper()
	cfg := transport.Config{Targets: []string{url}, Clock: record.NewClock()}
	for _, f := range change {
		f(&cfg)
	}
	cl, err := transport.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{Client: cl, t: t, clock: cfg.Clock}
	t.Cleanup(func() {
		closed := make(chan error, 1)
		go func() { closed <- cl.Close() }()
		select {
		case err := <-closed:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience): // a callback of a test that failed may block for ever
			t.Error("Close did not end")
		}
	})
	return r
}

// start sends a request and returns where its end shows.
func (r *rig) start(change ...func(*transport.Exchange)) (*transport.Exchange, <-chan *transport.Exchange) {
	done := make(chan *transport.Exchange, 2) // room for a second call, which await would find
	x := &transport.Exchange{
		Path: "/v1/chat/completions", Body: []byte(`{"n":1}`),
		Deadline: record.None, CancelAfter: record.None,
		Done: func(x *transport.Exchange) { done <- x },
	}
	for _, f := range change {
		f(x)
	}
	r.Start(x)
	return x, done
}

// await waits for the end of an exchange.
func await(t *testing.T, done <-chan *transport.Exchange) *transport.Exchange {
	t.Helper()
	select {
	case x := <-done:
		return x
	case <-time.After(patience):
		t.Fatal("the exchange did not end")
		return nil
	}
}

// do sends a request and waits for its end.
func (r *rig) do(change ...func(*transport.Exchange)) *transport.Exchange {
	r.t.Helper()
	_, done := r.start(change...)
	return await(r.t, done)
}

func stream(x *transport.Exchange) { x.Stream = true }

// texts are the events' payloads.
func texts(x *transport.Exchange) (out []string) {
	for i := range x.Events {
		out = append(out, string(x.Data(i)))
	}
	return out
}

func TestJSON(t *testing.T) {
	t.Parallel()
	s := faultserver.Start(t, faultserver.Script{faultserver.Loop(faultserver.Read(),
		faultserver.Send(faultserver.JSON(`{"a":1}`)))})
	r := open(t, s.URL())
	for i := range 3 {
		x := r.do(func(x *transport.Exchange) { x.Header = []byte("X-Request-ID: 7\r\n") })
		if x.Status != record.OK || x.HTTPStatus != 200 || string(x.Payload) != `{"a":1}` || len(x.Events) != 1 ||
			x.Streamed {
			t.Fatalf("request %d: %+v", i, x)
		}
		if x.Reused != (i > 0) {
			t.Errorf("request %d: reused %v", i, x.Reused)
		}
		if (x.Dial == record.None) != (i > 0) {
			t.Errorf("request %d: dial took %d ns", i, x.Dial)
		}
		if (x.Connecting == record.None) != (i > 0) || x.Connecting > x.Dial {
			t.Errorf("request %d: connecting took %d ns, the dial %d", i, x.Connecting, x.Dial)
		}
		inOrder(t, x.Sent, x.WriteEnd)
		inOrder(t, x.Sent, x.FirstByte, x.Events[0].At, x.End, r.clock.Now())
		r.Release(x)
	}
	if n := s.Accepted(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
	q := s.Requests()[0]
	if q.Path != "/v1/chat/completions" || string(q.Body) != `{"n":1}` || q.Host != s.Addr() ||
		q.Header.Get("X-Request-ID") != "7" || q.Header.Get("Content-Type") != "application/json" {
		t.Errorf("the server read %+v", q)
	}
}

func inOrder(t *testing.T, stamps ...int64) {
	t.Helper()
	for i := 1; i < len(stamps); i++ {
		if stamps[i-1] == record.None || stamps[i] < stamps[i-1] {
			t.Errorf("stamps out of order at %d: %v", i, stamps)
		}
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	step := make(chan struct{})
	s := faultserver.Start(t, faultserver.Script{
		faultserver.Read(),
		faultserver.Send(faultserver.StreamHead()),
		faultserver.Send(faultserver.Event("a")), faultserver.Wait(step),
		faultserver.Send(faultserver.Event("b")), faultserver.Wait(step),
		faultserver.Send(faultserver.Event("c") + faultserver.Event("d")), faultserver.Wait(step),
		faultserver.Send(faultserver.Event("[DONE]") + faultserver.LastChunk),
	})
	r := open(t, s.URL())
	x := r.do(stream, func(x *transport.Exchange) {
		n := 0
		x.OnEvent = func([]byte) {
			if n++; n != 3 && n < 5 { // d comes with c
				step <- struct{}{}
			}
		}
	})
	if got := strings.Join(texts(x), " "); x.Status != record.OK || got != "a b c d [DONE]" || !x.Streamed {
		t.Fatalf("%s: events %q, streamed %v", x.Status, got, x.Streamed)
	}
	for i := range x.Events {
		e := x.Events[i]
		if (i == 3) != e.SameRead {
			t.Errorf("event %d: shared a read: %v", i, e.SameRead)
		}
		if e.Low > e.At {
			t.Errorf("event %d: bounds %d > %d", i, e.Low, e.At)
		}
		if i > 0 {
			inOrder(t, x.Events[i-1].At, e.At)
		}
	}
	if r.Stats().Stamps == "kernel" {
		b, c, d := x.Events[1], x.Events[2], x.Events[3]
		if b.Low != b.At {
			t.Errorf("b was alone in its read and is bounded by %d, %d", b.Low, b.At)
		}
		if c.Low != b.At || d.Low != b.At || c.At != d.At {
			t.Errorf("c and d shared a read: %+v, %+v after %+v", c, d, b)
		}
		if !(x.ReceiveLag >= 0) {
			t.Errorf("receive lag %v", x.ReceiveLag)
		}
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	s := faultserver.Start(t, faultserver.Script{faultserver.UntilClosed()})
	r := open(t, s.URL())
	if err := r.Probe(context.Background(), 0); err != nil {
		t.Errorf("a listening server: %v", err)
	}
	s.Stop()
	err := r.Probe(context.Background(), 0)
	if err == nil || !strings.Contains(err.Error(), "cannot reach http://127.0.0.1:") ||
		!strings.Contains(err.Error(), "connection refused") {
		t.Errorf("nobody listens: %v", err)
	}
}
