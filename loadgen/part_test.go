package loadgen

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/dataset/datasettest"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

// scheduled is what a schedule says of a request, whoever sends it.
type scheduled struct {
	Phase    string
	Intended int64 // since the phase began
	Session  string
	Turn     int64
	Body     string
	Target   int
	Cancels  int64
	Number   int64
}

// together is what n workers send, in the order of the schedule.
func together(t *testing.T, n int64, job func() Job, set func(w *world)) (all []scheduled) {
	t.Helper()
	numbers := map[int64]bool{}
	for k := range n {
		w := &world{latency: fixedLatency(100 * time.Nanosecond)}
		if set != nil {
			set(w)
		}
		j := job()
		if n > 1 {
			j.Share = record.Share{K: k, Of: n}
			j.Starts = func(phase int, free int64) (int64, int64) {
				first := int64(0)
				for _, p := range j.Phases[:phase] {
					first += p.Requests
				}
				if free > first {
					t.Errorf("worker %d of %d has used numbers up to %d before phase %d", k, n, free, phase)
				}
				return record.None, first
			}
		}
		var bodies sync.Map
		latency := w.latency
		w.latency = func(x *transport.Exchange) time.Duration {
			r := x.User.(*request)
			bodies.Store(r.id, scheduled{
				Session: r.play.ID, Turn: int64(r.turn), Body: string(x.Body) + string(x.Header), Target: x.Target,
				Cancels: x.CancelAfter,
			})
			return latency(x)
		}
		out := w.play(t, j)
		starts := map[string]int64{}
		for _, p := range out.result.Phases {
			starts[p.Name] = p.Start
		}
		for _, r := range out.records {
			v, ok := bodies.Load(r.RequestID)
			if !ok {
				t.Fatalf("request %d was never sent", r.RequestID)
			}
			s := v.(scheduled)
			s.Phase, s.Intended = r.Phase, r.Intended-starts[r.Phase]
			all = append(all, s)
			if numbers[r.RequestID] {
				t.Fatalf("two workers of %d numbered a request %d", n, r.RequestID)
			}
			numbers[r.RequestID] = true
			if p := j.Phases[len(j.Phases)-1]; p.Type != "user_centric" && p.Type != "fixed_schedule" {
				s.Number = r.RequestID // there it follows from the number of the arrival
			}
		}
	}
	slices.SortFunc(all, func(a, b scheduled) int {
		return cmp.Or(cmp.Compare(b.Phase, a.Phase), cmp.Compare(a.Intended, b.Intended),
			strings.Compare(a.Session, b.Session), cmp.Compare(a.Turn, b.Turn))
	})
	return all
}

// What n workers send together is what one would send: the same requests to the same
// servers at the same times, in every mode in which a clock says when.
func TestWorkersSendOneSchedule(t *testing.T) {
	t.Parallel()
	for _, m := range ways() {
		if m.held {
			continue // closed loops follow the answers; see below
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			one := func() Job {
				p := m.phase
				if p.Type != "user_centric" { // who is cancelled sends no more, so that others come within the count
					p.Cancellation = &schema.Cancellation{Rate: 10, Delay: 1e-8}
				}
				warm := schema.Phase{Name: "warmup", Kind: "warmup", Type: "constant", Rate: 1000, Requests: 29}
				j := job(t, warm, p)
				j.Endpoint.URLs, j.WarmupSet = []string{"http://a", "http://b"}, datasettest.Conversations(t, 1, 1)
				j.Models = schema.Models{Strategy: "random", Items: []schema.Model{{Name: "m1"}, {Name: "m2"}}}
				if j.Endpoint.URLStrategy = "session"; m.set != nil {
					j.Set = m.set(t)
				}
				return j
			}
			want := together(t, 1, one, nil)
			if len(want) < 32 {
				t.Fatalf("only %d requests", len(want))
			}
			for _, n := range []int64{2, 3, 4, 7} {
				got := together(t, n, one, nil)
				if m.name == "poisson, conversations" { // whose turn an arrival is depends on the answers
					for _, l := range [][]scheduled{got, want} {
						for i := range l {
							l[i] = scheduled{Phase: l[i].Phase, Intended: l[i].Intended}
						}
					}
				}
				if diff := gocmp.Diff(want, got); diff != "" {
					t.Fatalf("%d workers (-one +all):\n%.1500s", n, diff)
				}
			}
		})
	}
}

