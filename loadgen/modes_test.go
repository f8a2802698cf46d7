package loadgen

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/dataset/datasettest"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

// way is one way to drive load.
type way struct {
	name  string
	phase schema.Phase
	set   func(*testing.T) *dataset.Set // nil: single turns
	held  bool                          // answers take for ever: only what needs none is sent
}

var shapes = []string{"linear", "exponential", "poisson"}

// ways are all of them, with each target ramped in each shape.
func ways() []way {
	series := []schema.RatePoint{{TimeS: 0, QPS: 40}, {TimeS: 1, QPS: 200}, {TimeS: 2, QPS: 20}}
	all := []way{
		{name: "burst", phase: schema.Phase{Type: "concurrency", Concurrency: 20}, held: true},
		{name: "burst of sessions", phase: schema.Phase{Type: "concurrency", Concurrency: 20, Sessions: 12, Requests: 0}, held: true},
		{name: "burst over in_flight", phase: schema.Phase{Type: "concurrency", InFlight: 7}, held: true},
		{name: "burst under every limit", phase: schema.Phase{Type: "concurrency", Concurrency: 9, InFlight: 8, PrefillConcurrency: 6}, held: true},
		{name: "constant", phase: schema.Phase{Type: "constant", Rate: 300, Requests: 200}},
		{name: "constant for a while", phase: schema.Phase{Type: "constant", Rate: 300, Duration: schema.Seconds(0.5)}},
		{name: "constant, sessions", phase: schema.Phase{Type: "constant", Rate: 300, Sessions: 30}},
		{name: "poisson", phase: schema.Phase{Type: "poisson", Rate: 300, Requests: 200}},
		{name: "poisson for a while", phase: schema.Phase{Type: "poisson", Rate: 300, Duration: schema.Seconds(0.5)}},
		{name: "poisson, conversations", phase: schema.Phase{Type: "poisson", Rate: 300, Requests: 200}, set: talks},
		{name: "gamma", phase: schema.Phase{Type: "gamma", Rate: 300, Smoothness: 3, Requests: 200}},
		{name: "bursty gamma", phase: schema.Phase{Type: "gamma", Rate: 300, Smoothness: 0.4, Requests: 200}},
		{name: "series", phase: schema.Phase{Type: "poisson", RateSeries: series, Requests: 200}},
		{name: "series for a while", phase: schema.Phase{Type: "poisson", RateSeries: series, Duration: schema.Seconds(2.5)}},
		{name: "trace", phase: schema.Phase{Type: "fixed_schedule"}, set: stamped},
		{name: "trace, auto offset", phase: schema.Phase{Type: "fixed_schedule", AutoOffset: ptr(true)}, set: stamped},
		{name: "trace, window", phase: schema.Phase{Type: "fixed_schedule", StartOffset: ptr(int64(1200)), EndOffset: ptr(int64(2500))}, set: stamped},
		{name: "trace, rows", phase: schema.Phase{Type: "fixed_schedule", Sessions: 4}, set: stamped},
		{name: "trace for a while", phase: schema.Phase{Type: "fixed_schedule", Duration: schema.Seconds(2.5)}, set: stamped},
		{name: "users", phase: schema.Phase{Type: "user_centric", Users: 6, Rate: 12, Requests: 80}, set: talks},
		{name: "users, common divisor", phase: schema.Phase{Type: "user_centric", Users: 4, Rate: 12, Requests: 80}, set: talks},
		{name: "users for a while", phase: schema.Phase{Type: "user_centric", Users: 5, Rate: 12, Duration: schema.Seconds(4)}, set: talks},
		{name: "users, sessions", phase: schema.Phase{Type: "user_centric", Users: 5, Rate: 12, Sessions: 9}, set: talks},
	}
	for _, shape := range shapes {
		ramp := &schema.Ramp{Duration: 1.25, Strategy: shape}
		all = append(all,
			way{name: "concurrency ramp, " + shape, phase: schema.Phase{
				Type:        "concurrency",
				Concurrency: 20, ConcurrencyRamp: ramp,
			}, held: true},
			way{name: "prefill ramp, " + shape, phase: schema.Phase{
				Type: "concurrency", Concurrency: 20,
				PrefillConcurrency: 12, PrefillRamp: ramp,
			}, held: true},
			way{name: "both ramps, " + shape, phase: schema.Phase{
				Type: "concurrency", Concurrency: 20,
				ConcurrencyRamp: ramp, PrefillConcurrency: 12,
				PrefillRamp: &schema.Ramp{Duration: 0.5, Strategy: shape},
			}, held: true},
			way{name: "rate ramp, " + shape, phase: schema.Phase{
				Type: "constant", Rate: 300, RateRamp: ramp,
				Requests: 300,
			}},
			way{name: "poisson rate ramp, " + shape, phase: schema.Phase{
				Type: "poisson", Rate: 300, RateRamp: ramp,
				Requests: 300,
			}},
			way{name: "gamma rate ramp, " + shape, phase: schema.Phase{
				Type: "gamma", Rate: 300, Smoothness: 2,
				RateRamp: ramp, Duration: schema.Seconds(1.5),
			}},
		)
	}
	return all
}

// talks is a set of conversations of 4 turns.
func talks(t *testing.T) *dataset.Set { return datasettest.Conversations(t, 4, 4, 4, 4, 4) }

