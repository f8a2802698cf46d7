package transport_test

import (
	"fmt"
	"sync"
	"testing"

	fs "aiperf.dev/aiperf/internal/faultserver"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/transport"
)

// While the client is kept from reading, the kernel goes on stamping: an event
// is dated by its arrival and not by when it was read.
func TestStampsHoldWhileStarved(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprint("tls ", secure), func(t *testing.T) {
			t.Parallel()
			reading, sent := make(chan struct{}), make(chan struct{})
			script := fs.Script{
				fs.Read(), fs.Send(fs.StreamHead() + fs.Event("a")), fs.Wait(reading),
				fs.Send(fs.Event("b")), fs.Tell(sent), fs.Await("read"), fs.Send(fs.LastChunk), fs.UntilClosed(),
			}
			s := fs.Start(t, script)
			if secure {
				s = fs.StartTLS(t, newIdentity(t, "127.0.0.1", tomorrow()).config(), script)
			}
			r := open(t, s.URL(), func(c *transport.Config) { c.Insecure = true })
			if r.Stats().Stamps != "kernel" {
				t.Skip("no kernel stamps here")
			}
			var before, after int64
			n := 0
			x := r.do(stream, func(x *transport.Exchange) {
				x.OnEvent = func([]byte) {
					if n++; n > 1 {
						s.Notify("read")
						return
					}
					before = r.clock.Now()
					reading <- struct{}{}
					<-sent // b is in our socket by now
					after = r.clock.Now()
					for r.clock.Now() < after+2e6 { // 2 ms of a busy client
						continue
					}
				}
			})
			if x.Status != record.OK || len(x.Events) != 2 {
				t.Fatalf("%s %s, %d events", x.Status, x.ErrorText, len(x.Events))
			}
			if b := x.Events[1]; b.At < before || b.At > after || b.Low != b.At {
				t.Errorf("b arrived at %d (not before %d), want within [%d, %d]", b.At, b.Low, before, after)
			}
			if x.ReceiveLag < 2000 {
				t.Errorf("receive lag %v µs, want at least the 2000 that b lay unread", x.ReceiveLag)
			}
		})
	}
}

// An answer that the server ends by closing the connection keeps its slot until the
// close, whether its content said that it was the last or not. The kernel tells when that
// was, by a clock of some milliseconds, to a client that was kept from reading.
func TestEndsWithTheClose(t *testing.T) {
	t.Parallel()
	const late, coarse = 100e6, 50e6 // ns
	for _, c := range []struct{ name, type_, body string }{
		{"a stream without its mark", "text/event-stream", "data: a\n\n"},
		{"a stream with its mark", "text/event-stream", "data: [DONE]\n\n"},
		{"a document", "application/json", "{}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ask, closed := make(chan struct{}), make(chan struct{})
			s := fs.Start(t, fs.Script{
				fs.Read(), fs.Send(fs.Head("200 OK", c.type_, "Connection: close") + c.body),
				fs.Wait(ask), fs.CloseWrite(), fs.Tell(closed), fs.UntilClosed(),
			})
			r := open(t, s.URL())
			var before, after int64
			stall := func() {
				before = r.clock.Now()
				ask <- struct{}{}
				<-closed
				after = r.clock.Now()
				for r.clock.Now() < after+late {
					continue
				}
			}
			stalled := make(chan struct{})
			once := sync.OnceFunc(func() { stall(); close(stalled) })
			whole := c.type_ == "application/json" // nothing of it is told before its end
			if whole {
				go once()
			}
			x := r.do(stream, func(x *transport.Exchange) {
				x.OnEvent = func([]byte) {
					if !whole {
						once()
					}
				}
			})
			<-stalled
			if x.Status != record.OK || len(x.Events) != 1 {
				t.Fatalf("%s %s, %d events", x.Status, x.ErrorText, len(x.Events))
			}
			if x.End < before || r.Stats().Stamps == "kernel" && x.End > after+coarse {
				t.Errorf("ended at %d, the server closed at [%d, %d]", x.End, before, after)
			}
		})
	}
}