// At a rate an arrival carries the next turn that is ready, or begins a conversation. Which of them it
// is follows from the answers, and two runs of one process differ in it. When something is sent is the
// schedule's alone, however many workers there are.
func TestArrivalsStayWhereLaterTurnsFollowAnswers(t *testing.T) {
	t.Parallel()
	drawn := func(root int64) func(w *world) {
		return func(w *world) {
			w.latency = func(x *transport.Exchange) time.Duration {
				r := x.User.(*request)
				return time.Duration(20e6 * seed.Stream(root, fmt.Sprint(r.play.ID, r.turn)).ExpFloat64())
			}
		}
	}
	offsets := func(all []scheduled) (out []int64) {
		for _, s := range all {
			out = append(out, s.Intended)
		}
		return out
	}
	for _, bound := range []schema.Phase{{Requests: 200}, {Duration: schema.Seconds(0.5)}} {
		one := func() Job {
			p := bound
			p.Type, p.Rate = "poisson", 300
			j := job(t, p)
			j.Set = talks(t)
			return j
		}
		want, again := together(t, 1, one, drawn(1)), together(t, 1, one, drawn(2))
		if len(want) < 100 || gocmp.Equal(want, again) {
			t.Errorf("%d requests; their turns do not depend on the answers", len(want))
		}
		for n, got := range map[int64][]scheduled{
			1: again, 2: together(t, 2, one, drawn(1)), 3: together(t, 3, one, drawn(1)),
			4: together(t, 4, one, drawn(1)), 7: together(t, 7, one, drawn(1)),
		} {
			if diff := gocmp.Diff(offsets(want), offsets(got)); diff != "" {
				t.Errorf("%d workers (-one +all):\n%.800s", n, diff)
			}
		}
	}
}

// Round robin over the servers goes on over all workers.
func TestWorkersTakeServersInTurn(t *testing.T) {
	t.Parallel()
	one := func() Job {
		j := job(t, schema.Phase{Type: "poisson", Rate: 100, Requests: 84})
		j.Endpoint.URLs = []string{"http://a", "http://b", "http://c"}
		return j
	}
	want := together(t, 1, one, nil)
	for _, n := range []int64{2, 4, 7} {
		if diff := gocmp.Diff(want, together(t, n, one, nil)); diff != "" {
			t.Errorf("%d workers (-one +all):\n%.800s", n, diff)
		}
	}
}

// A closed loop of n workers sends the requests that one would send, and holds as many
// together, each worker its own part.
func TestWorkersShareAClosedLoop(t *testing.T) {
	t.Parallel()
	const requests, slots = 400, 28
	for _, c := range []struct {
		name  string
		phase schema.Phase
		set   func(*testing.T) *dataset.Set
	}{
		{"requests", schema.Phase{Type: "concurrency", Concurrency: slots, Requests: requests}, nil},
		{"sessions", schema.Phase{Type: "concurrency", Concurrency: slots, Sessions: 100}, talks},
		{"ramp", schema.Phase{
			Type: "concurrency", Concurrency: slots, Requests: requests,
			ConcurrencyRamp: &schema.Ramp{Duration: 0.01, Strategy: "poisson"},
		}, nil},
		{"limits", schema.Phase{
			Type: "concurrency", Concurrency: slots, InFlight: 16, PrefillConcurrency: 8, Requests: requests,
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			one := func() Job {
				j := job(t, c.phase)
				if c.set != nil {
					j.Set = c.set(t)
				}
				return j
			}
			keys := func(l []scheduled) (out []string) {
				for _, s := range l {
					out = append(out, fmt.Sprint(s.Session, s.Turn, s.Body))
				}
				slices.Sort(out)
				return out
			}
			ms := func(w *world) { w.latency = fixedLatency(time.Millisecond) }
			want := keys(together(t, 1, one, ms))
			for _, n := range []int64{2, 3, 4, 7} {
				var peak int
				var worlds []*world
				got := keys(together(t, n, one, func(w *world) { ms(w); worlds = append(worlds, w) }))
				if diff := gocmp.Diff(want, got); diff != "" {
					t.Fatalf("%d workers (-one +all):\n%.800s", n, diff)
				}
				for _, w := range worlds {
					peak += w.peak
				}
				if most := cmp.Or(c.phase.PrefillConcurrency, slots); peak != most {
					t.Errorf("%d workers held %d requests together, want %d", n, peak, most)
				}
			}
		})
	}
}

