package runner

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/schema"
)

const second = int64(1e9)

// quiet is a host on which nothing happened.
func quiet() telemetry.Host {
	return telemetry.Host{
		Wall: 10e9, Cores: 2, CPUSeconds: 1, CPUWorst: 0.1, SchedP99: 0.05, GCLongest: 0.1,
		Hiccup: telemetry.Hiccup{P999: 0.3, Longest: 1, Lost: 0.0001, N: 9000}, Throttled: 0, Steal: 0, WallJump: 0.01,
	}
}

// world is a run to spoil: 200 requests, concurrency 2, each 100 ms, one after
// the other in each slot, on a quiet host.
type world struct {
	result   loadgen.Result
	host     telemetry.Host
	records  []record.Record
	evidence func(*Evidence)
}

func clean() *world {
	w := &world{host: quiet()}
	const n, slots, each = 200, 2, second / 10
	for i := range int64(n) {
		r := record.New()
		start := i / slots * each
		r.RequestID, r.Phase, r.Status, r.Streamed, r.InWindow = i, "profiling", record.OK, true, true
		r.Intended, r.Admitted, r.Sent, r.WriteEnd = start, start, start+20_000, start+30_000
		r.FirstByte, r.FirstToken, r.FirstOutput = start+39e6, start+40e6, start+40e6
		r.LastToken, r.End = start+each-100_000, start+each
		r.ISL, r.OSL, r.OSLRequested, r.UsageCompletion, r.UsagePrompt, r.Cached = 64, 16, 16, 16, 70, 0
		r.ReceiveLag = 20
		for k := range int64(16) {
			t := r.FirstToken + k*(r.LastToken-r.FirstToken)/15
			r.Chunks = append(r.Chunks, record.Chunk{At: t, Low: t})
		}
		w.records = append(w.records, r)
	}
	end := int64(n/slots) * each
	w.result.Phases = []loadgen.PhaseResult{{
		Name: "profiling", Start: 0, End: end, Issued: n, OK: n, Stop: "requests", Closed: true, Target: slots,
		Gauge: loadgen.Gauge{Mean: 2, Max: 2, HeldShare: 0.99, SteadyStart: 0, SteadyEnd: end, SteadyMean: 2},
	}}
	return w
}

func (w *world) judge(limits map[string]schema.Threshold) map[string]Finding {
	e := newEvidence(w.result, w.host)
	e.Emitted, e.Stamps = int64(len(w.records)), "kernel"
	for i := range w.records {
		e.Add(&w.records[i])
	}
	if w.evidence != nil {
		w.evidence(e)
	}
	found := map[string]Finding{}
	for _, f := range Judge(e, limits) {
		found[f.Check] = f
	}
	return found
}

func TestCleanRunIsValid(t *testing.T) {
	t.Parallel()
	found := clean().judge(nil)
	for id, f := range found {
		if f.Verdict != Valid {
			t.Errorf("%s on a clean run: %s %v: %s", id, f.Verdict, f.Value, f.Detail)
		}
	}
	for _, id := range []string{"offered_rate", "admission_wait", "identity", "headroom"} {
		if _, ok := found[id]; ok {
			t.Errorf("%s applies to a closed loop against a server that says nothing of itself", id)
		}
	}
	if len(found) < 15 {
		t.Errorf("only %d checks apply to a streamed closed loop", len(found))
	}
}

