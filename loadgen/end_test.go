package loadgen

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/dataset/datasettest"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

// stalled holds the client up from one moment to another.
func stalled(from, to time.Duration) map[time.Duration]func(*world) {
	return map[time.Duration]func(*world){from: func(w *world) { w.now = int64(to) }}
}

// at100 is 100/s for 100 ms: due at 10, 20, … 90 ms.
func at100(change func(*schema.Phase)) schema.Phase {
	p := schema.Phase{Type: "constant", Rate: 100, Duration: schema.Seconds(0.1)}
	if change != nil {
		change(&p)
	}
	return p
}

// What a client sends that was held up over the end of its phase: what was due
// before it and had its slots by then, and nothing else.
func TestHeldUpOverTheEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		phase   schema.Phase
		turns   []int // of the conversations, single ones if nil
		latency time.Duration
		at      map[time.Duration]func(*world)
		sent    []time.Duration
		skipped map[string]int64
	}{
		{
			"no limit", at100(nil), nil, msec, stalled(75*msec, 125*msec),
			millis(10, 20, 30, 40, 50, 60, 70, 125, 125),
			map[string]int64{},
		},
		// The answer of 70 ms comes at 71 ms, so a punctual client had its slot.
		{
			"a limit that did not bind", at100(func(p *schema.Phase) { p.Concurrency = 2 }), nil, msec, stalled(75*msec, 125*msec),
			millis(10, 20, 30, 40, 50, 60, 70, 125, 125),
			map[string]int64{},
		},
		// The answers of 10 and 20 ms come at 110 and 120 ms, after the end.
		{
			"slots freed after the end", at100(func(p *schema.Phase) { p.Concurrency = 2 }), nil, 100 * msec, stalled(75*msec, 125*msec),
			millis(10, 20),
			map[string]int64{"stopped": 7},
		},
		{
			"the same in flight", at100(func(p *schema.Phase) { p.InFlight = 2 }), nil, 100 * msec, stalled(75*msec, 125*msec),
			millis(10, 20),
			map[string]int64{"stopped": 7},
		},
		{
			"no slot, skipped", at100(func(p *schema.Phase) { p.Concurrency, p.OnCap = 2, "skip" }), nil, 100 * msec, stalled(75*msec, 125*msec),
			millis(10, 20),
			map[string]int64{"on_cap": 7},
		},
		{
			"no grace left", at100(func(p *schema.Phase) { p.GracePeriod = schema.Seconds(0.02) }), nil, msec, stalled(75*msec, 125*msec),
			millis(10, 20, 30, 40, 50, 60, 70),
			map[string]int64{"client_late": 2},
		},
		{
			"no grace at all", at100(func(p *schema.Phase) { p.GracePeriod = schema.Seconds(0) }), nil, msec, stalled(75*msec, 125*msec),
			millis(10, 20, 30, 40, 50, 60, 70),
			map[string]int64{"client_late": 2},
		},
		{
			"requests run out", at100(func(p *schema.Phase) { p.Requests = 8 }), nil, msec, stalled(75*msec, 125*msec),
			millis(10, 20, 30, 40, 50, 60, 70, 125),
			map[string]int64{},
		},
		{
			"interrupted meanwhile", at100(nil), nil, msec,
			map[time.Duration]func(*world){75 * msec: func(w *world) {
				w.now = int64(125 * msec)
				w.driver.interrupt()
			}},
			millis(10, 20, 30, 40, 50, 60, 70),
			map[string]int64{"stopped": 2},
		},
		// One slot, and nothing of it is due by the clock.
		{
			"closed loop",
			schema.Phase{Type: "concurrency", Concurrency: 1, Duration: schema.Seconds(0.1)},
			nil, 30 * msec, stalled(75*msec, 125*msec),
			millis(0, 30, 60),
			map[string]int64{},
		},
		// Two users, a turn each 40 ms: the fresh one at 0, 40, 80; the other
		// one at 20 and 60, and its successor at 100. 80 is due while the client
		// stands still, 100 and 120 are not.
		{
			"users",
			schema.Phase{Type: "user_centric", Users: 2, Rate: 50, Duration: schema.Seconds(0.1)},
			[]int{4},
			msec, stalled(75*msec, 125*msec),
			millis(0, 20, 40, 60, 125),
			map[string]int64{"conversation_cut": 1},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := &world{latency: fixedLatency(c.latency), at: map[time.Duration]func(*driver){}}
			for when, do := range c.at {
				w.at[when] = func(*driver) { do(w) }
			}
			j := job(t, c.phase)
			if c.turns != nil {
				j.Set = datasettest.Conversations(t, c.turns...)
			}
			out := w.play(t, j)
			if diff := cmp.Diff(c.sent, w.offsets()); diff != "" {
				t.Errorf("sent at (-want +got):\n%s", diff)
			}
			p := out.result.Phases[0]
			if diff := cmp.Diff(c.skipped, p.Skipped); diff != "" {
				t.Errorf("skipped (-want +got):\n%s", diff)
			}
			if p.OK+p.Cut != int64(len(c.sent)) {
				t.Errorf("%d ok, %d cancelled of %d", p.OK, p.CancelledCount, len(c.sent))
			}
		})
	}
}

