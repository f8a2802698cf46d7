package verdict

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/loadgen/stable"
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
	before   func(*Evidence) // what is known before the records
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
		Gauge: loadgen.Gauge{Mean: 2, Max: 2, HeldShare: 0.99, HeldRatio: 0.99, SteadyStart: 0, SteadyEnd: end},
	}}
	return w
}

func (w *world) judge(limits map[string]schema.Threshold) map[string]Finding {
	e := NewEvidence(w.result, w.host)
	e.Emitted, e.Stamps, e.Streaming = int64(len(w.records)), "kernel", true
	if w.before != nil {
		w.before(e)
	}
	var residence int64
	for i := range w.records {
		r := &w.records[i]
		e.Add(r)
		residence += r.End - r.Sent
	}
	if g := &e.Phases[0].Result.Gauge; g.Residence == 0 {
		g.Residence = residence // as the engine sums it up
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
		{"dispatch_lateness", []func(*world){open, every(func(i int, r *record.Record) { r.Sent += 3e6 })}, Degraded, nil},
		{"dispatch_lateness", []func(*world){open, every(func(i int, r *record.Record) { r.Sent += 15e6 })}, Invalid, nil},
		{"offered_rate", []func(*world){open, func(w *world) { w.result.Phases[0].Due, w.result.Phases[0].Unsent = 210, 10 }}, Degraded, nil},
		{"offered_rate", []func(*world){open, func(w *world) { w.result.Phases[0].Due, w.result.Phases[0].Unsent = 250, 50 }}, Invalid, nil},
		{"offered_rate", []func(*world){open, func(w *world) { // a cap that was asked for held them back
			w.result.Phases[0].Due, w.result.Phases[0].Unsent, w.result.Phases[0].Skipped = 250, 50,
				map[string]int64{"on_cap": 50}
		}}, Degraded, nil},
		{"offered_rate", []func(*world){open, func(w *world) { // a client that stood still, beside a cap
			w.result.Phases[0].Due, w.result.Phases[0].Unsent, w.result.Phases[0].Skipped = 250, 50,
				map[string]int64{"on_cap": 20, "client_late": 30}
		}}, Invalid, nil},
		{"admission_wait", []func(*world){open, every(func(i int, r *record.Record) {
			if i%4 == 0 {
				r.Intended -= 5e6
			}
		})}, Degraded, nil},
		{"admission_wait", []func(*world){open, func(w *world) { w.result.Phases[0].Skipped = map[string]int64{"on_cap": 50} }}, Degraded, nil},
		{"backlog", []func(*world){open, every(func(i int, r *record.Record) { // each takes 20 ms longer than the one before
			r.End, r.LastToken = r.End+int64(i)*20e6, r.LastToken+int64(i)*20e6
		})}, Degraded, nil},
		{"workers_alike", []func(*world){every(func(i int, r *record.Record) {
			if r.Worker = int64(i % 3); r.Worker == 2 {
				r.End, r.LastToken = r.End+40e6, r.LastToken+40e6
			}
		})}, Degraded, nil},
		{"workers_lost", []func(*world){evidence(func(e *Evidence) { e.Lost = []LostWorker{{Worker: 1, Of: 4, After: 3, Why: "it ended"}} })}, Degraded, nil},
		{"workers_together", []func(*world){evidence(func(e *Evidence) { e.Apart = 25 })}, Degraded, nil},
		{"turnaround", []func(*world){every(func(i int, r *record.Record) { r.Intended -= 3e6 })}, Degraded, nil},
		{"turnaround", []func(*world){every(func(i int, r *record.Record) { r.Intended -= 15e6 })}, Invalid, nil},
		{"concurrency_held", []func(*world){func(w *world) { w.result.Phases[0].Gauge.HeldRatio = 0.95 }}, Degraded, nil},
		{"concurrency_held", []func(*world){func(w *world) { w.result.Phases[0].Gauge.HeldRatio = 0.8 }}, Invalid, nil},
		{"stamp_error", []func(*world){evidence(func(e *Evidence) {
			e.Stamps, e.StampError = "application", StampError{N: 500, Mean: 2, P50: 2, P90: 2, P99: 2}
		})}, Degraded, nil},
		{"stamp_error", []func(*world){evidence(func(e *Evidence) {
			e.Stamps, e.StampError = "application", StampError{N: 500, Mean: 2, P50: 0.1, P90: 4, P99: 12}
		})}, Invalid, nil},
		{"coalesced", []func(*world){every(func(i int, r *record.Record) { r.Chunks[3].SameRead, r.Chunks[9].SameRead = true, true })}, Valid, nil}, // marks the gaps
		{"coalesced", []func(*world){every(func(i int, r *record.Record) {
			for k := range r.Chunks {
				r.Chunks[k].SameRead = k > 0
			}
		})}, Invalid, nil},
		{"coalesced", []func(*world){open, stumbling}, Invalid, nil},
		{"littles_law", []func(*world){func(w *world) { w.result.Phases[0].Gauge.Residence = 207e8 }}, Degraded, nil},
		{"littles_law", []func(*world){func(w *world) { w.result.Phases[0].Gauge.Residence = 300e8 }}, Invalid, nil},
		{"flow_balance", []func(*world){func(w *world) { w.result.Phases[0].Issued++ }}, Invalid, nil},
		{"client_errors", []func(*world){fail(1, record.Client)}, Invalid, nil},
		{"clock", []func(*world){evidence(func(e *Evidence) { e.ClockJumps, e.ClockJump = 1, 15 })}, Degraded, nil},
		{"clock", []func(*world){func(w *world) { w.host.WallJump = 20 }}, Degraded, nil},
		{"clock", []func(*world){func(w *world) { w.records[5].FirstByte = w.records[5].Sent - 1 }}, Invalid, nil},
		{"sink", []func(*world){func(w *world) { w.evidence = func(e *Evidence) { e.Emitted++ } }}, Invalid, nil},
		{"sink", []func(*world){func(w *world) { w.evidence = func(e *Evidence) { e.SinkError = "no space left on device" } }}, Invalid, nil},

		{"errors", []func(*world){fail(1, record.HTTPError)}, Degraded, nil},
		{"errors", []func(*world){fail(100, record.HTTPError)}, Degraded, nil}, // the server's: what is measured is measured
		{"errors", []func(*world){fail(100, record.HTTPError)}, Invalid, map[string]schema.Threshold{"errors": {Fail: limit(0.2)}}},
		{"censored", []func(*world){fail(40, record.Cut)}, Degraded, nil},
		{"tokens", []func(*world){every(func(i int, r *record.Record) { r.UsageCompletion = record.None }), func(w *world) { w.evidence = func(e *Evidence) { e.TokenSource = "counted with o200k_base" } }}, Degraded, nil},
		{"osl_honoured", []func(*world){every(func(i int, r *record.Record) {
			if i%10 == 0 {
				r.OSLRequested = 20
			}
		})}, Degraded, nil},
		{"osl_honoured", []func(*world){every(func(i int, r *record.Record) { r.OSLRequested = 20 })}, Degraded, nil},
		{"prefix_cache", []func(*world){every(func(i int, r *record.Record) { r.Cached = 35 })}, Degraded, nil},
		{"cache_hits", []func(*world){every(func(i int, r *record.Record) { r.Cached = 6 }), evidence(func(e *Evidence) { e.Reuse = Reuse{Rate: 0.5, Entries: 1e6} })}, Degraded, nil},
		{"streamed", []func(*world){every(func(i int, r *record.Record) { r.Streamed = i > 0 })}, Degraded, nil},
		{"held_open", []func(*world){every(func(i int, r *record.Record) { r.LastToken -= (r.LastToken - r.FirstToken) / 2 })}, Degraded, nil},
		{"stable", []func(*world){windowed(10, [2]float64{100, 10}, [2]float64{130, 10}, [2]float64{110, 10})}, Degraded, nil},
		{"stable", []func(*world){windowed(10, [2]float64{100, 10}, [2]float64{100, 13}, [2]float64{100, 10})}, Degraded, nil},
		{"stable", []func(*world){windowed(10, [2]float64{100, 10}, [2]float64{100, 10})}, Degraded, nil},
		{"stable", []func(*world){windowed(999, [2]float64{100, 10}, [2]float64{0, 0}, [2]float64{100, 10})}, Degraded, nil},
		{"resent", []func(*world){every(func(i int, r *record.Record) { r.ResentRead = i%50 == 0 })}, Degraded, nil},
		{"identity", []func(*world){every(func(i int, r *record.Record) { r.ServedModel = []string{"a", "b"}[i/100] })}, Degraded, nil},
		{"dimensions", []func(*world){every(func(i int, r *record.Record) { r.Dimensions = 768 - 256*int64(i%5/4) })}, Degraded, nil},
		{"identity", []func(*world){evidence(func(e *Evidence) {
			e.Identity = &Identity{Before: faces("uvicorn", "a", "b"), After: faces("uvicorn", "a")}
		})}, Degraded, nil},
		{"identity", []func(*world){evidence(func(e *Evidence) { e.Identity = &Identity{Before: faces("v1", "a"), After: faces("v1", "b")} })}, Degraded, nil},

		{"client_cpu", []func(*world){func(w *world) { w.host.CPUWorst = 0.97 }}, Valid, nil},
		{"go_sched", []func(*world){func(w *world) { w.host.SchedP99 = 20 }}, Valid, nil},
		{"gc", []func(*world){func(w *world) { w.host.GCLongest = 60 }}, Valid, nil},
		{"hiccup", []func(*world){func(w *world) { w.host.Hiccup.P999 = 6 }}, Valid, nil},
		{"hiccup", []func(*world){func(w *world) { w.host.Hiccup.Longest = 400 }}, Valid, nil},
		{"hiccup", []func(*world){func(w *world) { w.host.Hiccup.Lost = 0.04 }}, Valid, nil},
		{"throttling", []func(*world){func(w *world) { w.host.Throttled = 0.2 }}, Valid, nil},
		{"run_delay", []func(*world){func(w *world) { w.host.RunDelay = 0.9 }}, Valid, nil},
		{"steal", []func(*world){func(w *world) { w.host.Steal = 0.2 }}, Valid, nil},
		{"receive_lag", []func(*world){every(func(i int, r *record.Record) { r.ReceiveLag = 5000 })}, Valid, nil},
		{"headroom", []func(*world){evidence(func(e *Evidence) { e.Headroom = 0.5 })}, Valid, nil},
		{"client_cpu", []func(*world){func(w *world) { w.host.CPUWorst = 0.97 }}, Invalid, map[string]schema.Threshold{"client_cpu": {Fail: limit(0.5)}}},
		{"tail_samples", nil, Degraded, map[string]schema.Threshold{"tail_samples": {Warn: limit(662)}}},
		{"settling", []func(*world){every(func(i int, r *record.Record) { r.End += int64(i) * 400_000 })}, Valid, nil},
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
				t.Errorf("%s = %v (warn %v, fail %v): %s, want %s", c.check, f.Value, show(f.Warn), show(f.Fail),
					f.Verdict, c.want)
			}
			row, _ := Explain(c.check)
			for _, l := range []*float64{f.Warn, f.Fail} {
				capped := l == f.Fail && f.Kind != Harm // it moves no verdict
				if c.limits == nil && l != nil && !capped && !strings.Contains(row.Limits, "of it and") &&
					!strings.Contains(row.Limits, " "+fmt.Sprint(*l)) && *l != 0 {
					t.Errorf("%s: the limit %v is not told: %q", c.check, *l, row.Limits)
				}
			}
			if said := f.Verdict > Valid || f.Noted; f.Detail == "" || said && f.Try == "" {
				t.Errorf("%s: no words for a person: %+v", c.check, f)
			}
			if !saysItsValue(f) {
				t.Errorf("%s: %q does not say its value, %v %s", c.check, f.Detail, f.Value, f.Unit)
			}
			if f.Kind == Cause && c.want == Valid && !f.Noted {
				t.Errorf("%s: the cause is there and not noted: %+v", c.check, f)
			}
			if (f.Kind == Harm || f.Kind == Workload) && c.check != "clock" && len(f.Taints) == 0 {
				t.Errorf("%s touches no metric", c.check)
			}
		})
	}
	for _, c := range checks() {
		if !flipped[c.ID] {
			t.Errorf("no case flips %s", c.ID)
		}
	}
	for _, id := range CheckIDs() {
		if row, _ := Explain(id); row.Limits == "" || row.Try == "" || row.Reads == "" {
			t.Errorf("%s does not say its limits, what it reads or what helps: %+v", id, row)
		}
	}
}