// TestEachCheckFlips spoils one thing at a time. Every check of the catalogue
// must have a row.
func TestEachCheckFlips(t *testing.T) {
	t.Parallel()
	every := func(f func(i int, r *record.Record)) func(*world) {
		return func(w *world) {
			for i := range w.records {
				f(i, &w.records[i])
			}
		}
	}
	cases := []struct {
		check  string
		spoil  []func(*world)
		want   Verdict
		limits map[string]schema.Threshold
	}{
		{"dispatch_lateness", []func(*world){every(func(i int, r *record.Record) { r.Sent += 2e6 })}, Degraded, nil},
		{"dispatch_lateness", []func(*world){every(func(i int, r *record.Record) { r.Sent += 15e6 })}, Invalid, nil},
		{"offered_rate", []func(*world){open, func(w *world) { w.result.Phases[0].Rate = 20.5 }}, Degraded, nil},
		{"offered_rate", []func(*world){open, func(w *world) { w.result.Phases[0].Rate = 23 }}, Invalid, nil},
		{"offered_rate", []func(*world){open, func(w *world) {
			w.result.Phases[0].Rate, w.result.Phases[0].Random, w.result.Phases[0].Dispersion = 26, true, 1
		}}, Invalid, nil}, // 200 of 260: outside the 99.9 % interval of the count
		{"admission_wait", []func(*world){open, every(func(i int, r *record.Record) {
			if i%4 == 0 {
				r.Intended -= 5e6
			}
		})}, Degraded, nil},
		{"admission_wait", []func(*world){open, func(w *world) { w.result.Phases[0].Skipped = map[string]int64{"on_cap": 50} }}, Degraded, nil},
		{"turnaround", []func(*world){every(func(i int, r *record.Record) { r.Intended -= 2e6 })}, Degraded, nil},
		{"turnaround", []func(*world){every(func(i int, r *record.Record) { r.Intended -= 8e6 })}, Invalid, nil},
		{"concurrency_held", []func(*world){func(w *world) { w.result.Phases[0].Gauge.HeldShare = 0.8 }}, Degraded, nil},
		{"concurrency_held", []func(*world){func(w *world) { w.result.Phases[0].Gauge.HeldShare = 0.3 }}, Invalid, nil},
		{"client_cpu", []func(*world){func(w *world) { w.host.CPUWorst = 0.8 }}, Degraded, nil},
		{"client_cpu", []func(*world){func(w *world) { w.host.CPUWorst = 0.97 }}, Invalid, nil},
		{"go_sched", []func(*world){func(w *world) { w.host.SchedP99 = 2 }}, Degraded, nil},
		{"go_sched", []func(*world){func(w *world) { w.host.GCLongest = 60 }}, Invalid, nil},
		{"hiccup", []func(*world){func(w *world) { w.host.Hiccup.P999 = 6 }}, Degraded, nil},
		{"hiccup", []func(*world){func(w *world) { w.host.Hiccup.Longest = 400 }}, Invalid, nil},
		{"hiccup", []func(*world){func(w *world) { w.host.Hiccup.Lost = 0.04 }}, Invalid, nil},
		{"throttling", []func(*world){func(w *world) { w.host.Throttled = 0.02 }}, Degraded, nil},
		{"throttling", []func(*world){func(w *world) { w.host.RunDelay = 0.05 }}, Degraded, nil}, // of two cores
		{"throttling", []func(*world){func(w *world) { w.host.RunDelay = 0.9 }}, Degraded, nil},  // a cause, not a harm
		{"throttling", []func(*world){func(w *world) { w.host.Steal = 0.2 }}, Invalid, nil},
		{"receive_lag", []func(*world){every(func(i int, r *record.Record) { r.ReceiveLag = 1000 })}, Degraded, nil},
		{"receive_lag", []func(*world){every(func(i int, r *record.Record) { r.ReceiveLag = 5000 })}, Degraded, nil},
		{"receive_lag", []func(*world){every(func(i int, r *record.Record) { r.ReceiveLag = 5000 }), evidence(func(e *Evidence) { e.Stamps = "application" })}, Invalid, nil},
		{"coalesced", []func(*world){every(func(i int, r *record.Record) { r.Chunks[3].SameRead, r.Chunks[9].SameRead = true, true })}, Degraded, nil},
		{"littles_law", []func(*world){func(w *world) { w.result.Phases[0].Gauge.SteadyMean = 2.15 }}, Degraded, nil},
		{"littles_law", []func(*world){func(w *world) { w.result.Phases[0].Gauge.SteadyMean = 3 }}, Invalid, nil},
		{"flow_balance", []func(*world){func(w *world) { w.result.Phases[0].Issued++ }}, Invalid, nil},
		{"errors", []func(*world){fail(1, record.HTTPError)}, Degraded, nil},
		{"errors", []func(*world){fail(20, record.HTTPError)}, Invalid, nil},
		{"errors", []func(*world){fail(1, record.Client)}, Invalid, nil},
		{"tokens", []func(*world){every(func(i int, r *record.Record) { r.UsageCompletion = 17 })}, Degraded, nil},
		{"tokens", []func(*world){every(func(i int, r *record.Record) { r.UsageCompletion = 20 })}, Invalid, nil},
		{"tokens", []func(*world){func(w *world) { w.evidence = func(e *Evidence) { e.TokenSource = "counts by o200k_base" } }}, Degraded, nil},
		{"osl_honoured", []func(*world){every(func(i int, r *record.Record) {
			if i%10 == 0 {
				r.OSLRequested = 20
			}
		})}, Degraded, nil},
		{"osl_honoured", []func(*world){every(func(i int, r *record.Record) { r.OSLRequested = 20 })}, Invalid, nil},
		{"prefix_cache", []func(*world){every(func(i int, r *record.Record) { r.Cached = 35 })}, Degraded, nil},
		{"stationary", []func(*world){every(func(i int, r *record.Record) { r.End += int64(i) * 60_000 })}, Degraded, nil},
		{"stationary", []func(*world){every(func(i int, r *record.Record) { r.End += int64(i) * 400_000 })}, Invalid, nil},
		{"warmup", []func(*world){every(func(i int, r *record.Record) {
			if i < 50 {
				r.End += 40e6
			}
		})}, Degraded, nil},
		{"warmup", []func(*world){every(func(i int, r *record.Record) { r.End += int64(i) * 400_000 })}, Invalid, nil},
		{"tail_samples", nil, Degraded, map[string]schema.Threshold{"tail_samples": {Warn: limit(662)}}},
		{"identity", []func(*world){evidence(func(e *Evidence) {
			e.Identity = &Identity{Before: faces("uvicorn", "a", "b"), After: faces("uvicorn", "a")}
		})}, Degraded, nil},
		{"identity", []func(*world){evidence(func(e *Evidence) { e.Identity = &Identity{Before: faces("v1", "a"), After: faces("v2", "a")} })}, Degraded, nil},
		{"identity", []func(*world){evidence(func(e *Evidence) { e.Identity = &Identity{Before: faces("v1", "a"), After: faces("v1", "b")} })}, Invalid, nil},
		{"headroom", []func(*world){evidence(func(e *Evidence) { e.Headroom = 1.5 })}, Degraded, nil},
		{"headroom", []func(*world){evidence(func(e *Evidence) { e.Headroom = 0.5 })}, Invalid, nil},
		{"clock", []func(*world){evidence(func(e *Evidence) { e.ClockJumps, e.ClockJump = 1, 15 })}, Degraded, nil},
		{"clock", []func(*world){func(w *world) { w.host.WallJump = 20 }}, Degraded, nil},
		{"clock", []func(*world){func(w *world) { w.records[5].FirstByte = w.records[5].Sent - 1 }}, Invalid, nil},
		{"sink", []func(*world){func(w *world) { w.evidence = func(e *Evidence) { e.Emitted++ } }}, Invalid, nil},
		{"sink", []func(*world){func(w *world) { w.evidence = func(e *Evidence) { e.SinkError = "no space left on device" } }}, Invalid, nil},
	}
	flipped := map[string]bool{}
	for i, c := range cases {
		flipped[c.check] = true
		t.Run(fmt.Sprintf("%02d_%s_%s", i, c.check, c.want), func(t *testing.T) {
			t.Parallel()
			w := clean()
			for _, s := range c.spoil {
				s(w)
			}
			f, ok := w.judge(c.limits)[c.check]
			if !ok {
				t.Fatalf("%s does not apply", c.check)
			}
			if f.Verdict != c.want {
				t.Errorf("%s = %v (warn %v, fail %v): %s, want %s", c.check, f.Value, show(f.Warn), show(f.Fail), f.Verdict, c.want)
			}
			if f.Detail == "" || f.Try == "" {
				t.Errorf("%s: no words for a person: %+v", c.check, f)
			}
		})
	}
	for _, c := range checks {
		if !flipped[c.ID] {
			t.Errorf("no case flips %s", c.ID)
		}
	}
}