// Workers that get their sessions in blocks send every request once, whoever is fast,
// and the last session is cut where one worker would cut it.
func TestWorkersTakeBlocks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		phase schema.Phase
		set   func(*testing.T) *dataset.Set
		want  int
	}{
		{"requests", schema.Phase{Type: "concurrency", Concurrency: 8, Requests: 501}, nil, 501},
		{"turns", schema.Phase{Type: "concurrency", Concurrency: 8, Requests: 103}, talks, 103},
		{"sessions", schema.Phase{Type: "concurrency", Concurrency: 8, Sessions: 50}, talks, 200},
		{"both", schema.Phase{Type: "concurrency", Concurrency: 8, Sessions: 50, Requests: 103}, talks, 103},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			const n = 3
			var mu sync.Mutex
			var deal func() (mode.Block, bool)
			sent := map[string]int{}
			by := [n]int{}
			var wait sync.WaitGroup
			jobs := make([]Job, n)
			for k := range n {
				j := job(t, c.phase)
				if c.set != nil {
					j.Set = c.set(t)
				}
				j.Share = record.Share{K: int64(k), Of: n}
				if deal == nil {
					var err error
					size := func(int64) int64 { return 10 }
					if deal, err = mode.Blocks(&j.Phases[0], j.Seed, j.Set, size); err != nil {
						t.Fatal(err)
					}
				}
				j.Blocks = func(*schema.Phase) func() (mode.Block, bool) {
					return func() (mode.Block, bool) { mu.Lock(); defer mu.Unlock(); return deal() }
				}
				jobs[k] = j
			}
			for k := range n {
				wait.Go(func() {
					w := &world{latency: fixedLatency(time.Millisecond)}
					out := w.play(t, jobs[k])
					mu.Lock()
					defer mu.Unlock()
					for _, s := range w.sent {
						sent[fmt.Sprint(s.session, "/", s.turn)]++
						by[k]++
					}
					if got := out.result.Phases[0].Stop; got != stopRequests && got != stopSessions {
						t.Errorf("worker %d stopped for %q", k, got)
					}
				})
			}
			wait.Wait()
			for key, times := range sent {
				if times != 1 {
					t.Errorf("%s was sent %d times", key, times)
				}
			}
			if len(sent) != c.want {
				t.Errorf("%d requests were sent, want %d (%v)", len(sent), c.want, by)
			}
		})
	}
}

// A worker renders no more ahead than it is about to send: what it holds no other one sends. A load
// that is not dealt out has room for more.
func TestWorkersLeaveSessionsToOthers(t *testing.T) {
	t.Parallel()
	j := job(t, schema.Phase{Type: "concurrency", Concurrency: 8, Requests: 1000})
	load, err := mode.Open(&j.Phases[0], j.Seed, j.Set)
	if err != nil {
		t.Fatal(err)
	}
	own := j.Phases[0]
	own.Concurrency = 2 // of eight, as one of four workers
	for _, c := range []struct {
		shared        bool
		ahead, refill int
	}{{true, 4, 2}, {false, 64, 64}} {
		p := &phase{cfg: &own, load: load, shared: c.shared}
		if a, r := ahead(p), refill(p); a != c.ahead || r != c.refill {
			t.Errorf("shared %t: %d are rendered ahead, %d at a time; want %d and %d", c.shared, a, r, c.ahead, c.refill)
		}
	}
}

