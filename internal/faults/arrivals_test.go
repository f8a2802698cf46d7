//go:build unix

package faults

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/dataset/datasettest"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/schema"
)

// arrival is one request as the client and the server saw it, in ns from the
// start of the phase.
type arrival struct {
	rec      *record.Record
	log      mockserver.Entry
	intended int64
	at       int64 // read by the server
	first    int64 // the server's answer began
}

// late is how much later than intended the server had it.
func (a arrival) late() int64 { return a.at - a.intended }

// against drives phases against the built-in server in a process of its own
// and returns the requests in order of arrival.
func against(t *testing.T, mock string, set *dataset.Set, phases ...schema.Phase) (*job, []arrival) {
	t.Helper()
	return drive(t, mock, func(j *job) {
		j.Phases = phases
		if set != nil {
			j.Set = set
		}
	})
}

// drive is against for a job that change makes.
func drive(t *testing.T, mock string, change func(*job)) (*job, []arrival) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log.jsonl")
	server, err := mockserver.Spawn(context.Background(), os.Args[0], mock, path)
	if err != nil {
		t.Fatal(err)
	}
	j := newJob(t, server.URL)
	change(j)
	for i := range j.Phases {
		p := &j.Phases[i]
		p.Kind = cmp.Or(p.Kind, "profiling")
		p.Name = cmp.Or(p.Name, p.Kind)
	}
	j.run(t)
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	return j, j.arrivals(t, path)
}

// arrivals joins the records with the server's log: each request is in both, once.
func (j *job) arrivals(t *testing.T, path string) (all []arrival) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sent := map[string]*record.Record{}
	for _, r := range j.records {
		sent[r.XRequestID] = r
	}
	start := j.result.Phases[0].Start
	zero := j.Clock.Began().UnixNano() + start
	for d := json.NewDecoder(bytes.NewReader(b)); d.More(); {
		var e mockserver.Entry
		if err := d.Decode(&e); err != nil {
			t.Fatal(err)
		}
		r := sent[e.RequestID]
		if r == nil {
			t.Fatalf("the server got %q, which was never sent or came twice", e.RequestID)
		}
		delete(sent, e.RequestID)
		all = append(all, arrival{
			r, e, r.Intended - start, e.Recv + e.WallOffset - zero,
			e.First + e.WallOffset - zero,
		})
	}
	if len(sent) > 0 {
		t.Fatalf("%d requests are not in the server's log", len(sent))
	}
	slices.SortFunc(all, func(a, b arrival) int { return int(a.at - b.at) })
	return all
}

// adrift is how far the wall clocks of two processes may drift apart in a test.
const adrift = int64(time.Millisecond)

// What the server sees arriving is the schedule: each arrival once, none early, and what
// is late is told. How late is the machine's affair.
func TestArrivalsFollowTheSchedule(t *testing.T) {
	t.Parallel()
	const n = 60
	var stamps []any
	for i := range n {
		stamps = append(stamps, map[string]any{"text": "a", "timestamp": 1000 + i*i/12}) // ever further apart
	}
	var talks []any
	for i := range 12 {
		turns := []any{}
		for k := range 4 {
			turns = append(turns, map[string]any{"text": fmt.Sprint(i, k)})
		}
		talks = append(talks, map[string]any{"session_id": fmt.Sprint(i), "turns": turns})
	}
	type timed struct {
		name, mock string
		set        *dataset.Set
		phase      schema.Phase
	}
	auto := true
	const quick, held = "mock:?ttft=0s&osl=1", "mock:?ttft=250ms&osl=1"
	all := []timed{
		{"constant", quick, nil, schema.Phase{Type: "constant", Rate: 200, Requests: n}},
		{"constant 1,000/s", quick, nil, schema.Phase{Type: "constant", Rate: 1000, Duration: schema.Seconds(0.5)}},
		{"constant for a while", quick, nil, schema.Phase{Type: "constant", Rate: 200, Duration: schema.Seconds(0.3)}},
		{"fixed schedule", quick, inline(t, "single_turn", stamps), schema.Phase{Type: "fixed_schedule", AutoOffset: &auto}},
		{"users", quick, inline(t, "multi_turn", talks), schema.Phase{Type: "user_centric", Users: 24, Rate: 200, Requests: n}},
		{"series", quick, nil, schema.Phase{Type: "poisson", RateSeries: rising, Duration: schema.Seconds(0.4)}},
	}
	for _, shape := range []string{"linear", "exponential", "poisson"} {
		ramp := &schema.Ramp{Duration: 0.2, Strategy: shape}
		all = append(
			all,
			timed{"rate ramp, " + shape, quick, nil, schema.Phase{
				Type: "constant", Rate: 300, RateRamp: ramp,
				Requests: 60,
			}},
			timed{"concurrency ramp, " + shape, held, nil, schema.Phase{
				Type:        "concurrency",
				Concurrency: 30, ConcurrencyRamp: ramp, Requests: 30,
			}},
			timed{"prefill ramp, " + shape, held, nil, schema.Phase{
				Type:               "concurrency",
				PrefillConcurrency: 30, PrefillRamp: ramp, Requests: 30,
			}},
		)
	}
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			j, all := against(t, c.mock, c.set, c.phase)
			asPlanned(t, j, all)
		})
	}
}