// open makes the same requests an open loop of 20/s.
func open(w *world) {
	p := &w.result.Phases[0]
	p.Rate, p.Closed, p.Target = 20, false, 0
	for i := range w.records {
		r := &w.records[i]
		shift(r, int64(i+1)*second/20-r.Intended)
	}
}

// replayed makes them a trace of 20/s in which each waited 300 ms for the only slot.
func replayed(w *world) {
	open(w)
	w.result.Phases[0].Rate = 0
	for i := range w.records {
		w.records[i].Intended -= 300e6
	}
}

// What a limit or an answer made wait is not put on the client, and the other
// way round: who waited by the clock is told, whatever the mode.
func TestWhoseWaitItWas(t *testing.T) {
	t.Parallel()
	waits := func(w *world) {
		for i := range w.records {
			w.records[i].Intended -= 150e6
		}
	}
	for _, c := range []struct {
		name   string
		spoil  func(*world)
		absent []string
		check  string
		want   Verdict
		words  string
	}{
		{"closed loop whose client pauses", waits, []string{"admission_wait"}, "turnaround", Invalid, "the client paused for"},
		{"closed loop behind a limit of requests in flight", func(w *world) {
			waits(w)
			w.result.Phases[0].Capped = "in_flight"
		}, []string{"turnaround", "admission_wait"}, "concurrency_held", Valid, "concurrency 2 was held for 99 %"},
		{"closed loop behind a limit of prefills", func(w *world) {
			waits(w)
			w.result.Phases[0].Capped, w.result.Phases[0].Gauge.HeldShare = "prefill", 0
		}, []string{"turnaround", "concurrency_held", "admission_wait"}, "dispatch_lateness", Valid, "against a median TTFT of 40 ms"},
		{"trace behind a cap", replayed, []string{"turnaround", "offered_rate", "concurrency_held"}, "admission_wait", Degraded, "100 % of the arrivals waited for a slot"},
		{"users held up by answers", func(w *world) {
			open(w)
			w.result.Phases[0].Rate, w.result.Phases[0].HeldUp = 26, 120
		}, []string{"turnaround", "offered_rate"}, "admission_wait", Degraded, "60 % of the requests were due before the answer to the turn before them"},
		{"users that nothing holds up", open, []string{"turnaround"}, "offered_rate", Valid, "20 requests per second were sent, 20 asked for"},
	} {
		w := clean()
		c.spoil(w)
		found := w.judge(nil)
		for _, id := range c.absent {
			if f, ok := found[id]; ok {
				t.Errorf("%s: %s speaks: %s %s", c.name, id, f.Verdict, f.Detail)
			}
		}
		if f := found[c.check]; f.Verdict != c.want || !strings.Contains(f.Detail, c.words) {
			t.Errorf("%s: %s is %s: %q; want %s, …%s…", c.name, c.check, f.Verdict, f.Detail, c.want, c.words)
		}
	}
}

