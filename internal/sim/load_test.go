package sim

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/runner/verdict"
)

// finding is what a check found about a run; false where it does not apply.
func finding(rep *runner.RunReport, id string) (verdict.Finding, bool) {
	i := slices.IndexFunc(rep.Findings, func(f verdict.Finding) bool { return f.Check == id })
	if i < 0 {
		return verdict.Finding{}, false
	}
	return rep.Findings[i], true
}

// run carries out the first plan of d by itself.
func (d design) run(t *testing.T) *Outcome {
	t.Helper()
	o, err := RunPaced(d.text(0), scratch(t), d.pace)
	if err != nil {
		t.Fatalf("%v\n%s", err, d.text(0))
	}
	return o
}

// truth is what the only server's requests really took, in ms, in order of
// arrival: NaN where the client did not wait for it.
func truth(o *Outcome) (ms []float64) {
	for _, log := range o.Servers {
		if len(log) > 0 {
			slices.SortFunc(log, func(a, b mockserver.Entry) int { return int(a.N - b.N) })
			for _, e := range log {
				v := float64(e.Last-e.Recv) / 1e6
				if e.Aborted {
					v = math.NaN()
				}
				ms = append(ms, v)
			}
		}
	}
	return ms
}

// cutOff is an open loop whose requests are cut off after five seconds, and
// patient the same one, with the same arrivals and the same luck, that waits.
func cutOff(words string, rate int, slo string) (cut, patient design) {
	d := design{cells: []string{words}, trials: 1, body: slo}
	d.phase = fmt.Sprintf("type: poisson, rate: %d, duration: 5, grace_period: 0", rate)
	patient = d
	patient.phase = fmt.Sprintf("type: poisson, rate: %d, duration: 5, grace_period: inf", rate)
	return d, patient
}

// Twice as many requests as the server can answer, and no grace: each percentile
// lies between its two bounds, is endless where more than its share is cut off,
// and the check says so.
func TestOverloadCutOff(t *testing.T) {
	t.Parallel()
	cut, patient := cutOff("ttft=100ms&itl=5ms&cv=0.5&workers=4", 60, "")
	was, real := cut.run(t), truth(patient.run(t))
	rep := was.Reports[was.Outcomes[0].Run.ID]
	o := was.Outcomes[0]
	if n := int64(len(real)); n != o.OK+o.Cut || o.Cut*10 < n {
		t.Fatalf("%d requests by the patient client; %d answered and %d cut off by the other, want more than a tenth",
			n, o.OK, o.Cut)
	}
	slices.Sort(real)
	seen := 0
	for _, b := range rep.Censored {
		if b.Metric != "request_latency" {
			continue
		}
		q := map[string]float64{"p50": 0.5, "p90": 0.9, "p99": 0.99}[b.Stat]
		v, high := stats.Quantile(real, q), math.Inf(1)
		if b.High != nil {
			high = *b.High
		}
		t.Logf("%s is %.0f ms, between %.0f and %.0f; without those cut off %.0f", b.Stat, v, b.Low, high, b.Plain)
		if v < b.Low-1e-3 || v > high+1e-3 || b.Plain >= v {
			t.Errorf("%s is %v ms by the server's log: bounds %v and %v, plain %v", b.Stat, v, b.Low, high, b.Plain)
		}
		if b.Stat != "p50" && b.High != nil {
			t.Errorf("%s is at most %v although more than a tenth never ended", b.Stat, *b.High)
		}
		seen++
	}
	for _, tag := range []string{"adj_request_latency", "request_latency_from_intended"} {
		if s, ok := o.Summaries[0].Get(tag); !ok || !math.IsInf(s.P90, 1) {
			t.Errorf("%s p90 is %v, want no end", tag, s.P90)
		}
	}
	if f, ok := finding(rep, "censored"); !ok || f.Verdict != verdict.Degraded || seen != 3 {
		t.Errorf("%d bounds, and censored says %s", seen, f.Line())
	}
}

// A healthy server and no grace: the share of good requests is a range that
// holds the truth.
func TestGoodShareIsARange(t *testing.T) {
	t.Parallel()
	cut, patient := cutOff("ttft=60ms&itl=5ms&cv=0.5", 60, "\n  slos: {request_latency: 140}")
	was, real := cut.run(t), truth(patient.run(t))
	good := 0
	for _, v := range real {
		if v <= 140 {
			good++
		}
	}
	share := float64(good) / float64(len(real))
	s, ok := was.Outcomes[0].Summaries[0].Get("good_request_fraction")
	if !ok || was.Outcomes[0].Cut == 0 || s.Open == 0 {
		t.Fatalf("good share %+v, %d cut off", s, was.Outcomes[0].Cut)
	}
	t.Logf("%.2f %% are good, said to be %.2f to %.2f %%", 100*share, 100*s.Avg, 100*(s.Avg+s.Open))
	if share < s.Avg-1e-9 || share > s.Avg+s.Open+1e-9 || share > 0.99 {
		t.Errorf("%v of the requests were good by the server's log, said to be from %v to %v", share, s.Avg,
			s.Avg+s.Open)
	}
}

// The bookkeeping of closed loops holds for any spread of the latencies and any
// concurrency, and nothing else doubts them either.
func TestClosedLoopsAreConsistent(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 16, 64} {
		var cells []string
		for _, cv := range []string{"0.5", "1", "2"} {
			cells = append(cells, "ttft=40ms&itl=5ms&cv="+cv)
		}
		d := design{
			cells: cells, trials: 1, phase: fmt.Sprintf("type: concurrency, concurrency: %d", n),
			requests: max(100, 6*n),
		}
		o := d.run(t)
		for _, x := range o.Outcomes {
			rep := o.Reports[x.Run.ID]
			if f, ok := finding(rep, "littles_law"); !ok || f.Verdict != verdict.Valid || f.Value > 1e-9 {
				t.Errorf("%s, %d at once: %+v", x.Run.Cell.Label, n, f)
			}
			if rep.Verdict != validity.Valid {
				t.Errorf("%s, %d at once: %s %+v", x.Run.Cell.Label, n, rep.Verdict, rep.Findings)
			}
		}
	}
}

