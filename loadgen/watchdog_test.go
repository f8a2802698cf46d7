package loadgen

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

// A client that does not end what was cancelled holds nothing up: five seconds
// after the grace its requests are given up, each counted once, and what it
// says later is not heard.
func TestWatchdogGivesUpAStuckClient(t *testing.T) {
	t.Parallel()
	w := &world{latency: fixedLatency(20 * time.Second), deaf: true}
	first := schema.Phase{Type: "constant", Rate: 100, Duration: schema.Seconds(0.035), GracePeriod: schema.Seconds(2)}
	second := schema.Phase{Name: "second", Type: "constant", Rate: 1, Requests: 20}
	out := w.play(t, job(t, first, second))
	p := out.result.Phases[0]
	if p.Issued != 3 || p.Cut != 3 || p.End != int64(7035*msec) {
		t.Errorf("issued %d, cancelled %d, end %v; want 3, 3, 7.035s", p.Issued, p.Cut, time.Duration(p.End))
	}
	want := []string{"3 requests did not end within 5s of being cancelled and were given up"}
	if diff := cmp.Diff(want, p.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	for _, r := range out.records[:3] {
		if r.Status != record.Cut || r.InWindow || !r.Measured ||
			r.PromptSHA == "" || r.CancelAsked != int64(2035*msec) {
			t.Errorf("request %d: %s, in window %v, asked at %v", r.RequestID,
				r.Status, r.InWindow, time.Duration(r.CancelAsked))
		}
	}
	if q := out.result.Phases[1]; q.OK != 20 || len(q.Notes) != 0 {
		t.Errorf("the phase after it: %d ok, notes %v; want 20, none", q.OK, q.Notes)
	}
}

// An abort, too, ends on time.
func TestWatchdogAfterAnAbort(t *testing.T) {
	t.Parallel()
	w := &world{
		latency: fixedLatency(time.Hour), deaf: true,
		at: map[time.Duration]func(*driver){time.Second: (*driver).abort},
	}
	out := w.play(t, job(t, schema.Phase{Type: "concurrency", Concurrency: 2, PrefillConcurrency: 2, Requests: 9}))
	if p := out.result.Phases[0]; p.Cut != 2 || p.End != int64(6*time.Second) {
		t.Errorf("cancelled %d, end %v; want 2, 6s", p.Cut, time.Duration(p.End))
	}
}

func TestWaitingInWords(t *testing.T) {
	t.Parallel()
	w := &world{latency: fixedLatency(40 * time.Second)}
	at := map[time.Duration]string{
		600 * msec:       "", // still sending
		2 * time.Second:  "for 3 answers; the rest is cancelled in 29s",
		12 * time.Second: "for 3 answers; the rest is cancelled in 19s",
	}
	w.at = map[time.Duration]func(*driver){}
	for when, want := range at {
		w.at[when] = func(d *driver) {
			s := d.current.Load().snapshot(int64(when))
			if s.Waiting != want || s.InFlight != int(min(3, when/(250*msec))) || s.Ends != int64(time.Second) {
				t.Errorf("at %v: waiting %q, in flight %d, ends %v; want %q", when,
					s.Waiting, s.InFlight, time.Duration(s.Ends), want)
			}
		}
	}
	w.play(t, job(t, schema.Phase{Type: "constant", Rate: 4, Duration: schema.Seconds(1)}))
}

// Seamless phases never hold more than their limits together: what an earlier
// one still has on the wire, or in prefill, counts.
func TestSeamlessHandsOverEverySlot(t *testing.T) {
	t.Parallel()
	latency := fixedLatency(100 * msec)
	one := schema.Phase{Name: "one", Type: "concurrency", InFlight: 2, Requests: 2}
	two := schema.Phase{Name: "two", Type: "concurrency", InFlight: 2, Requests: 1, Seamless: true}
	three := schema.Phase{Name: "three", Type: "concurrency", InFlight: 2, Requests: 2, Seamless: true}
	w := &world{latency: func(x *transport.Exchange) time.Duration {
		return time.Duration(x.User.(*request).id+1) * 100 * msec // 100, 200, 300, …
	}}
	w.play(t, job(t, one, two, three))
	// 0 and 1 at once; 2 when 0 ends; 3 when 1 ends; 4 when 2 ends at 400.
	if diff := cmp.Diff(millis(0, 0, 100, 200, 400), w.offsets()); diff != "" || w.peak != 2 {
		t.Errorf("in flight: peak %d, sent at (-want +got):\n%s", w.peak, diff)
	}
	prefill := []schema.Phase{
		{Name: "one", Type: "concurrency", Concurrency: 3, Requests: 3},
		{Name: "two", Type: "concurrency", Concurrency: 9, PrefillConcurrency: 3, Requests: 2, Seamless: true},
	}
	w = &world{latency: latency, content: 30 * msec}
	w.play(t, job(t, prefill...))
	if diff := cmp.Diff(millis(0, 0, 0, 30, 30), w.offsets()); diff != "" {
		t.Errorf("prefill: the first phase's prefills count, sent at (-want +got):\n%s", diff)
	}
}

func TestConnectionsNeeded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		phases []schema.Phase
		want   int
	}{
		{[]schema.Phase{{Type: "poisson", Rate: 10}}, 0},
		{[]schema.Phase{{Type: "concurrency", Concurrency: 50}}, 50},
		{[]schema.Phase{{Type: "concurrency", Concurrency: 50, Requests: 20}}, 20},
		{[]schema.Phase{{Type: "concurrency", Concurrency: 50, InFlight: 8}, {Type: "concurrency", Concurrency: 9}}, 9},
		{[]schema.Phase{{Type: "constant", Rate: 5, InFlight: 7}}, 7},
		{[]schema.Phase{{Type: "concurrency"}}, 1},
	} {
		if got, _ := mode.Connections(c.phases); got != c.want {
			t.Errorf("Connections(%+v) = %d, want %d", c.phases, got, c.want)
		}
	}
}