// A value stands beside its own unit, also where a check looks at several.
func TestUnitsOfValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		check string
		spoil func(*world)
		value float64
		unit  string
	}{
		{"hiccup", func(*world) {}, 0.3, "ms"},
		{"hiccup", func(w *world) { w.host.Hiccup.Longest = 400 }, 400, "ms"},
		{"hiccup", func(w *world) { w.host.Hiccup.Lost = 0.04 }, 0.04, "ratio"},
		{"clock", func(*world) {}, 0.01, "ms"},
		{"clock", func(w *world) { w.records[5].FirstByte = w.records[5].Sent - 1 }, 1, "requests"},
	} {
		w := clean()
		c.spoil(w)
		if f := w.judge(nil)[c.check]; f.Value != c.value || f.Unit != c.unit {
			t.Errorf("%s is %v %s (%s), want %v %s", c.check, f.Value, f.Unit, f.Detail, c.value, c.unit)
		}
	}
}

// Who shares the cores is named where it is known.
func TestWhoSharesTheCores(t *testing.T) {
	t.Parallel()
	for builtIn, want := range map[bool][2]string{
		false: {"threads waited for a core for 27 % of the cores' time: something shares them", "a machine that does nothing else, and serves nothing itself"},
		true:  {"threads waited for a core for 27 % of the cores' time: the built-in server runs on the same ones", "a lower load, or for numbers that count a server on another machine"},
	} {
		w := clean()
		w.host.RunDelay = 0.54 // of two cores
		w.evidence = func(e *Evidence) { e.BuiltIn = builtIn }
		if f := w.judge(nil)["throttling"]; f.Verdict != Degraded || f.Detail != want[0] || f.Try != want[1] {
			t.Errorf("built-in server %v: %s %q, try %q; want %q, %q", builtIn, f.Verdict, f.Detail, f.Try, want[0], want[1])
		}
		w.host.Throttled = 0.2 // worse, and nobody else's doing
		if f := w.judge(nil)["throttling"]; f.Verdict != Invalid || f.Detail != "20 % of the cgroup's periods were throttled" {
			t.Errorf("built-in server %v, throttled: %s %q", builtIn, f.Verdict, f.Detail)
		}
	}
}