// saysItsValue tells whether the words of a finding hold its value, so that a reader of the
// screen and one of the table checks see the same number. A share may be said as two
// counts, what is bounded as its bounds, and a level is a word.
func saysItsValue(f Finding) bool {
	number := math.Abs(f.Value)
	said := []string{words.Number(number), words.Grouped(number), fmt.Sprintf("%.3g", number)}
	switch f.Unit {
	case "level":
		return true
	case "ratio":
		said = append(said, words.Percent(number))
	case "ms":
		said = append(said, words.Millis(number))
	}
	for _, m := range regexp.MustCompile(`(\d+) of (\d+)`).FindAllStringSubmatch(f.Detail, -1) {
		k, _ := strconv.ParseFloat(m[1], 64)
		n, _ := strconv.ParseFloat(m[2], 64)
		if math.Abs(k/n-number) < 1e-9 {
			return true
		}
	}
	return strings.Contains(f.Detail, "is only known to be") ||
		slices.ContainsFunc(said, func(n string) bool { return strings.Contains(f.Detail, n) })
}

// windowed makes it a load that was to go on until it is stable within a percentage, and saw
// windows of a second of so many requests that took so many ms.
func windowed(percentage float64, seen ...[2]float64) func(*world) {
	return func(w *world) {
		s := stable.New(&schema.Stability{Percentage: percentage})
		for i, one := range seen {
			s.Add(stable.NewWindow(int64(i)*second, int64(i+1)*second, int64(one[0]), one[0]*one[1]))
		}
		w.result.Phases[0].Stability = s
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

// stopped has the client stand still from one time to another: what is due then is
// sent afterwards.
func stopped(from, to int64) func(*world) {
	return func(w *world) {
		w.host.Hiccup.Longest, w.host.Hiccup.Stops = float64(to-from)/1e6, []telemetry.Stop{{From: from, To: to}}
		for i := range w.records {
			if r := &w.records[i]; r.Intended > from && r.Intended < to {
				intended := r.Intended
				shift(r, to-r.Sent)
				r.Intended, r.Admitted = intended, intended
			}
		}
	}
}

// stumbling has the client stand still during every fifth answer, from 10 to 70 ms after
// its request: what came meanwhile is read together.
func stumbling(w *world) {
	for i := 0; i < len(w.records); i += 5 {
		r := &w.records[i]
		from, to := r.Sent+10e6, r.Sent+70e6
		w.host.Hiccup.Stops = append(w.host.Hiccup.Stops, telemetry.Stop{From: from, To: to})
		n := 0
		for n < len(r.Chunks) && r.Chunks[n].At < to {
			n++
		}
		newest := r.Chunks[n-1].At
		for k := range n {
			r.Chunks[k].At, r.Chunks[k].Low, r.Chunks[k].SameRead = newest, r.FirstByte-int64(30e6), k > 0
		}
		r.FirstToken, r.FirstOutput = newest, newest
	}
}

// What a client that stood still made of the answers is said of it, and not of the
// server; and only where its reading was late.
func TestClientThatStoodStill(t *testing.T) {
	t.Parallel()
	w := clean()
	open(w)
	stopped(8*second, 12*second)(w) // the last is due at 10 s
	found := w.judge(nil)
	if f := found["backlog"]; f.Verdict != Valid {
		t.Errorf("requests that were due while the client stood still are called the server's queue: %s", f.Detail)
	}
	if f := found["dispatch_lateness"]; f.Taints["request_throughput"] != validity.Wrong {
		t.Errorf("the rates of a run that took 1.5 s longer than its schedule are not marked: %+v", f)
	}
	if f := found["coalesced"]; strings.Contains(f.Detail, "paused") {
		t.Errorf("answers that began after the client went on: %s", f.Detail)
	}
	w = clean()
	open(w)
	stumbling(w)
	if f := w.judge(nil)["coalesced"]; f.Verdict != Invalid ||
		!strings.Contains(f.Detail, "the client was paused while answers began, so p90 TTFT is only known to be") {
		t.Errorf("first tokens that were read late: %s: %s", f.Verdict, f.Detail)
	}
	w.host.Hiccup.Stops = nil
	if f := w.judge(nil)["coalesced"]; strings.Contains(f.Detail, "paused") {
		t.Errorf("a server that sends several tokens at once: %s", f.Detail)
	}
}

// A first token that was read late may have met its limit, and one that met it may make the times between
// tokens miss theirs: the share of good requests is off by these requests at most.
func TestLimitsOfAClientThatStoodStill(t *testing.T) {
	t.Parallel()
	w := clean()
	open(w)
	stumbling(w) // every fifth
	for i := range w.records {
		if r := &w.records[i]; r.Succeeded() {
			r.SLOSet = true
			if i < 50 {
				r.SLOFailed = "time_to_first_token"
			}
		}
	}
	want := validity.Range{Less: 30. / 150, More: 10. / 150}
	if f := w.judge(nil)["coalesced"]; f.Ranges["good_request_fraction.avg"] != want {
		t.Errorf("%+v, want %+v", f.Ranges, want)
	}
}

// What a cap held back, as asked, is not explained by this machine; what this program did
// not send is. And requests that were cut off are missing in the request rate.
func TestWhatACapHoldsBackHasNoCauseHere(t *testing.T) {
	t.Parallel()
	for why, want := range map[string]int{"on_cap": 0, "client_late": 1} {
		w := clean()
		open(w)
		w.host.Hiccup.Lost = 0.2
		w.result.Phases[0].Due, w.result.Phases[0].Unsent, w.result.Phases[0].Skipped = 250, 50,
			map[string]int64{why: 50}
		if f := w.judge(nil)["offered_rate"]; f.Verdict == Valid || len(f.Because) != want {
			t.Errorf("%s: %s, because %v; want %d causes", why, f.Verdict, f.Because, want)
		}
	}
	w := clean()
	fail(40, record.Cut)(w)
	if f := w.judge(nil)["censored"]; f.Taints["request_throughput"] != validity.Doubtful {
		t.Errorf("40 of 200 were cut off, and the request rate is %q", f.Taints["request_throughput"])
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
		{"closed loop whose client pauses", waits, []string{"admission_wait", "dispatch_lateness"}, "turnaround", Invalid, "without gaps in this client, throughput would be"},
		{
			"closed loop behind a limit of requests in flight", func(w *world) {
				waits(w)
				w.result.Phases[0].Capped = "in_flight"
			},
			[]string{"turnaround", "admission_wait"},
			"concurrency_held", Valid,
			"99.0 % of the requested concurrency was in flight",
		},
		{"closed loop behind a limit of prefills", func(w *world) {
			waits(w)
			w.result.Phases[0].Capped, w.result.Phases[0].Gauge.HeldRatio = "prefill", 0
		}, []string{"turnaround", "concurrency_held", "admission_wait", "dispatch_lateness"}, "errors", Valid, "0 of "},
		{"trace behind a cap", replayed, []string{"turnaround", "offered_rate", "concurrency_held"}, "admission_wait", Degraded, "100 % of the due requests waited for a slot"},
		{
			"users held up by answers", func(w *world) {
				open(w)
				w.result.Phases[0].Rate, w.result.Phases[0].HeldUp = 26, 120
			},
			[]string{"turnaround", "offered_rate"},
			"admission_wait", Degraded,
			"60.0 % of the requests were due before the answer to the turn before them",
		},
		{"users that nothing holds up", func(w *world) { open(w); w.result.Phases[0].Due = 200 }, []string{"turnaround"}, "offered_rate", Valid, "0 of 200 requests that were due were never sent"},
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
		{"hiccup", func(w *world) { w.host.Wall, w.host.Hiccup.Lost = 500e6, 0.08 }, 0.04, "ratio"}, // of a second
		{"clock", func(*world) {}, 0.01, "ms"},
		{"clock", func(w *world) { w.records[5].FirstByte = w.records[5].Sent - 1 }, 1, "requests"},
	} {
		w := clean()
		c.spoil(w)
		if f := w.judge(nil)[c.check]; f.Value != c.value || f.Unit != c.unit || !saysItsValue(f) {
			t.Errorf("%s is %v %s (%s), want %v %s", c.check, f.Value, f.Unit, f.Detail, c.value, c.unit)
		}
	}
}

// Who shares the cores is named where it is known.
func TestWhoSharesTheCores(t *testing.T) {
	t.Parallel()
	for builtIn, want := range map[bool][2]string{
		false: {
			"the CPU was full (27.0 % of the time waiting): something shares it",
			"a machine that does nothing else, and serves nothing itself",
		},
		true: {
			"the CPU was full (27.0 % of the time waiting): the built-in server shares it",
			"a lower load, or for numbers that count a server on another machine",
		},
	} {
		w := clean()
		w.host.RunDelay = 0.54 // of two cores
		w.evidence = func(e *Evidence) { e.BuiltIn = builtIn }
		if f := w.judge(nil)["run_delay"]; !f.Noted || f.Verdict != Valid || f.Detail != want[0] || f.Try != want[1] {
			t.Errorf("built-in server %v: %+v; want %q, %q", builtIn, f, want[0], want[1])
		}
	}
}

// Whatever the machine does, numbers that are right are VALID; where harm was
// done, the same causes explain it.
func TestCausesExplainHarm(t *testing.T) {
	t.Parallel()
	busy := func(w *world) {
		w.host.CPUWorst, w.host.SchedP99, w.host.Hiccup.Longest, w.host.RunDelay = 0.99, 30, 400, 1
	}
	w := clean()
	busy(w)
	for id, f := range w.judge(nil) {
		if f.Verdict != Valid || len(f.Because) > 0 {
			t.Errorf("a busy machine, right numbers: %s %s because %q", id, f.Verdict, f.Because)
		}
	}
	for i := range w.records {
		w.records[i].Intended -= 15e6
	}
	f := w.judge(nil)["turnaround"]
	if f.Verdict != Invalid || len(f.Because) != mostCauses || !strings.Contains(f.Sentence(), "; because ") {
		t.Errorf("harm on a busy machine: %s %q", f.Verdict, f.Sentence())
	}
}

// Records that could not be written are missing in every count that is held
// against them: only sink says so, and no busy machine explains it.
func TestLostRecordsAreNoBug(t *testing.T) {
	t.Parallel()
	w := clean()
	w.host.RunDelay = 1
	w.records = w.records[:50]
	w.evidence = func(e *Evidence) { e.Emitted, e.SinkError = 200, "no space left on device" }
	found := w.judge(nil)
	if f := found["sink"]; f.Verdict != Invalid || f.Sentence() != "150 records lost: no space left on device" {
		t.Errorf("sink: %s %q", f.Verdict, f.Sentence())
	}
	for id, f := range found {
		if f.Try == "report it as a bug" {
			t.Errorf("%s: %s, try: %s", id, f.Detail, f.Try)
		}
	}
}

// A request that could not be made is no work of a busy machine.
func TestRequestsThatCannotBeMade(t *testing.T) {
	t.Parallel()
	w := clean()
	w.host.CPUWorst, w.host.RunDelay = 0.99, 1
	fail(1, record.Client)(w)
	w.records[0].ErrorKind, w.records[0].ErrorMessage = "request", "template.body: line 1: list has no element 0"
	f := w.judge(nil)["client_errors"]
	if f.Verdict != Invalid || len(f.Because) > 0 || !strings.HasSuffix(f.Detail,
		", first: template.body: line 1: list has no element 0") || !strings.HasPrefix(f.Try, "correct what requests are made of") {
		t.Errorf("%s %q, try %q", f.Verdict, f.Sentence(), f.Try)
	}
}

// A finding marks the metrics it touches and no others.
func TestTaints(t *testing.T) {
	t.Parallel()
	w := clean()
	open(w)
	for i := range w.records {
		w.records[i].Sent += 3e6
	}
	var found []Finding
	for _, f := range w.judge(nil) {
		found = append(found, f)
	}
	taints := Taints(found)
	if taints.Metric("request_latency_from_intended").Check != "dispatch_lateness" ||
		!taints.Metric("time_to_first_token").None() {
		t.Errorf("late sending: %v", taints)
	}
	lost := Taints([]Finding{
		{Check: "sink", Verdict: Invalid, Taints: Touched{everything: validity.Wrong}},
		{Check: "tokens", Verdict: Degraded, Taints: Touched{"output_sequence_length": validity.Doubtful}},
	})
	if len(lost) < 50 || lost["output_sequence_length"].String() != "sink: invalid" {
		t.Errorf("a loss touches %d metrics, output length by %q", len(lost), lost["output_sequence_length"])
	}
	failing := Taints([]Finding{{Check: "errors", Verdict: Degraded, Taints: Touched{answers: validity.Doubtful}}})
	if failing["request_latency"].Check != "errors" || failing["output_token_throughput"].Check != "errors" ||
		!failing["error_rate"].None() || !failing["good_request_fraction"].None() {
		t.Errorf("errors of the server touch %v: how many failed is no less certain", failing)
	}
	for _, c := range checks() {
		for _, tag := range c.Touches {
			if _, ok := metrics.Lookup(tag); !ok && tag != everything && tag != answers {
				t.Errorf("%s touches %s, which is no metric", c.ID, tag)
			}
		}
		if c.Kind == "" || c.Reads == "" || c.Doc == "" {
			t.Errorf("%s: no kind, evidence or meaning", c.ID)
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
		{"hiccup", func(w *world) { w.host.Hiccup.Lost = 0.04 }, schema.Threshold{Warn: limit(500), Fail: limit(500)}, Valid},
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
			t.Errorf("%s with warn %s, fail %s: %s %v (%s), want %s", c.check, show(c.limit.Warn),
				show(c.limit.Fail), f.Verdict, f.Value, f.Detail, c.want)
		}
	}
}

// Opening a connection is no lateness and no turnaround, and the run tells what it costs;
// what is late beside it is found.
func TestConnectingIsNotLate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name             string
		open             bool
		connecting, late int64 // ms
		lateness         Verdict
	}{
		{"open loop", true, 15, 0, Valid},
		{"open loop, late beside it", true, 15, 15, Invalid},
		{"open loop, late alone", true, 0, 15, Invalid},
		{"closed loop", false, 15, 0, Valid},
		{"closed loop, late beside it", false, 15, 15, Invalid},
	} {
		w, check := clean(), "turnaround"
		if c.open {
			check = "dispatch_lateness"
			open(w)
		}
		for i := range w.records {
			r := &w.records[i]
			shift(r, (c.connecting+c.late)*1e6)
			r.Intended -= (c.connecting + c.late) * 1e6
			r.Admitted = r.Intended
			if c.connecting > 0 {
				r.Connecting = c.connecting * 1e6
			}
		}
		var told string
		w.evidence = func(e *Evidence) {
			for _, n := range e.Notices(nothingShown) {
				if n.ID == "connecting" {
					told = n.Text
				}
			}
		}
		if f := w.judge(nil)[check]; f.Verdict != c.lateness {
			t.Errorf("%s: %s %s, want %s", c.name, f.Verdict, f.Detail, c.lateness)
		}
		if want := "200 of 200 requests needed a new connection, which took 15.0 ms on average; "; strings.HasPrefix(told,
			want) != (c.connecting > 0) {
			t.Errorf("%s: the run tells %q, want %q only where connections were opened", c.name, told, want)
		}
	}
}