// moving counts the plans in which a check on the plan fires.
func moving(t *testing.T, d design, n int) (plans int, fired map[string]int) {
	t.Helper()
	fired = map[string]int{}
	d.simulate(t, n, func(c conclusion) {
		plans++
		for _, f := range c.plan {
			if f.Verdict > verdict.Valid {
				fired[f.Check]++
			}
		}
	})
	t.Logf("%d plans: %v", plans, fired)
	return plans, fired
}

// At 90 % of what the server can do its queue wanders, and the checks on trends and
// on the backlog hold still; at 130 % it grows, and the backlog says so. The rise of
// the latency is described, too: stationary finds it over the trials.
func TestTrends(t *testing.T) {
	t.Parallel()
	const words = "ttft=100ms&itl=5ms&cv=0.5&workers=8" // 8 ÷ 0.115 s are 69.6 requests a second
	at := func(rate float64, requests int) design {
		return design{
			cells: []string{words}, trials: 5, requests: requests,
			phase: fmt.Sprintf("type: poisson, rate: %.1f", rate),
		}
	}
	n, fired := moving(t, at(62.6, 300), 6**times)
	if m := most(0.01, n); fired["warmup"] > m || fired["stationary"] > m || fired["drift"] > m ||
		fired["backlog"] > m {
		t.Errorf("90 %% of the load: of %d plans %v; want at most %d", n, fired, m)
	}
	if n, fired := moving(t, at(90.5, 300), 2**times); fired["stationary"] < n || fired["backlog"] < n {
		t.Errorf("130 %% of the load: of %d plans %v; want all", n, fired)
	}
}

// Intervals of percentiles within one run: one that misses the truth is in at most
// 5 % of the runs, and where most runs have one 90 % hold it. For independent
// latencies and autocorrelated ones; of a queue at 70 % of the load at most one run
// in ten has any.
func TestPercentilesWithinARunCover(t *testing.T) {
	t.Parallel()
	if raced {
		t.Skip("single runs are enough for the race detector")
	}
	for _, c := range []struct{ name, words, phase string }{
		{"independent", "ttft=40ms&itl=5ms&cv=0.5", "type: concurrency, concurrency: 1"},
		{"autocorrelated", "ttft=40ms&itl=5ms&cv=0.5&ar=0.5", "type: concurrency, concurrency: 1"},
		{"queue", "ttft=35ms&itl=5ms&cv=0.5&workers=1", "type: poisson, rate: 14"}, // 14 ÷ s of 50 ms each
	} {
		d := design{cells: []string{c.words}, trials: 16 * *times, phase: c.phase, requests: 400}
		d.trials = min(d.trials, 1000)
		o := d.run(t)
		real := truth(o)
		slices.Sort(real)
		for stat, q := range map[string]float64{"p50": 0.5, "p90": 0.9} {
			v, given, held := stats.Quantile(real, q), 0, 0
			for _, x := range o.Outcomes {
				s, _ := x.Summaries[0].Get("request_latency")
				if in, ok := s.Interval(stat); ok {
					given++
					if in.Low <= v && v <= in.High {
						held++
					}
				}
			}
			t.Logf("%s %s: %d of %d intervals hold the truth, %d runs", c.name, stat, held, given, len(o.Outcomes))
			if c.name == "queue" {
				if given > len(o.Outcomes)/10 {
					t.Errorf("%s %s: %d of %d runs have an interval", c.name, stat, given, len(o.Outcomes))
				}
				continue
			}
			usual := given > len(o.Outcomes)/2
			if stat == "p50" && given < len(o.Outcomes)/3 || given-held > most(0.05, len(o.Outcomes)) || usual &&
				held < given-most(0.1, given) {
				t.Errorf("%s %s: %d of %d intervals hold the truth, of %d runs", c.name, stat, held, given,
					len(o.Outcomes))
			}
		}
	}
}

// An open loop's rate is that of the server, and not of a window with a drain in
// it: that of the schedule where the server keeps up, that of the server where it
// does not. Its slow answers are in the percentiles all the same.
func TestOpenLoopsHaveASteadyWindow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		words string
		want  float64
	}{
		{"ttft=900ms&itl=10ms", 50},
		{"ttft=385ms&itl=5ms&cv=0.3&workers=8", 20}, // 8 answers in 0.4 s
	} {
		o := design{cells: []string{c.words}, trials: 1, phase: "type: constant, rate: 50", requests: 250}.run(t)
		full, steady := o.Outcomes[0].Summaries[0], o.Outcomes[0].Summaries[1]
		rate, _ := steady.Get("request_throughput")
		stretched, _ := full.Get("request_throughput")
		if steady.Window != "steady" || math.Abs(rate.Avg/c.want-1) > 0.04 {
			t.Errorf("%s: %.1f requests/s in the %s window, want %v; over all %.1f", c.words,
				rate.Avg, steady.Window, c.want, stretched.Avg)
		}
		all, _ := full.Get("request_latency")
		of, _ := steady.Get("request_latency")
		if of.P99 < 0.99*all.P99 || of.Count < all.Count*8/10 {
			t.Errorf("%s: p99 %.0f ms of %d in the steady window, %.0f of %d over all", c.words, of.P99, of.Count,
				all.P99, all.Count)
		}
	}
}