// Without an answer there is no latency to compare with, and none is told.
func TestLatenessWithoutAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ spoil, want string }{
		{"", "requests left up to 20 µs late (p99), against a median TTFT of 40 ms"},
		{"plain", "requests left up to 20 µs late (p99), against a median latency of 99.9 ms"},
		{"failed", "requests left up to 20 µs late (p99)"},
	} {
		w := clean()
		for i := range w.records {
			w.records[i].Streamed = c.spoil == ""
			if c.spoil == "failed" {
				w.records[i].Status = record.HTTPError
			}
		}
		if f := w.judge(nil)["dispatch_lateness"]; f.Detail != c.want {
			t.Errorf("%q: %q, want %q", c.spoil, f.Detail, c.want)
		}
	}
}

// Limits are in the check's unit: a reading of another kind keeps its own.
func TestOwnLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		check string
		spoil func(*world)
		limit schema.Threshold
		want  Verdict
	}{
		{"client_cpu", func(w *world) { w.host.CPUWorst = 0.8 }, schema.Threshold{Warn: limit(0.9)}, Valid},
		{"client_cpu", func(w *world) { w.host.CPUWorst = 0.8 }, schema.Threshold{Fail: limit(0.05)}, Invalid},
		{"hiccup", func(w *world) { w.host.Hiccup.Longest = 400 }, schema.Threshold{Warn: limit(500), Fail: limit(500)}, Valid},
		{"hiccup", func(w *world) { w.host.Hiccup.Lost = 0.04 }, schema.Threshold{Warn: limit(500), Fail: limit(500)}, Invalid},
		{"clock", func(w *world) { w.host.WallJump = 20 }, schema.Threshold{Warn: limit(50)}, Valid},
		{"clock", func(w *world) { w.records[5].FirstByte = w.records[5].Sent - 1 }, schema.Threshold{Fail: limit(50)}, Invalid},
		{"prefix_cache", func(w *world) {
			for i := range w.records {
				w.records[i].Cached = 35
			}
		}, schema.Threshold{Warn: limit(1)}, Valid},
	} {
		w := clean()
		c.spoil(w)
		if f := w.judge(map[string]schema.Threshold{c.check: c.limit})[c.check]; f.Verdict != c.want {
			t.Errorf("%s with warn %s, fail %s: %s %v (%s), want %s", c.check, show(c.limit.Warn), show(c.limit.Fail), f.Verdict, f.Value, f.Detail, c.want)
		}
	}
}

// What a check says of a clean run is no reproach; the consequence is added
// where there is one.
func TestWordsOfCleanChecks(t *testing.T) {
	t.Parallel()
	w := clean()
	for check, want := range map[string]string{
		"concurrency_held": "concurrency 2 was held for 99 % of the time",
		"client_cpu":       "the client used 10 % of 2 cores",
		"coalesced":        "0 % of the chunks came together with another",
		"errors":           "0 of 200 requests failed",
		"sink":             "0 records lost",
	} {
		if f := w.judge(nil)[check]; f.Detail != want || f.Try != "" {
			t.Errorf("%s: %q, try %q; want %q", check, f.Detail, f.Try, want)
		}
	}
	w.host.CPUWorst = 0.95
	if f := w.judge(nil)["client_cpu"]; f.Detail != "the client used 95 % of 2 cores; its own queueing is in these latencies" {
		t.Errorf("client_cpu at 95 %%: %q", f.Detail)
	}
}

// keep is the first n requests of a world, as a run of their own.
func (w *world) keep(n int) {
	p := &w.result.Phases[0]
	w.records = w.records[:n]
	p.Issued, p.OK = int64(n), int64(n)
	p.End = w.records[n-1].End
	p.Gauge.SteadyEnd = p.End
	w.host.Wall = time.Duration(p.End)
}