// rising is a rate over time: 100/s, up to 400/s, and down to 200/s.
var rising = []schema.RatePoint{{TimeS: 0, QPS: 100}, {TimeS: 0.3, QPS: 400}, {TimeS: 0.5, QPS: 200}}

// asPlanned compares arrivals with the schedule as it is printed without sending.
func asPlanned(t *testing.T, j *job, all []arrival) {
	t.Helper()
	want, err := mode.Schedule(&j.Phases[0], j.Seed, len(all)+1, j.Set)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != len(want) {
		t.Fatalf("%d arrivals, the schedule has %d", len(all), len(want))
	}
	intended := make([]int64, len(all))
	for i, a := range all {
		intended[i] = a.intended
		if a.late() < -adrift {
			t.Errorf("request %d arrived %v early", a.rec.RequestID, time.Duration(-a.late()))
		}
		if told := a.rec.AdmissionWait() + a.rec.DispatchLateness() +
			a.rec.ConnectTime(); math.Abs(told-float64(a.rec.Sent-a.rec.Intended)/1e6) > 1e-9 {
			t.Errorf("request %d was sent %v after it was due and tells %v ms", a.rec.RequestID,
				time.Duration(a.rec.Sent-a.rec.Intended), told)
		}
	}
	slices.Sort(intended)
	for i, at := range want {
		// A user whose answer came late sends late, and says so.
		if intended[i] != int64(at) && (j.Phases[0].Type != "user_centric" || intended[i] < int64(at)) {
			t.Fatalf("arrival %d was intended at %v, the schedule says %v", i, time.Duration(intended[i]), at)
		}
	}
}

func inline(t *testing.T, format string, records []any) *dataset.Set {
	t.Helper()
	j := newJob(t, "")
	set, err := dataset.Open(schema.Dataset{
		Name: "main", Type: "file", Format: format,
		Records: datasettest.Records(t, records...),
	}, j.Tokenizer, 1, "main")
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// The gaps between what was sent follow the law that was asked for, in time counted in
// expected arrivals where the rate varies: at a significance of 0.001 a fixed seed passes
// always. Gaps are of the intended times: the server's have what the machine adds.
func TestArrivalsAreRandomAsAsked(t *testing.T) {
	t.Parallel()
	const rate, n = 200, 120
	steady := func(s float64) float64 { return rate * s }
	exponential := func(x float64) float64 { return 1 - math.Exp(-x) }
	for _, c := range []struct {
		name     string
		phase    schema.Phase
		expected func(s float64) float64 // arrivals up to then
		cdf      func(x float64) float64 // of a gap in expected arrivals
	}{
		{"poisson", schema.Phase{Type: "poisson", Rate: rate, Requests: n}, steady, exponential},
		{"gamma", schema.Phase{Type: "gamma", Smoothness: 4, Rate: rate, Requests: n}, steady, func(x float64) float64 { return erlang(4, 4*x) }},
		{"series", schema.Phase{Type: "poisson", RateSeries: rising, Requests: n}, risen, exponential},
		{"poisson, ramped", schema.Phase{Type: "poisson", Rate: rate, RateRamp: &schema.Ramp{Duration: 0.5, Strategy: "linear"}, Requests: n}, ramped, exponential},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, all := against(t, "mock:?ttft=0s&osl=1", nil, c.phase)
			slices.SortFunc(all, func(a, b arrival) int { return cmp.Compare(a.intended, b.intended) })
			gaps := make([]float64, len(all))
			last := 0.0
			for i, a := range all {
				now := c.expected(float64(a.intended) / 1e9)
				gaps[i], last = now-last, now
			}
			slices.Sort(gaps)
			if ks := stats.KS1(gaps, c.cdf); len(all) != n || ks.P < 0.001 {
				t.Errorf("%d arrivals, D = %.3f, p = %.5f", len(all), ks.D, ks.P)
			}
		})
	}
}