// A client that stood still in a closed loop of few requests marks the rates, and moves no
// verdict.
func TestFewRequestsAreMarked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		check string
		spoil func(*world)
		want  bool
	}{
		{"turnaround", func(*world) {}, false},
		{"turnaround", func(w *world) { w.records[9].Intended -= 300e6 }, true},
		{"turnaround", func(w *world) { // each by 0.9 ms, of answers of 20: no standstill
			for i := range w.records {
				w.records[i].Intended, w.records[i].LastToken = w.records[i].Sent-900_000, w.records[i].Sent+20e6
			}
		}, false},
	} {
		w := clean()
		w.records = w.records[:10]
		w.result.Phases[0].Issued, w.result.Phases[0].OK = 10, 10
		c.spoil(w)
		f, told := w.judge(nil)[c.check]
		if told != c.want || told && (f.Verdict != Valid || f.Taints[metrics.RequestThroughput] != validity.Doubtful) {
			t.Errorf("%s: %v %+v", c.check, told, f)
		}
	}
}

// What is declared is compared with what the server says: a rate only while each
// prompt is played once, a pool as far as whole blocks and a warmup let it be known.
func TestCacheHitsAreAsDeclared(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		reuse  Reuse
		cached int64 // of 64 tokens of a prompt, and 6 of the template
		want   Verdict
		absent bool
	}{
		{"as declared", Reuse{Rate: 0.5, Entries: 1e6}, 38, Valid, false},
		{"a cache that is off", Reuse{Rate: 0.5, Entries: 1e6}, 0, Degraded, false},
		{"a cache that knew the prompts", Reuse{Rate: 0.5, Entries: 1e6}, 70, Degraded, false},
		{"prompts that repeat", Reuse{Rate: 0.5, Entries: 3}, 70, Valid, true},
		{"a pool", Reuse{Pool: 2, Length: 32}, 38, Valid, false},
		{"a pool by whole blocks", Reuse{Pool: 2, Length: 32}, 6 + 16, Valid, false},
		{"a pool that was forgotten", Reuse{Pool: 2, Length: 32}, 6, Degraded, false},
		{"a pool of short prefixes", Reuse{Pool: 2, Length: 16}, 6, Valid, true},
		{"nothing declared", Reuse{}, 70, Valid, true},
		{"a server that does not tell", Reuse{Rate: 0.5, Entries: 1e6}, record.None, Valid, true},
	} {
		w := clean()
		for i := range w.records {
			w.records[i].Cached = c.cached
		}
		w.evidence = func(e *Evidence) { e.Reuse, e.Shared = c.reuse, true }
		f, spoke := w.judge(nil)["cache_hits"]
		if spoke == c.absent || spoke && f.Verdict != c.want {
			t.Errorf("%s: %v %+v, want %s", c.name, spoke, f, c.want)
		}
	}
}