// Too little to speak of: such a check is absent, whatever its value would be,
// and what is left does not call a stumble an invalid run.
func TestTinyRuns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		spoil  func(*world)
		absent []string
		want   Verdict // of the run
	}{
		{"one request", func(w *world) { w.keep(1) }, []string{"turnaround", "littles_law", "warmup", "stationary", "client_cpu"}, Valid},
		{"two requests", func(w *world) { w.keep(2) }, []string{"turnaround", "littles_law", "warmup", "stationary"}, Valid},
		{"ten, one follow-up late by 9 ms", func(w *world) {
			w.keep(10)
			r := &w.records[7]
			r.Intended, r.Admitted = r.Intended-9e6, r.Admitted-9e6
		}, []string{"turnaround", "warmup", "stationary"}, Degraded}, // dispatch_lateness says so
		{"0.1 s, one nap 9 ms late, starting took all cores", func(w *world) {
			w.keep(2)
			w.host.CPUWorst = 1
			w.host.Hiccup = telemetry.Hiccup{P999: 9, Longest: 9, Lost: 0.08, N: 90}
			w.host.SchedP99 = math.NaN()
		}, []string{"client_cpu", "turnaround"}, Degraded}, // hiccup
		{"0.1 s, stopped for 150 ms", func(w *world) {
			w.keep(2)
			w.host.Hiccup = telemetry.Hiccup{P999: 150, Longest: 150, Lost: 0.9, N: 10}
		}, nil, Invalid},
		{"one wave of 200 that grows", func(w *world) {
			w.result.Phases[0].Target = 200
			for i := range w.records {
				r := &w.records[i]
				shift(r, int64(i)*1000-r.Intended)
				r.End += int64(i) * 1e6
			}
			w.result.Phases[0].Gauge = loadgen.Gauge{HeldShare: math.NaN(), SteadyStart: record.None, SteadyEnd: record.None}
		}, []string{"warmup", "stationary", "concurrency_held", "littles_law"}, Valid},
	} {
		w := clean()
		c.spoil(w)
		found := w.judge(nil)
		for _, id := range c.absent {
			if f, ok := found[id]; ok {
				t.Errorf("%s: %s speaks: %s %s", c.name, id, f.Verdict, f.Detail)
			}
		}
		var all []Finding
		for _, f := range found {
			all = append(all, f)
		}
		if v := Worst(all); v != c.want {
			t.Errorf("%s is %s, want %s: %+v", c.name, v, c.want, all)
		}
	}
}

func TestPlanChecks(t *testing.T) {
	t.Parallel()
	est := func(mean, half float64, n int) map[string]stats.Estimate {
		return map[string]stats.Estimate{"request_throughput.avg": {Mean: mean, Low: mean - half, High: mean + half, N: n}}
	}
	cases := []struct {
		name  string
		e     PlanEvidence
		check string
		want  Verdict
		there bool
	}{
		{"one run claims no interval", PlanEvidence{Trials: 1, Cells: []CellEvidence{{OK: 1}}}, "runs", Valid, false},
		{"nothing was measured", PlanEvidence{Trials: 1}, "runs", Invalid, true},
		{"two trials", PlanEvidence{Trials: 2, Cells: []CellEvidence{{OK: 2}}}, "runs", Degraded, true},
		{"three trials", PlanEvidence{Trials: 3, Cells: []CellEvidence{{OK: 3}}}, "runs", Valid, true},
		{"one cell lost its trials", PlanEvidence{Trials: 3, Cells: []CellEvidence{{OK: 3}, {OK: 0}}}, "runs", Degraded, true},
		{"narrow", PlanEvidence{Trials: 5, Cells: []CellEvidence{{OK: 5, Estimates: est(100, 2, 5)}}}, "interval", Valid, true},
		{"wide", PlanEvidence{Trials: 5, Cells: []CellEvidence{{OK: 5, Estimates: est(100, 2, 5)}, {OK: 5, Estimates: est(100, 10, 5)}}}, "interval", Degraded, true},
		{"useless", PlanEvidence{Trials: 5, Cells: []CellEvidence{{OK: 5, Estimates: est(100, 40, 5)}}}, "interval", Invalid, true},
		{"steady machine", PlanEvidence{Trials: 3, Cells: []CellEvidence{{OK: 3, InOrder: []float64{100, 101, 100.5}}}}, "drift", Valid, true},
		{"wild machine, no direction", PlanEvidence{Trials: 3, Cells: []CellEvidence{{OK: 3, InOrder: []float64{100, 70, 130}}}}, "drift", Valid, true},
		{"drifting machine", PlanEvidence{Trials: 3, Cells: []CellEvidence{{OK: 3, InOrder: []float64{100, 97, 95}}}}, "drift", Degraded, true},
		{"two cells agree on a tenth", PlanEvidence{Trials: 4, Cells: []CellEvidence{
			{OK: 4, InOrder: []float64{10, 10.4, 10.9, 11.1}}, {OK: 4, InOrder: []float64{200, 207, 219, 221}},
		}}, "drift", Invalid, true},
		{"a fifth, but three values say little", PlanEvidence{Trials: 3, Cells: []CellEvidence{{OK: 3, InOrder: []float64{100, 90, 80}}}}, "drift", Degraded, true},
		{"two trials", PlanEvidence{Trials: 2, Cells: []CellEvidence{{OK: 2, InOrder: []float64{100, 50}}}}, "drift", Valid, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			there := false
			for _, f := range JudgePlan(&c.e, nil) {
				if f.Check == c.check {
					there = true
					if f.Verdict != c.want {
						t.Errorf("%s = %v: %s, want %s", c.check, f.Value, f.Verdict, c.want)
					}
				}
			}
			if there != c.there {
				t.Errorf("%s found: %v, want %v", c.check, there, c.there)
			}
		})
	}
}