func TestRandomArrivalsSayHowRandom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		phase schema.Phase
		want  float64
	}{
		{schema.Phase{Type: "constant", Rate: 10, Requests: 1}, 0},
		{schema.Phase{Type: "poisson", Rate: 10, Requests: 1}, 1},
		{schema.Phase{Type: "gamma", Rate: 10, Requests: 1}, 1},
		{schema.Phase{Type: "gamma", Rate: 10, Requests: 1, Smoothness: 0.25}, 4},
	} {
		out := (&world{}).play(t, job(t, c.phase))
		if p := out.result.Phases[0]; p.Dispersion != c.want || p.Random != (c.want > 0) || p.Varying {
			t.Errorf("%s, smoothness %v: dispersion %v, random %v, varying %v; want %v", c.phase.Type,
				c.phase.Smoothness, p.Dispersion, p.Random, p.Varying, c.want)
		}
	}
	out := (&world{}).play(t, job(t, schema.Phase{
		Type: "constant", Rate: 10,
		Requests: 4, RateRamp: &schema.Ramp{Duration: 0.4},
	}))
	if p := out.result.Phases[0]; !p.Varying || p.Random {
		t.Errorf("a ramp: varying %v, random %v; want true, false", p.Varying, p.Random)
	}
}

func TestSnapshotShowsFailuresApart(t *testing.T) {
	t.Parallel()
	m := newMeter(true)
	good, bad := record.New(), record.New()
	good.Status, good.Intended, good.Admitted, good.Sent, good.LastToken, good.End, good.OSL = record.OK, 0, 0, 0, 5e6,
		5e6, 10
	bad.Status, bad.Intended, bad.Admitted, bad.Sent, bad.LastToken, bad.End = record.HTTPError, 0, 0, 0, 9e9, 9e9
	m.add(&good)
	m.add(&bad)
	s := Snapshot{At: int64(2 * time.Second)}
	m.fill(&s)
	if s.LatencyP99 < 4.9 || s.LatencyP99 > 5.1 || s.RequestsPerSecond != 1 || s.OutputTokensPerSecond != 5 {
		t.Errorf("latency %v, %v answers/s, %v tokens/s; want 5 (successes only), 1, 5", s.LatencyP99,
			s.RequestsPerSecond, s.OutputTokensPerSecond)
	}
	next := Snapshot{At: int64(3 * time.Second)}
	m.fill(&next)
	if next.RequestsPerSecond != 0 {
		t.Errorf("%v answers/s in the half second after, want 0", next.RequestsPerSecond)
	}
}

func TestPreflightSaysTheNumbers(t *testing.T) {
	t.Parallel()
	cl, err := transport.Open(transport.Config{Targets: []string{"http://127.0.0.1:1"}, Clock: record.NewClock()})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	j := job(t, schema.Phase{Type: "concurrency", Concurrency: 50_000_000, Duration: schema.Seconds(1)})
	j.Client, j.Emit = cl, func(*record.Record) { t.Error("something was sent") }
	_, err = Run(t.Context(), t.Context(), j)
	if err == nil || !strings.Contains(err.Error(), "50000000 connections need") {
		t.Errorf("Run with 50,000,000 slots: %v; want the numbers that do not fit", err)
	}
}

// A client that stands still for 50 ms sends late, and that is its own fault:
// what was due meanwhile had its slot in time. So it is with a cap: what waits behind
// our own backlog would have had its slot, had the client not stood still.
func TestLatenessIsNotAdmissionWait(t *testing.T) {
	t.Parallel()
	stall := func(w *world) map[time.Duration]func(*driver) {
		return map[time.Duration]func(*driver){15 * msec: func(*driver) { w.now = int64(65 * msec) }}
	}
	spans := func(out outcome) (waits, late []float64) {
		for _, r := range out.records {
			waits, late = append(waits, r.AdmissionWait()), append(late, r.DispatchLateness())
		}
		return waits, late
	}
	for _, c := range []struct {
		name        string
		concurrency int
		waits, late []float64
	}{
		// Due at 10, 20, …; all but the first are sent at 65 ms.
		{"no cap", 0, []float64{0, 0, 0, 0}, []float64{0, 45, 35, 25}},
		// Slots are free from 0 and, after 1 ms answers, from 11 ms on.
		{"a cap that does not bind", 9, []float64{0, 0, 0, 0}, []float64{0, 45, 35, 25}},
		// The second waits for nothing and is late; its answer, at 66 ms, makes
		// room for the third, which was due at 30 ms, and so on: in time each would
		// have found the slot free.
		{"one at a time", 1, []float64{0, 0, 0, 0}, []float64{0, 45, 36, 27}},
	} {
		w := &world{latency: fixedLatency(msec)}
		w.at = stall(w)
		waits, late := spans(w.play(t,
			job(t, schema.Phase{Type: "constant", Rate: 100, Requests: 4, Concurrency: c.concurrency})))
		if diff := cmp.Diff(c.waits, waits); diff != "" {
			t.Errorf("%s: admission waits in ms (-want +got):\n%s", c.name, diff)
		}
		if diff := cmp.Diff(c.late, late); diff != "" {
			t.Errorf("%s: dispatch lateness in ms (-want +got):\n%s", c.name, diff)
		}
	}
}