// Workers begin a phase at the time that they are told, in open and closed loops.
func TestWorkersBeginTogether(t *testing.T) {
	t.Parallel()
	for _, p := range []schema.Phase{
		{Type: "concurrency", Concurrency: 4, Requests: 40},
		{Type: "constant", Rate: 1000, Requests: 40},
		{Type: "poisson", Rate: 1000, Duration: schema.Seconds(0.1)},
	} {
		t.Run(p.Type, func(t *testing.T) {
			t.Parallel()
			warm := p
			warm.Name, warm.Kind = "warmup", "warmup"
			j := job(t, warm, p)
			at := []int64{int64(time.Second), int64(time.Minute)}
			j.Starts = func(phase int, free int64) (int64, int64) {
				if free != []int64{0, 1040}[phase] && p.Requests > 0 {
					t.Errorf("number %d is free before phase %d", free, phase)
				}
				return at[phase], free + 1000
			}
			out := (&world{}).play(t, j)
			for i, r := range out.result.Phases {
				if r.Start != at[i] || r.Issued < 40 {
					t.Errorf("phase %s began at %v and sent %d", r.Name, time.Duration(r.Start), r.Issued)
				}
			}
			for _, r := range out.records {
				begins := at[0]
				if r.Phase == "profiling" {
					begins = at[1]
				}
				if r.RequestID < 1000 || r.Phase == "profiling" && r.RequestID < 2000 {
					t.Errorf("request %d of %s", r.RequestID, r.Phase)
				}
				if r.Intended < begins || r.Sent < begins || r.Sent > begins+int64(time.Second) {
					t.Errorf("request %d of %s was sent at %v", r.RequestID, r.Phase, time.Duration(r.Sent))
				}
			}
		})
	}
}

// What cannot be shared is said before anything is sent.
func TestWorkersThatAreTooMany(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]schema.Phase{
		"concurrency 3 is less than one for each of 4 workers": {Type: "concurrency", Concurrency: 3, Requests: 9},
		"in_flight 2 is less than one for each of 4 workers":   {Type: "poisson", Rate: 9, InFlight: 2, Requests: 9},
	} {
		j := job(t, p)
		j.Share, j.Emit = record.Share{K: 1, Of: 4}, func(*record.Record) {}
		if _, err := newDriver(&j, &world{}, &world{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// The sum of what workers did is what one would have done.
func TestMergedResultsAreThoseOfOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		phase schema.Phase
	}{
		{"closed loop", schema.Phase{Type: "concurrency", Concurrency: 24, Requests: 1200}},
		{"open loop", schema.Phase{Type: "constant", Rate: 5000, Duration: schema.Seconds(0.2)}},
		{"full", schema.Phase{Type: "poisson", Rate: 5000, Duration: schema.Seconds(0.2), Concurrency: 12, OnCap: "skip"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			play := func(n int64) PhaseResult {
				var all []Result
				for k := range n {
					j := job(t, c.phase)
					if j.Share = (record.Share{K: k, Of: n}); n == 1 {
						j.Share = record.Share{}
					}
					all = append(all, (&world{latency: fixedLatency(4 * time.Millisecond)}).play(t, j).result)
				}
				return Merge(all).Phases[0]
			}
			one := play(1)
			if diff := gocmp.Diff(one, Merge([]Result{{Phases: []PhaseResult{one}}}).Phases[0],
				cmpopts.EquateNaNs(), cmpopts.EquateEmpty(), cmpopts.EquateApprox(1e-12, 0)); diff != "" {
				t.Errorf("one worker's result, merged:\n%s", diff)
			}
			for _, n := range []int64{2, 3, 4} {
				all := play(n)
				for what, v := range map[string][2]float64{
					"due": {float64(one.Due), float64(all.Due)}, "stops": {0, float64(strings.Compare(one.Stop, all.Stop))},
					"sent or skipped": {
						float64(one.Issued + one.Skipped[skipOnCap]), float64(all.Issued + all.Skipped[skipOnCap]),
					},
					"answers": {float64(one.Issued - one.OK), float64(all.Issued - all.OK)},
					"target":  {float64(one.Target), float64(all.Target)}, "rate": {one.Rate, all.Rate},
					"end": {float64(one.End), float64(all.End)}, "mean": {one.Gauge.Mean, all.Gauge.Mean},
					"held": {one.Gauge.HeldRatio, all.Gauge.HeldRatio},
				} {
					if c.name == "full" && (what == "mean" || what == "end" || what == "rate") {
						continue // whose arrival finds a slot is another matter for parts of a limit
					}
					if math.Abs(v[0]-v[1]) > 0.01*math.Abs(v[0]) {
						t.Errorf("%d workers: %s is %v, want %v", n, what, v[1], v[0])
					}
				}
				if over := all.Gauge.Max - one.Gauge.Max; over < 0 || over >= int(n) { // peaks that do not meet
					t.Errorf("%d workers held at most %d, want %d", n, all.Gauge.Max, one.Gauge.Max)
				}
			}
		})
	}
}