// Where the server counts, its count is the evidence: texts that the client's own
// tokenizer counts otherwise are no finding, and a client that counts what was asked
// does not hide a server that did not.
func TestTheServersCountIsTheEvidence(t *testing.T) {
	t.Parallel()
	w := clean()
	w.evidence = func(e *Evidence) { e.TokenSource = "counts by another model's tokenizer" }
	for i := range w.records {
		w.records[i].OSL = 18 // 16 were asked for, and usage says 16
	}
	for _, check := range []string{"osl_honoured", "tokens"} {
		if f := w.judge(nil)[check]; f.Verdict != Valid || f.Value != 0 {
			t.Errorf("%s: %+v", check, f)
		}
	}
	for i := range w.records {
		w.records[i].OSL, w.records[i].UsageCompletion = 16, 18
	}
	if f := w.judge(nil)["osl_honoured"]; f.Verdict != Degraded || f.Value != 1 {
		t.Errorf("usage of other lengths: %+v", f)
	}
}

// A chat template is cached for new prompts as well: it is no finding. Where
// prompts repeat, the finding says what that did.
func TestCacheIsToldByItsEffect(t *testing.T) {
	t.Parallel()
	w := clean() // 70 tokens by the server's count, 64 of them the prompt's
	for i := range w.records {
		w.records[i].Cached = 6
	}
	if f := w.judge(nil)["prefix_cache"]; f.Verdict != Valid || f.Value != 0 {
		t.Errorf("the template of all prompts: %+v", f)
	}
	for i := range w.records {
		if r := &w.records[i]; i%2 == 1 {
			r.Cached, r.FirstToken = 69, r.Sent+13e6
		} else {
			r.Cached, r.FirstToken = 6, r.Sent+35e6
		}
	}
	want := "49.2 % of the prompt tokens came from the server's prefix cache: TTFT p50 is 13.0 ms for prompts that were cached by half and more, and 35.0 ms for the others"
	if f := w.judge(nil)["prefix_cache"]; f.Verdict != Degraded || f.Detail != want {
		t.Errorf("every second prompt from the cache:\n%s, want\n%s", f.Detail, want)
	}
}

