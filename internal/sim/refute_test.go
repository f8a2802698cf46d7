package sim

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sweep/decide"
)

var refutations = flag.Int("refute", 24, "random runs whose sentences are held against the truth")

// trial is a run whose server, load and faults are drawn.
type trial struct {
	design
	slo      float64 // of the latency, in ms
	open     bool
	load     float64 // of what server and cap can answer, in an open loop; 0 where they answer any
	steady   bool    // the server neither fails nor changes
	slots    int     // of a closed loop
	pauses   []Pause
	requests int
}

// drawTrial draws a server, its faults, a load and a client that stands still at times.
func drawTrial(rng *rand.Rand) trial {
	one := func(of int) bool { return rng.IntN(of) == 0 }
	ttft, itl, cv := 20+rng.IntN(60), 1+rng.IntN(6), 0.05+rng.Float64()*0.8
	x := trial{requests: int(8 * math.Pow(200, rng.Float64())), steady: true}
	x.trials, x.osl = 1, "{mean: 6}"
	words := fmt.Sprintf("ttft=%dms&itl=%dms&cv=%.2f&role=none", ttft, itl, cv)
	answer := float64(ttft + 5*itl) // ms
	workers := 4 + rng.IntN(12)
	capacity := 0
	if one(2) {
		capacity = workers
		words += fmt.Sprintf("&workers=%d", workers)
	}
	fault := rng.IntN(8)
	x.steady = fault > 3
	switch fault {
	case 0:
		words += fmt.Sprintf("&error_rate=%.3f&error_status=503", rng.Float64()*0.3)
	case 1:
		words += fmt.Sprintf("&cut=%.3f", rng.Float64()*0.2)
	case 2:
		words += fmt.Sprintf("&stream_error=%.3f&empty=%.3f", rng.Float64()*0.1, rng.Float64()*0.1)
	case 3:
		words += fmt.Sprintf("&error_rate=%.3f&error_status=429", rng.Float64()*0.05)
	}
	if one(6) {
		words += fmt.Sprintf("&drift=%.3f", rng.Float64()*0.1)
		x.steady = false
	}
	x.cells = []string{words}
	rate := []float64{0.4, 0.7, 0.9, 1.3, 1.6}[rng.IntN(5)] * float64(workers) * 1000 / answer
	length := float64(x.requests) / rate * 1000 // of the sending, in ms
	x.open = !one(3)
	arrivals := []string{"poisson", "constant"}[rng.IntN(2)]
	switch {
	case !x.open:
		x.slots = workers
		x.phase = fmt.Sprintf("type: concurrency, concurrency: %d", workers)
		length = float64(x.requests) / float64(workers) * answer
	case one(3): // a cap of the client
		most := workers / (1 + rng.IntN(2))
		x.phase = fmt.Sprintf("type: %s, rate: %.1f, concurrency: %d", arrivals, rate, most)
		capacity = most
	default:
		x.phase = fmt.Sprintf("type: %s, rate: %.1f", arrivals, rate)
	}
	if capacity > 0 {
		x.load = rate * answer / 1000 / float64(capacity)
	}
	if x.design.requests = x.requests; one(3) {
		x.design.requests = 0
		x.phase += fmt.Sprintf(", duration: %.3f, grace_period: %s",
			length/1000, []string{"0", "0.05", "30"}[rng.IntN(3)])
	}
	x.slo = math.Round(answer*(800+2000*rng.Float64())) / 1000
	x.body = fmt.Sprintf("\n  slos: {request_latency: %.3f}", x.slo)
	x.more = "gates: [\"error_rate <= 0.02\"]\n"
	if one(3) {
		at := 0.0
		for range 1 + rng.IntN(3) {
			from := at + rng.Float64()*length/2
			at = from + math.Pow(10, 3*rng.Float64()) // 1 ms to 1 s
			x.pauses = append(x.pauses, Pause{int64(from * 1e6), int64(at * 1e6)})
		}
	}
	return x
}

// seen is one request as the server logged it, beside what the schedule wanted.
type seen struct {
	mockserver.Entry
	intended, admitted int64
	status             string
}

// answered reports whether the server gave a whole answer, and the client waited for it.
func (s *seen) answered() bool { return s.Status == 200 && s.Fault == "" && !s.Aborted }

// story is the truth about a run.
type story struct {
	all    []seen
	unsent int
}