// evidence spoils what is known beside the records.
func evidence(spoil func(*Evidence)) func(*world) {
	return func(w *world) { w.evidence = spoil }
}

func limit(v float64) *float64 { return &v }

// faces is one target that lists models.
func faces(server string, models ...string) []face { return []face{{Server: server, Models: models}} }

// fail makes the first n requests failures.
func fail(n int, s record.Status) func(*world) {
	return func(w *world) {
		for i := range n {
			w.records[i].Status, w.records[i].ErrorMessage = s, "503 overloaded"
		}
		p := &w.result.Phases[0]
		p.OK, p.Failed = p.OK-int64(n), p.Failed+int64(n)
	}
}

// shift moves all stamps of r by d.
func shift(r *record.Record, d int64) {
	for _, t := range []*int64{&r.Intended, &r.Admitted, &r.Sent, &r.WriteEnd, &r.FirstByte, &r.FirstToken, &r.FirstOutput, &r.LastToken, &r.End} {
		*t += d
	}
	for i := range r.Chunks {
		r.Chunks[i].At += d
		r.Chunks[i].Low += d
	}
}

func show(p *float64) string {
	if p == nil || math.IsNaN(*p) {
		return "never"
	}
	return fmt.Sprint(*p)
}

// A sentence repeats the beginning of what a server said, not a page of it.
func TestLongErrorsAreBrief(t *testing.T) {
	t.Parallel()
	w := clean()
	fail(20, record.HTTPError)(w)
	for i := range 20 {
		w.records[i].ErrorMessage = strings.Repeat("ü", 1000)
	}
	want := "20 of 200 requests failed, first: http_error: " + strings.Repeat("ü", 120-len("http_error: ")) + "…"
	if f := w.judge(nil)["errors"]; f.Detail != want {
		t.Errorf("%q, want %q", f.Detail, want)
	}
}

func TestWordsOfAmounts(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0: "0 ms", 1e-5: "0.01 µs", 0.0174: "17.4 µs", 21.62: "21.6 ms", 1345.4: "1345 ms", 12_345: "12.3 s", 3.6e6: "3600 s"} {
		if got := ms(v); got != want {
			t.Errorf("ms(%v) = %q, want %q", v, got, want)
		}
	}
	for v, want := range map[float64]string{0: "0 %", 2e-7: "less than 0.001 %", 0.0276: "2.76 %", 7.68: "768 %", 12.345: "1234 %"} {
		if got := percent(v); got != want {
			t.Errorf("percent(%v) = %q, want %q", v, got, want)
		}
	}
}

// Only what counts as goodput's complement is counted: answers in the window.
func TestMissedSLOsAreCounted(t *testing.T) {
	t.Parallel()
	w := clean()
	w.records[3].SLOFailed, w.records[4].SLOFailed, w.records[5].SLOFailed = "time_to_first_token", "time_to_first_token", "inter_token_latency"
	w.records[6].SLOFailed, w.records[6].Status = "time_to_first_token", record.Timeout
	w.records[7].SLOFailed, w.records[7].InWindow = "time_to_first_token", false
	e := newEvidence(w.result, w.host)
	for i := range w.records {
		e.Add(&w.records[i])
	}
	if e.Missed["time_to_first_token"] != 2 || e.Missed["inter_token_latency"] != 1 || len(e.Missed) != 2 {
		t.Errorf("missed %v, want 2 × time_to_first_token, 1 × inter_token_latency", e.Missed)
	}
}