// The prompt of the turn before and its answer are in the cache of any server that has
// one: they are no finding, and what a server took beyond them is.
func TestHistoryExplainsCacheHits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		talks  bool
		system int64
		cached func(turn, prompt, before int64) int64 // before: the turn before and its answer
		want   Verdict
		value  float64
	}{
		{"honest", true, 0, func(turn, _, before int64) int64 { return before }, Valid, 0},
		{"whole blocks", true, 0, func(turn, _, before int64) int64 { return before / 16 * 16 }, Valid, 0},
		{"everything", true, 0, func(_, prompt, _ int64) int64 { return prompt }, Degraded, (64. + 156 - 86) / (64 + 150)},
		{"everything from the second turn on", true, 0, func(turn, prompt, _ int64) int64 { return turn * prompt }, Degraded, (156. - 86) / (64 + 150)},
		{"half", true, 0, func(_, prompt, _ int64) int64 { return prompt / 2 }, Degraded, 29. / (64 + 150)},
		{"single turns, which have no history", false, 0, func(turn, _, before int64) int64 { return before }, Degraded, 80. / (64 + 150)},
		{"a system prompt", true, 20, func(turn, _, before int64) int64 { return max(6+20, before) }, Valid, 0},
		{"more than a system prompt", true, 20, func(turn, _, before int64) int64 { return max(6+60, before) }, Degraded, 40. / (64 + 150)},
	} {
		w := clean()
		// of two turns: prompts of 70 and 156 tokens, 6 of them the template's, and answers of 16
		for i := range w.records {
			r := &w.records[i]
			r.SessionID, r.RootSession, r.Turn = fmt.Sprint(i/2), fmt.Sprint(i/2), int64(i%2)
			before := int64(0)
			if r.Turn == 1 {
				r.ISL, r.UsagePrompt, before = 150, 156, 70+16
			}
			r.Cached = min(c.cached(r.Turn, r.UsagePrompt, before), r.UsagePrompt)
		}
		w.before = func(e *Evidence) { e.Talks, e.System = c.talks, c.system }
		f := w.judge(nil)["prefix_cache"]
		if f.Verdict != c.want || math.Abs(f.Value-c.value) > 1e-9 {
			t.Errorf("%s: %s %v %s, want %s %v", c.name, f.Verdict, f.Value, f.Detail, c.want, c.value)
		}
	}
}