// An answer that ended after the end of the phase, but was seen together with
// the end, makes room for nothing and is followed by nothing.
func TestAnswersAfterTheEndOpenNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		phase   schema.Phase
		sent    []time.Duration
		skipped map[string]int64
	}{
		{
			"a slot", at100(func(p *schema.Phase) { p.Concurrency = 3 }),
			millis(10, 20, 30),
			map[string]int64{"stopped": 6},
		},
		// The fresh user's second turn is due at 50 ms, its third one never.
		{
			"a turn",
			schema.Phase{Type: "user_centric", Users: 2, Rate: 40, Duration: schema.Seconds(0.1)},
			millis(0, 25, 50, 75),
			map[string]int64{"conversation_cut": 2},
		},
	} {
		w := &world{latency: func(x *transport.Exchange) time.Duration {
			switch r := x.User.(*request); {
			case r.phase.cfg.Users == 0:
				return 95*msec - time.Duration(r.intended)
			case r.id == 2:
				return 45 * msec
			}
			return msec
		}}
		w.reply = func(x *transport.Exchange) []string {
			if w.now == int64(95*msec) {
				x.End = int64(110 * msec)
				if c.phase.Users == 0 {
					w.now = int64(125 * msec)
				}
			}
			return []string{`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`}
		}
		j := job(t, c.phase)
		if c.phase.Users > 0 {
			j.Set = datasettest.Conversations(t, 4)
			j.Judge = func(r *record.Record) (string, string) { // time passes while the answer is read
				if r.RequestID == 2 {
					w.now = int64(125 * msec)
				}
				return "", ""
			}
		}
		out := w.play(t, j)
		if diff := cmp.Diff(c.sent, w.offsets()); diff != "" {
			t.Errorf("%s: sent at (-want +got):\n%s", c.name, diff)
		}
		if diff := cmp.Diff(c.skipped, out.result.Phases[0].Skipped); diff != "" {
			t.Errorf("%s: skipped (-want +got):\n%s", c.name, diff)
		}
	}
}

// slow has requests ready only when somebody has looked for them and the clock
// was woken since.
type slow struct {
	direct
	asked bool
	wake  func()
}

func (s *slow) next() (*request, bool) {
	if s.asked = !s.asked; s.asked {
		s.wake()
		return nil, false
	}
	return s.direct.next()
}

// What was due before the end waits for its rendering, too.
func TestRenderedAfterTheEnd(t *testing.T) {
	t.Parallel()
	for _, onCap := range []string{"queue", "skip"} {
		w := &world{at: map[time.Duration]func(*driver){}}
		j := job(t, at100(func(p *schema.Phase) { p.OnCap = onCap }))
		w.supply = func(d *driver, p *phase, c mode.Sessions) source {
			open := func() (*request, bool) { return d.engine.maker.open(p, c) }
			return &slow{direct: direct{open: open}, wake: func() {
				w.after(int64(msec), nil, func() { d.engine.drive(false) })
			}}
		}
		w.at[75*msec] = func(*driver) { w.now = int64(125 * msec) }
		out := w.play(t, j)
		want := millis(11, 21, 31, 41, 51, 61, 71, 125, 126) // at 125 somebody looks twice
		if diff := cmp.Diff(want, w.offsets()); diff != "" {
			t.Errorf("%s: sent at (-want +got):\n%s", onCap, diff)
		}
		if p := out.result.Phases[0]; p.Stop != "duration" || len(p.Skipped) != 0 {
			t.Errorf("%s: stop %s, skipped %v", onCap, p.Stop, p.Skipped)
		}
	}
}

// Duration and grace bound a phase that has sent everything before its end.
func TestGraceHoldsWhenAllWasSent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		p    schema.Phase
		end  time.Duration
	}{
		{"requests", schema.Phase{Type: "constant", Rate: 100, Requests: 3, Duration: schema.Seconds(1), GracePeriod: schema.Seconds(2)}, 3 * time.Second},
		{"sessions", schema.Phase{Type: "concurrency", Concurrency: 3, Sessions: 3, Duration: schema.Seconds(1), GracePeriod: schema.Seconds(2)}, 3 * time.Second},
		{"grace without end", schema.Phase{Type: "constant", Rate: 100, Requests: 3, Duration: schema.Seconds(1), GracePeriod: ptr(schema.Duration(math.Inf(1)))}, time.Hour + 30*msec},
	} {
		w := &world{latency: fixedLatency(time.Hour)}
		p := w.play(t, job(t, c.p)).result.Phases[0]
		if p.Issued != 3 || time.Duration(p.End) != c.end {
			t.Errorf("%s: issued %d, ended at %v; want 3, %v", c.name, p.Issued, time.Duration(p.End), c.end)
		}
	}
}