// risen is the integral of rising: it climbs by 1,000/s each second, then falls
// by as much, then is flat.
func risen(s float64) float64 {
	switch {
	case s < 0.3:
		return 100*s + 500*s*s
	case s < 0.5:
		u := s - 0.3
		return 75 + 400*u - 500*u*u
	}
	return 135 + 200*(s-0.5)
}

// ramped is the integral of a rate that begins with 200·0.1/0.5 and steps up
// every 0.1 s to reach 200/s at 0.5 s.
func ramped(s float64) (sum float64) {
	const from, to, step, over = 40.0, 200.0, 0.1, 0.5
	for k := range 5 {
		rate := from + (to-from)*float64(k)*step/over
		sum += rate * min(max(s-float64(k)*step, 0), step)
	}
	return sum + to*max(s-over, 0)
}

// erlang is the distribution function of the sum of k exponential times of mean 1:
//
//	1 − e^−x Σ_{i<k} x^i/i!
func erlang(k int, x float64) float64 {
	sum, term := 0.0, 1.0
	for i := range k {
		if i > 0 {
			term *= x / float64(i)
		}
		sum += term
	}
	return 1 - math.Exp(-x)*sum
}

// What a cap makes wait is told as waiting: with answers that take at least
// 40 ms and one slot, arrival i of a rate of 100/s waits for at least 30·i ms.
func TestWaitingForASlotIsTold(t *testing.T) {
	t.Parallel()
	const gap, takes = 10 * time.Millisecond, 40 * time.Millisecond
	_, all := against(t, "mock:?ttft=40ms&osl=1", nil, schema.Phase{
		Type: "constant", Rate: 100, Concurrency: 1,
		Requests: 12,
	})
	for i, a := range all {
		least := float64(time.Duration(i)*(takes-gap)) / 1e6
		if w := a.rec.AdmissionWait(); w < least {
			t.Errorf("request %d waited %v ms for its slot, want at least %v", i, w, least)
		}
		if from := a.rec.LatencyFromIntended(); from < least+float64(takes)/1e6 {
			t.Errorf("request %d took %v ms from its intended time, want at least %v", i, from,
				least+float64(takes)/1e6)
		}
	}
}

// While a server pauses, arrivals wait: what is told from the intended time is
// what the server's log makes of it, for every request.
func TestPauseShowsFromIntended(t *testing.T) {
	t.Parallel()
	const rate, n = 200, 300
	_, all := against(t, "mock:?ttft=0s&osl=1&pause=400ms@500ms", nil,
		schema.Phase{Type: "constant", Rate: rate, Concurrency: 8, Requests: n})
	var told, log []float64
	for _, a := range all {
		told = append(told, a.rec.LatencyFromIntended())
		log = append(log, float64(a.first-a.intended)/1e6)
		if told[len(told)-1] < log[len(log)-1]-float64(adrift)/1e6 {
			t.Errorf("request %d: %v ms from its intended time, the server answered after %v",
				a.rec.RequestID, told[len(told)-1], log[len(log)-1])
		}
	}
	slices.Sort(told)
	slices.Sort(log)
	// 80 of the 300 arrivals fall into the pause, 8 of them are sent.
	if p90 := stats.Quantile(told, 0.9); p90 < stats.Quantile(log, 0.9)-1 || p90 < 150 {
		t.Errorf("p90 from intended %v ms, by the server's log %v", p90, stats.Quantile(log, 0.9))
	}
}