// A turn whose turn before is not known is not judged: it may have any history.
func TestUnknownHistoryIsNotJudged(t *testing.T) {
	t.Parallel()
	w := clean()
	for i := range w.records {
		r := &w.records[i]
		r.SessionID, r.Turn = fmt.Sprint(i), int64(i%2)
		r.Cached = r.Turn * 64
	}
	w.before = func(e *Evidence) { e.Talks = true }
	if f := w.judge(nil)["prefix_cache"]; f.Verdict != Valid || f.Value != 0 {
		t.Errorf("%+v", f)
	}
}

// A server that counts tokens and says nothing of its cache has cached nothing.
func TestServersThatDoNotTellOfTheirCache(t *testing.T) {
	t.Parallel()
	w := clean() // 70 tokens by the server's count, 64 of them the prompt's
	for i := range w.records {
		w.records[i].Cached = record.None
	}
	if f := w.judge(nil)["prefix_cache"]; f.Verdict != Valid || f.Value != 0 {
		t.Errorf("no word of a cache: %+v", f)
	}
}

// What a check says of a clean run is no reproach; the consequence is added
// where there is one.
func TestWordsOfCleanChecks(t *testing.T) {
	t.Parallel()
	w := clean()
	for check, want := range map[string]string{
		"concurrency_held": "99.0 % of the requested concurrency was in flight on average",
		"client_cpu":       "the client used 10.0 % of 2 cores in its busiest second",
		"coalesced":        "0 % of the chunks arrived together with another: times between single chunks are uncertain, the ITL of a request is right",
		"errors":           "0 of 200 requests failed",
		"sink":             "0 records lost",
	} {
		if f := w.judge(nil)[check]; f.Detail != want || f.Try != "" {
			t.Errorf("%s: %q, try %q; want %q", check, f.Detail, f.Try, want)
		}
	}
	w.records[3].Status = record.HTTPError
	w.records[3].ErrorMessage = "busy"
	w.result.Phases[0].OK, w.result.Phases[0].Failed = 199, 1
	if f := w.judge(nil)["errors"]; f.Detail != "1 of 200 requests failed: http_error: busy" || f.Try == "" {
		t.Errorf("one failure: %q, try %q", f.Detail, f.Try)
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
		{"one request", func(w *world) { w.keep(1) }, []string{"turnaround", "concurrency_held", "settling", "client_cpu"}, Valid},
		{"two requests", func(w *world) { w.keep(2) }, []string{"turnaround", "concurrency_held", "settling"}, Valid},
		{"ten, one follow-up late by 9 ms", func(w *world) {
			w.keep(10)
			r := &w.records[7]
			r.Intended, r.Admitted = r.Intended-9e6, r.Admitted-9e6
		}, []string{"turnaround", "settling"}, Valid}, // one of ten moves no percentile that is supported
		{"0.1 s, one nap 9 ms late, starting took all cores", func(w *world) {
			w.keep(2)
			w.host.CPUWorst = 1
			w.host.Hiccup = telemetry.Hiccup{P999: 9, Longest: 9, Lost: 0.08, N: 90}
			w.host.SchedP99 = math.NaN()
		}, []string{"client_cpu", "turnaround"}, Valid}, // a cause without harm
		{"0.1 s, stopped for 150 ms", func(w *world) {
			w.keep(2)
			w.host.Hiccup = telemetry.Hiccup{P999: 150, Longest: 150, Lost: 0.9, N: 10}
		}, nil, Valid},
		{"one wave of 200 that grows", func(w *world) {
			w.result.Phases[0].Target = 200
			for i := range w.records {
				r := &w.records[i]
				shift(r, int64(i)*1000-r.Intended)
				r.End, r.LastToken = r.End+int64(i)*1e6, r.LastToken+int64(i)*1e6
			}
			w.result.Phases[0].Gauge = loadgen.Gauge{
				HeldShare: math.NaN(), HeldRatio: math.NaN(),
				SteadyStart: record.None, SteadyEnd: record.None,
			}
		}, []string{"settling", "concurrency_held"}, Valid},
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
			t.Errorf("%s is %s, want %s", c.name, v, c.want)
		}
	}
}