// Too many failures end the run: also the phase that follows seamlessly, in
// which they come to light.
func TestFailuresOfAnEarlierPhaseEndTheRun(t *testing.T) {
	t.Parallel()
	w := &world{
		latency: func(x *transport.Exchange) time.Duration {
			if x.User.(*request).phase.cfg.Name == "one" {
				return 50 * msec
			}
			return msec
		},
		reply: func(x *transport.Exchange) []string {
			if x.User.(*request).phase.cfg.Name == "one" {
				return []string{"<html>bad gateway</html>"}
			}
			return []string{`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`}
		},
	}
	one := schema.Phase{Name: "one", Type: "constant", Rate: 1000, Requests: 20, FailedRequestThreshold: ptr(0.1)}
	two := schema.Phase{Name: "two", Type: "constant", Rate: 1000, Requests: 500, Seamless: true}
	three := schema.Phase{Name: "three", Type: "constant", Rate: 1000, Requests: 500}
	res := w.play(t, job(t, one, two, three)).result
	if len(res.Phases) != 2 || res.Phases[0].Failed != 20 {
		t.Fatalf("%+v; want two phases, the first with 20 failures", res.Phases)
	}
	// The second begins at 20 ms. The tenth answer of the first comes at 60 ms,
	// before the second's arrival of that time.
	if p := res.Phases[1]; p.Stop != "failures" || p.Issued != 39 || res.Cancelled == "" {
		t.Errorf("stop %s after %d requests, cancelled %q; want failures after 39, with the reason", p.Stop, p.Issued,
			res.Cancelled)
	}
}

// What waits at an interrupt is counted, in every mode and phase.
func TestInterruptedSeamlessPhases(t *testing.T) {
	t.Parallel()
	w := &world{latency: fixedLatency(100 * msec), at: map[time.Duration]func(*driver){75 * msec: (*driver).interrupt}}
	one := schema.Phase{Name: "one", Type: "constant", Rate: 100, Requests: 5}
	two := schema.Phase{Name: "two", Type: "constant", Rate: 100, Concurrency: 6, Requests: 50, Seamless: true}
	three := schema.Phase{Name: "three", Type: "constant", Rate: 100, Requests: 50, Seamless: true}
	out := w.play(t, job(t, one, two, three))
	if len(out.result.Phases) != 2 {
		t.Fatalf("%d phases were begun, want 2", len(out.result.Phases))
	}
	// The second begins at 50 ms and has one slot left of six: 60 is sent, 70 waits.
	a, b := out.result.Phases[0], out.result.Phases[1]
	if a.OK != 5 || a.Stop != "interrupted" || b.OK != 1 || b.Stop != "interrupted" || b.Skipped["stopped"] != 1 {
		t.Errorf("first: %d ok, stop %s; second: %d ok, stop %s, skipped %v; want 5, 1 and 1 skipped", a.OK, a.Stop,
			b.OK, b.Stop, b.Skipped)
	}
	for _, r := range out.records {
		if r.Status != record.OK {
			t.Errorf("request %d: %s; want all to be answered", r.RequestID, r.Status)
		}
	}
}

// A client that stood still over the end reads what was answered in time before it cuts
// anything off: it would book its own standstill as the server's.
func TestAnsweredInTimeIsNotCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		latency time.Duration
		ok, cut int64
	}{
		{30 * msec, 6, 0}, // the last two are answered at 90 ms
		{time.Hour, 0, 2},
	} {
		w := &world{kernel: true, latency: fixedLatency(c.latency), at: map[time.Duration]func(*driver){}}
		for when, do := range stalled(75*msec, 300*msec) {
			w.at[when] = func(*driver) { do(w) }
		}
		out := w.play(t, job(t, schema.Phase{
			Type: "concurrency", Concurrency: 2, Duration: schema.Seconds(0.1),
			GracePeriod: schema.Seconds(0),
		}))
		if p := out.result.Phases[0]; p.OK != c.ok || p.Cut != c.cut {
			t.Errorf("answers of %v: ok %d, cut %d; want %d, %d", c.latency, p.OK, p.Cut, c.ok, c.cut)
		}
	}
}