// stamped is a trace, out of order, with turns by time stamp and by delay.
func stamped(t *testing.T) *dataset.Set {
	talk := func(id string, turns ...any) any { return map[string]any{"session_id": id, "turns": turns} }
	at := func(ms int) any { return map[string]any{"text": "a", "timestamp": ms} }
	after := func(ms int) any { return map[string]any{"text": "b", "delay": ms} }
	return datasettest.Inline(t, "multi_turn", []any{
		talk("a", at(1500), at(1900), at(3100)), talk("b", at(1000), at(1001)), talk("c", at(1200)),
		talk("d", at(1200), after(2000)), talk("e", at(2500)), talk("f", at(2501), after(10)), talk("g", at(900)),
	})
}

// Every schedule that is printed without sending is what is sent, to the
// nanosecond, whenever answers come in time.
func TestPrintedSchedulesAreSent(t *testing.T) {
	t.Parallel()
	for _, m := range ways() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			w := &world{latency: fixedLatency(100 * time.Nanosecond)}
			j := job(t, m.phase)
			if m.set != nil {
				j.Set = m.set(t)
			}
			p := &j.Phases[0]
			want, err := mode.Schedule(p, j.Seed, 1000, j.Set)
			if err != nil || len(want) < 4 {
				t.Fatalf("Schedule = %v, %v", want, err)
			}
			if m.held {
				w.latency = fixedLatency(time.Hour)
				if p.Sessions == 0 {
					p.Requests = int64(len(want))
				}
			}
			out := w.play(t, j)
			got := w.offsets()
			if p.Type == "fixed_schedule" { // a turn after a delay counts from the end of an answer
				for i := range got {
					got[i] = got[i].Truncate(time.Microsecond)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("sent at (-printed +sent):\n%.800s", diff)
			}
			for _, r := range out.records {
				if r.Admitted != r.Sent {
					t.Fatalf("request %d was admitted at %v and sent at %v", r.RequestID, time.Duration(r.Admitted),
						time.Duration(r.Sent))
				}
			}
		})
	}
}

// Same seed: the same bodies and headers at the same offsets, in every mode,
// whatever the connection strategy, however large a limit that does not bind,
// and whoever looks at what comes back.
func TestSameSeedSameRequests(t *testing.T) {
	t.Parallel()
	changes := map[string]func(*Job){
		"never":       func(j *Job) { j.Endpoint.ConnectionReuse = "never" },
		"sticky":      func(j *Job) { j.Endpoint.ConnectionReuse = "sticky-user-sessions" },
		"concurrency": func(j *Job) { limitOpenLoops(j, func(p *schema.Phase) { p.Concurrency = 1000 }) },
		"in flight":   func(j *Job) { limitOpenLoops(j, func(p *schema.Phase) { p.InFlight = 1000 }) },
		"prefill":     func(j *Job) { limitOpenLoops(j, func(p *schema.Phase) { p.PrefillConcurrency = 1000 }) },
		"skipping":    func(j *Job) { limitOpenLoops(j, func(p *schema.Phase) { p.Concurrency, p.OnCap = 1000, "skip" }) },
		"sinks": func(j *Job) {
			j.Detail = func(*record.Record, *transport.Exchange, Said) any { return 1 }
			j.Keep = func(*record.Record, any) {}
			j.Judge = func(*record.Record) (string, string) { return "request_latency", "" }
			j.Live = func(Snapshot) {}
		},
	}
	for _, m := range ways() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			play := func(change func(*Job)) []sending {
				w := &world{latency: fixedLatency(3 * msec)}
				warm := schema.Phase{Name: "warmup", Kind: "warmup", Type: "concurrency", Concurrency: 2, Requests: 5}
				p := m.phase
				p.Cancellation = &schema.Cancellation{Rate: 10, Delay: 0.001}
				if p.Requests == 0 && p.Sessions == 0 && p.Duration == nil && p.Type != "fixed_schedule" {
					p.Requests = 100
				}
				j := job(t, warm, p)
				j.Endpoint.URLs = []string{"http://a", "http://b"}
				j.Models = schema.Models{Strategy: "random", Items: []schema.Model{{Name: "m1"}, {Name: "m2"}}}
				if m.set != nil {
					j.Set = m.set(t)
				}
				j.WarmupSet = datasettest.Conversations(t, 1, 2, 3)
				change(&j)
				w.play(t, j)
				return w.sent
			}
			want := play(func(*Job) {})
			if len(want) < 9 {
				t.Fatalf("only %d requests were sent", len(want))
			}
			for name, change := range changes {
				if diff := cmp.Diff(want, play(change), cmp.AllowUnexported(sending{})); diff != "" {
					t.Errorf("%s changes what is sent (-want +got):\n%.600s", name, diff)
				}
			}
			other := play(func(j *Job) { j.Text = 43 })
			if cmp.Equal(want[7].header, other[7].header) {
				t.Error("another seed changes nothing")
			}
		})
	}
}

// limitOpenLoops changes what is no closed loop: there a limit is the load.
func limitOpenLoops(j *Job, change func(*schema.Phase)) {
	for i := range j.Phases {
		if j.Phases[i].Type != "concurrency" {
			change(&j.Phases[i])
		}
	}
}

// In an open loop the latency of the server moves nothing.
func TestLatencyMovesNoArrival(t *testing.T) {
	t.Parallel()
	for _, m := range ways() {
		if l, err := mode.Of(&m.phase); err != nil || !l.EveryTurn || m.set != nil {
			continue
		}
		play := func(latency time.Duration) []sending {
			w := &world{latency: fixedLatency(latency)}
			w.play(t, job(t, m.phase))
			return w.sent
		}
		if diff := cmp.Diff(play(msec), play(20*msec), cmp.AllowUnexported(sending{})); diff != "" {
			t.Errorf("%s: slower answers change what is sent (-want +got):\n%.600s", m.name, diff)
		}
	}
}