func TestPlanChecks(t *testing.T) {
	t.Parallel()
	est := func(mean, half float64, n int) map[string]stats.Estimate {
		return map[string]stats.Estimate{"request_throughput.avg": {
			Mean: mean, Low: mean - half, High: mean + half,
			N: n,
		}}
	}
	const noted = Verdict(-1)
	cases := []struct {
		name  string
		e     PlanEvidence
		check string
		want  Verdict
		there bool
	}{
		{"one run claims no interval", PlanEvidence{Trials: 1, Cells: []CellEvidence{{OK: 1}}}, "runs", Valid, false},
		{"nothing was measured", PlanEvidence{Trials: 1}, "runs", noted, true},
		{"two trials", PlanEvidence{Trials: 2, Cells: []CellEvidence{{OK: 2}}}, "runs", noted, true},
		{"three trials", PlanEvidence{Trials: 3, Cells: []CellEvidence{{OK: 3}}}, "runs", Valid, true},
		{"one cell lost its trials", PlanEvidence{Trials: 3, Cells: []CellEvidence{{OK: 3}, {OK: 0}}}, "runs", noted, true},
		{"narrow", PlanEvidence{Trials: 5, Cells: []CellEvidence{{OK: 5, Estimates: est(100, 2, 5)}}}, "interval", Valid, true},
		{"wide", PlanEvidence{Trials: 5, Cells: []CellEvidence{{OK: 5, Estimates: est(100, 2, 5)}, {OK: 5, Estimates: est(100, 10, 5)}}}, "interval", noted, true},
		{"useless", PlanEvidence{Trials: 5, Cells: []CellEvidence{{OK: 5, Estimates: est(100, 40, 5)}}}, "interval", noted, true},
		{"steady machine", PlanEvidence{Trials: 3, Cells: []CellEvidence{{OK: 3, Medians: []float64{100, 101, 100.5}}}}, "drift", Valid, true},
		{"wild machine, no direction", PlanEvidence{Trials: 3, Cells: []CellEvidence{{OK: 3, Medians: []float64{100, 70, 130}}}}, "drift", Valid, true},
		{"drifting machine", PlanEvidence{Trials: 3, Cells: []CellEvidence{{OK: 3, Medians: []float64{100, 97, 95}}}}, "drift", Valid, true},
		{"two cells agree on a tenth", PlanEvidence{Trials: 4, Cells: []CellEvidence{
			{OK: 4, Medians: []float64{10, 10.4, 10.9, 11.1}}, {OK: 4, Medians: []float64{200, 207, 219, 221}},
		}}, "drift", Valid, true}, // they share their trials: these are four numbers
		{"two cells agree on a tenth, over six trials", PlanEvidence{Trials: 6, Cells: []CellEvidence{
			{OK: 6, Medians: []float64{10, 10.2, 10.5, 10.6, 10.9, 11.1}}, {OK: 6, Medians: []float64{200, 205, 207, 212, 219, 221}},
		}}, "drift", Degraded, true},
		{"a fifth, but three values say little", PlanEvidence{Trials: 3, Cells: []CellEvidence{{OK: 3, Medians: []float64{100, 90, 80}}}}, "drift", Valid, true},
		{"two trials", PlanEvidence{Trials: 2, Cells: []CellEvidence{{OK: 2, Medians: []float64{100, 50}}}}, "drift", Valid, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			there := false
			for _, f := range JudgePlan(&c.e, nil) {
				if f.Check == c.check {
					there = true
					got := f.Verdict
					if f.Noted {
						got = noted
					}
					if got != c.want {
						t.Errorf("%s = %v: %+v, want %d", c.check, f.Value, f, c.want)
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
func faces(server string, models ...string) []ServerIdentity {
	return []ServerIdentity{{Server: server, Models: models}}
}

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
	for _, t := range []*int64{
		&r.Intended, &r.Admitted, &r.Sent, &r.WriteEnd, &r.FirstByte,
		&r.FirstToken, &r.FirstOutput, &r.LastToken, &r.End,
	} {
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
	want := "20 of 200 requests failed: http_error: " + strings.Repeat("ü", 119-len("http_error: ")) + "…"
	if f := w.judge(nil)["errors"]; f.Detail != want {
		t.Errorf("%q, want %q", f.Detail, want)
	}
}

// TestAdmissionWaitTaints: a cap changes what the server had to do, so it touches
// every share of the requests and every latency from sending.
func TestAdmissionWaitTaints(t *testing.T) {
	t.Parallel()
	w := clean()
	open(w)
	for i := range w.records {
		if i%4 == 0 {
			w.records[i].Intended -= 5e6
		}
	}
	f := w.judge(nil)["admission_wait"]
	for _, tag := range []string{
		metrics.GoodRequestFraction, metrics.Goodput, metrics.ErrorRate, "request_error_rate",
		metrics.TimeToFirstToken, metrics.TimeToFirstOutputToken, metrics.RequestLatency, metrics.RequestThroughput,
	} {
		if f.Taints[tag] == "" {
			t.Errorf("admission_wait taints %v, not %s", f.Taints, tag)
		}
	}
	for _, tag := range []string{
		metrics.RequestLatencyFromIntended, metrics.TimeToFirstTokenFromIntended,
		metrics.AdmissionWait,
	} {
		if f.Taints[tag] != "" {
			t.Errorf("admission_wait taints %s, which counts the wait", tag)
		}
	}
}