// storyOf puts the server's log beside the schedule.
func storyOf(t *testing.T, o *Outcome) (s story) {
	t.Helper()
	rows, err := sinks.ReadTable(o.Dir, "requests", nil)
	if err != nil {
		t.Fatal(err)
	}
	var log []mockserver.Entry
	for _, l := range o.Servers {
		log = append(log, l...)
	}
	slices.SortFunc(log, func(a, b mockserver.Entry) int { return int(a.N - b.N) })
	s.all = make([]seen, len(log))
	began, sent := int64(0), 0 // tables count from the plan's start
	for i := range rows.N {
		id := int(rows.Floats["request_id"][i])
		if id < 0 {
			s.unsent++
			continue
		}
		if sent++; id >= len(log) {
			t.Fatalf("request %d was sent, and the server logged %d", id, len(log))
		}
		at := int64(rows.Floats["sent_ns"][i]) - log[id].Recv
		if began == 0 {
			began = at
		}
		if at != began {
			t.Fatalf("request %d was sent %d ns after the server got it", id, at-began)
		}
		s.all[id] = seen{
			log[id], int64(rows.Floats["intended_ns"][i]) - began,
			int64(rows.Floats["admitted_ns"][i]) - began, rows.Texts["status"][i],
		}
	}
	if sent != len(log) {
		t.Fatalf("%d records of requests that were sent, the server logged %d", sent, len(log))
	}
	return s
}

// values of those that pick takes, sorted.
func (s *story) values(pick func(*seen) (float64, bool)) (v []float64) {
	for i := range s.all {
		if x, ok := pick(&s.all[i]); ok {
			v = append(v, x)
		}
	}
	slices.Sort(v)
	return v
}

// quantile is numpy's, linear between the two values beside it.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	low, part := int(at), at-math.Floor(at)
	if part == 0 || math.IsInf(sorted[low], 1) {
		return sorted[low]
	}
	return sorted[low] + part*(sorted[low+1]-sorted[low])
}

// numbers are what the run prints over its full window, by metric and statistic, as the
// truth has them.
func (s *story) numbers(x *trial) map[string]float64 {
	ms := func(from, to int64) float64 { return float64(to-from) / 1e6 }
	of := func(span func(*seen) float64) []float64 {
		return s.values(func(r *seen) (float64, bool) { return span(r), r.answered() })
	}
	out := map[string]float64{}
	spans := map[string][]float64{
		metrics.TimeToFirstToken: of(func(r *seen) float64 { return ms(r.Recv, r.First) }),
		metrics.RequestLatency:   of(func(r *seen) float64 { return ms(r.Recv, r.Last) }),
	}
	if x.open { // with a client that never stands still
		spans[metrics.RequestLatencyFromIntended] = s.values(func(r *seen) (float64, bool) {
			switch {
			case r.answered():
				return ms(r.intended, r.admitted) + ms(r.Recv, r.Last), true
			case r.status == "cancelled":
				return 0, false
			}
			return math.Inf(1), true // failed or cut off
		})
		for range s.unsent {
			spans[metrics.RequestLatencyFromIntended] = append(spans[metrics.RequestLatencyFromIntended], math.Inf(1))
		}
	}
	for tag, v := range spans {
		for stat, q := range map[string]float64{"p50": 0.5, "p90": 0.9, "p99": 0.99} {
			out[tag+"."+stat] = quantile(v, q)
		}
	}
	ok, failed, good, attempts := 0, 0, 0, s.unsent
	for i := range s.all {
		r := &s.all[i]
		attempts++
		switch {
		case r.answered():
			ok++
			took := ms(r.Recv, r.Last)
			if x.open {
				took += ms(r.intended, r.admitted)
			}
			if took <= x.slo {
				good++
			}
		case !r.Aborted:
			failed++
		}
	}
	out["ok"], out["failed"] = float64(ok), float64(failed)
	if ok+failed > 0 {
		out[metrics.ErrorRate+".avg"] = float64(failed) / float64(ok+failed)
	}
	out[metrics.GoodRequestFraction+".avg"] = float64(good) / float64(attempts)
	last := int64(0) // a run begins at 0 and ends with the last answer; a request that is cut off does not stretch it
	for i := range s.all {
		if !s.all[i].Aborted {
			last = max(last, s.all[i].End)
		}
	}
	if took := float64(last) / 1e9; took > 0 {
		out[metrics.RequestThroughput+".avg"], out[metrics.Goodput+".avg"] = float64(ok)/took, float64(good)/took
	}
	return out
}

// held is how much of the slots of a closed loop was used, over time, until the last
// request was sent.
func (s *story) held(slots int) float64 {
	last, used := int64(0), 0.0
	for i := range s.all {
		last = max(last, s.all[i].Recv)
	}
	for i := range s.all {
		used += float64(min(s.all[i].End, last) - s.all[i].Recv)
	}
	return used / float64(last) / float64(slots)
}

// touched reports whether the run says that the number is not sure.
func touched(o *decide.Outcome, name string) bool {
	tag, stat, _ := strings.Cut(name, ".")
	return !o.Taints.Of(tag, stat).None()
}

