package loadgen

import (
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

// mute answers in 20 ms until a time; what is sent from then on is never answered.
func mute(from time.Duration) func(*transport.Exchange) time.Duration {
	return func(x *transport.Exchange) time.Duration {
		if time.Duration(x.Sent) >= from {
			return never
		}
		return 20 * msec
	}
}

// A server that keeps its connections and says nothing any more ends the run when the
// limit has passed since it last said something, in any phase and whatever is sent
// meanwhile. Without a limit it does not.
func TestStall(t *testing.T) {
	t.Parallel()
	const dies, limit = 2 * time.Second, 600 * time.Second
	closed := schema.Phase{Type: "concurrency", Concurrency: 4, Duration: ptr(schema.Duration(3600))}
	counted := schema.Phase{Type: "concurrency", Concurrency: 4, Requests: 100_000}
	open := schema.Phase{Type: "constant", Rate: 10, Duration: ptr(schema.Duration(3600))}
	drains := schema.Phase{Type: "constant", Rate: 10, Duration: ptr(schema.Duration(3)), GracePeriod: ptr(schema.Inf)}
	speaks := func(at ...time.Duration) map[time.Duration]func(*driver) {
		does := map[time.Duration]func(*driver){}
		for _, moment := range at {
			does[moment] = func(d *driver) { d.phases[0].books.onWire[0].x.Hear(int64(moment)) }
		}
		return does
	}
	for _, c := range []struct {
		name  string
		phase schema.Phase
		limit schema.Duration
		at    map[time.Duration]func(*driver)
		ends  time.Duration // about when
		stop  string
	}{
		{"closed loop", closed, 600, nil, dies + limit, "stalled"},
		{"closed loop that counts", counted, 600, nil, dies + limit, "stalled"},
		{"requests go on being sent", open, 600, nil, dies + limit, "stalled"},
		{"all are sent, and any time is waited", drains, 600, nil, dies + limit, "stalled"},
		{"a byte comes", closed, 600, speaks(300 * time.Second), 300*time.Second + limit, "stalled"},
		{"bytes come all the time", closed, 600, speaks(500*time.Second, 1000*time.Second, 1500*time.Second, 2000*time.Second, 2500*time.Second, 3000*time.Second, 3500*time.Second), 3630 * time.Second, "duration"},
		{"no limit", closed, 0, nil, 3630 * time.Second, "duration"},
		{"for ever", closed, schema.Inf, nil, 3630 * time.Second, "duration"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := &world{latency: mute(dies), at: c.at}
			j := job(t, c.phase)
			j.Endpoint.StallTimeout = &c.limit
			j.Endpoint.Timeout = 86400
			out := w.play(t, j)
			p := out.result.Phases[0]
			if end := time.Duration(p.End); p.Stop != c.stop || end < c.ends-time.Second || end > c.ends+time.Second {
				t.Errorf("it ended at %v as %q, want about %v as %q", end, p.Stop, c.ends, c.stop)
			}
			stalled := c.stop == "stalled"
			if said := out.result.Cancelled; strings.Contains(said, "stalled") != stalled ||
				out.result.Unreachable != stalled {
				t.Errorf("the reason is %q, unreachable %t", said, out.result.Unreachable)
			}
			cut := 0
			for _, r := range out.records {
				if r.Status == record.Cut && r.ErrorKind == "stalled" {
					cut++
				}
			}
			if (cut > 0) != stalled {
				t.Errorf("%d requests say that nothing came", cut)
			}
		})
	}
}

// Users that think longer than the limit are no stall: nothing is under way.
func TestPausesAreNoStall(t *testing.T) {
	t.Parallel()
	w := &world{latency: func(*transport.Exchange) time.Duration { return 20 * msec }}
	j := job(t, schema.Phase{Type: "constant", Rate: 0.001, Requests: 3})
	j.Endpoint.StallTimeout = ptr(schema.Duration(600))
	if p := w.play(t, j).result.Phases[0]; p.Stop != "requests" || p.OK != 3 {
		t.Errorf("stop %s, %d answers; want all three", p.Stop, p.OK)
	}
}
