package transport_test

import (
	"fmt"
	"testing"
	"time"

	fs "aiperf.dev/aiperf/internal/faultserver"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/transport"
)

// The wall clock is set in the middle of a stream: events before and after have
// the times at which they came, spans are as long as they were, and the jump is
// noted with its size, when something arrives or at the end at the latest.
func TestWallClockIsSet(t *testing.T) {
	t.Parallel()
	for _, jump := range []time.Duration{time.Hour, -time.Hour} {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprint(jump, " tls ", secure), func(t *testing.T) {
				t.Parallel()
				script := fs.Script{
					fs.Read(), fs.Send(fs.StreamHead() + fs.Event("a")), fs.Await("set"),
					fs.Send(fs.Event("b")), fs.Await("read"), fs.Send(fs.Event("c") + fs.LastChunk), fs.UntilClosed(),
				}
				s := fs.Start(t, script)
				if secure {
					s = fs.StartTLS(t, newIdentity(t, "127.0.0.1", tomorrow()).config(), script)
				}
				r := open(t, s.URL(), func(c *transport.Config) { c.Insecure = true })
				if r.Stats().Stamps != "kernel" {
					t.Skip("no kernel stamps here")
				}
				var read []int64
				var set int64
				x := r.do(stream, func(x *transport.Exchange) {
					x.OnEvent = func([]byte) {
						switch read = append(read, r.clock.Now()); len(read) {
						case 1:
							set = r.clock.Now()
							transport.SetWallClock(r.Client, jump)
							s.Notify("set")
						case 2:
							s.Notify("read")
						}
					}
				})
				if x.Status != record.OK || len(x.Events) != 3 {
					t.Fatalf("%s %s, %d events", x.Status, x.ErrorText, len(x.Events))
				}
				after := []int64{x.Sent, set, read[1]}
				for i, e := range x.Events {
					if e.At < after[i] || e.At > read[i] || e.Low != e.At {
						t.Errorf("event %d came at (%d, %d], want one moment within [%d, %d]", i, e.Low, e.At, after[i],
							read[i])
					}
				}
				inOrder(t, x.Sent, x.FirstByte, x.Events[0].At, x.Events[1].At, x.Events[2].At, x.End, r.clock.Now())
				st := r.Stats()
				if far := time.Duration(st.ClockJump); st.ClockJumps != 1 || far < time.Hour-time.Second ||
					far > time.Hour+time.Second {
					t.Errorf("%d jumps, by %v at most; want one of an hour", st.ClockJumps, far)
				}
			})
		}
	}
}

// A jump in whose wake nothing arrives is noted when the client is closed.
func TestWallClockIsSetAtTheEnd(t *testing.T) {
	t.Parallel()
	s := fs.Start(t, echo())
	cl, err := transport.Open(transport.Config{Targets: []string{s.URL()}, Clock: record.NewClock()})
	if err != nil {
		t.Fatal(err)
	}
	transport.SetWallClock(cl, 50*time.Millisecond)
	if err := cl.Close(); err != nil {
		t.Fatal(err)
	}
	if st := cl.Stats(); st.ClockJumps != 1 || st.ClockJump < int64(45*time.Millisecond) ||
		st.ClockJump > int64(55*time.Millisecond) {
		t.Errorf("%d jumps, by %v at most; want one of 50ms", st.ClockJumps, time.Duration(st.ClockJump))
	}
}