// lies are the sentences of a run that the truth contradicts.
func lies(x *trial, o *Outcome, s *story) (said []string) {
	out := &o.Outcomes[0]
	rep := o.Reports[out.Run.ID]
	lie := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	numbers := s.numbers(x)
	if n := float64(out.OK); n != numbers["ok"] {
		lie("%v ok, the server gave %v whole answers", n, numbers["ok"])
	}
	if n := float64(out.Failed); n != numbers["failed"] {
		lie("%v failed, the server made %v fail", n, numbers["failed"])
	}
	if rep.Verdict == validity.Invalid || out.Err != "" || out.OK == 0 {
		return said
	}
	full := out.Summaries[0]
	for name, want := range numbers { // "all else holds"
		tag, stat, ok := strings.Cut(name, ".")
		if !ok || touched(out, name) {
			continue
		}
		st, found := full.Get(tag)
		if !found {
			continue
		}
		have, open := st.Value(stat), st.Open
		if m, _ := metrics.Lookup(tag); m.Unit == "ms" {
			if off := math.Abs(have - want); !(have == want || off <= 0.0205*want || off <= 0.0501) {
				lie("%s is %v and untouched, the truth is %v", name, have, want)
			}
			continue
		}
		slack := 1e-9
		if m, _ := metrics.Lookup(tag); m.Unit == "requests/sec" {
			slack = 0.02 * want
		} else if len(x.pauses) > 0 { // shares may be off by what moves no percentile
			slack = 0.02
		}
		if have-slack > want || want > have+open+slack {
			lie("%s is %v (+%v) and untouched, the truth is %v", name, have, open, want)
		}
	}
	follow := s.values(func(r *seen) (float64, bool) { return 0, r.answered() && r.intended > 0 })
	if x.slots > 0 && len(follow) > 0 && !touched(out, metrics.RequestThroughput+".avg") {
		if held := s.held(x.slots); held < 0.975 {
			lie("the rates are untouched, and %v of the slots were used", held)
		}
	}
	kinds := 0.0
	for _, e := range rep.Errors {
		kinds += float64(e.Count)
	}
	if kinds != numbers["failed"] {
		lie("errors are listed for %v requests, the server made %v fail", kinds, numbers["failed"])
	}
	cell := &o.Results.Cells[0]
	for _, g := range cell.Gates {
		if rate := numbers[metrics.ErrorRate+".avg"]; g.State == decide.Held &&
			rate > 0.02 || g.State == decide.Missed && rate <= 0.02 {
			lie("the gate of 2 %% is %s, the truth is %v", g.State, rate)
		}
	}
	for _, l := range cell.SLOs {
		if share := numbers[metrics.GoodRequestFraction+".avg"]; l.State == decide.Held && share < wanted ||
			l.State == decide.Missed && share >= wanted {
			lie("the limits are %s, %v of the requests kept them", l.State, share)
		}
	}
	return said
}

// saysOverload reports whether the run says that its server did not keep up.
func saysOverload(rep *runner.RunReport) bool {
	f, ok := finding(rep, validity.Backlog)
	return ok && f.Verdict > validity.Valid
}

// Runs of random servers, loads and faults, with clients that stand still at times: what
// a run says without a doubt is what the server's log says.
func TestSentencesHold(t *testing.T) {
	t.Parallel()
	if raced {
		t.Skip("single runs are enough for the race detector")
	}
	valid, doubted, late := 0, 0, 0
	var far farGates
	over := map[bool][2]int{} // by whether the server keeps up: said of it, of how many runs
	for n := range *refutations {
		rng := seed.Stream(int64(n+*freshFrom), "sim/refute")
		x := drawTrial(rng)
		text := x.text(n + *freshFrom)
		o, err := RunStalled(text, scratch(t), func(int) []Pause { return x.pauses })
		if err != nil {
			t.Fatalf("run %d: %v\n%s", n, err, text)
		}
		rep := o.Reports[o.Outcomes[0].Run.ID]
		s := storyOf(t, o)
		far.add(o, s.numbers(&x))
		for _, l := range lies(&x, o, &s) {
			t.Errorf("run %d, %s: %s\n%v\n%s", n, rep.Verdict, l, x.pauses, text)
		}
		if rep.Verdict == validity.Valid {
			valid++
		} else {
			doubted++
		}
		if len(x.pauses) > 0 {
			late++
		}
		if n := len(s.all) + s.unsent; x.open && n >= 900 && (x.steady && x.load > 1.25 || x.load <= 0.9) {
			c := over[x.load < 1]
			if c[1]++; saysOverload(rep) {
				c[0]++
			}
			over[x.load < 1] = c
		}
	}
	t.Logf("%d VALID, %d not; %d clients stood still; overload said of %v of long runs at 130 %% and more, of %v at 90 %% and less",
		valid, doubted, late, over[false], over[true])
	t.Logf("gates on numbers in doubt: %d of %d that were kept are said to be missed, and %d of %d that were missed tenfold",
		far.wronged, far.kept, far.found, far.missed)
	if far.wronged > most(0.01, far.kept) || far.found < far.missed*9/10 {
		t.Errorf("gates on numbers in doubt: %+v", far)
	}
	if up, down := over[true], over[false]; up[0] > most(0.03, up[1]) || down[1]-down[0] > most(0.05, down[1]) {
		t.Errorf("overload is said of %d of %d long runs at 130 %% and more, and of %d of %d at 90 %% and less",
			down[0], down[1], up[0], up[1])
	}
}
