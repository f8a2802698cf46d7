package verdict

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/seed"
)

// Of workers with a few answers nothing is promised.
func TestFewAnswersSayNothingOfWorkers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answers []int // by worker
		want    string
	}{
		{[]int{29, 29, 29}, "too short to tell whether 3 workers have the same latency: it takes 30 answers of one"},
		{[]int{30, 4}, "1 of 2 workers had the 30 answers that it takes to tell, and none of them differs from all"},
		{[]int{30, 30}, "2 workers have the same latency"},
	} {
		var p PhaseEvidence
		for k, n := range c.answers {
			for i := range n {
				r := record.New()
				r.Status, r.Worker, r.Sent, r.LastToken = record.OK, int64(k), 0, 50e6+int64(i)*1e5
				r.FirstToken, r.End = r.LastToken/2, r.LastToken
				p.addWorker(&r)
			}
		}
		(&Evidence{Phases: []*PhaseEvidence{&p}}).sortSamples()
		if got, ok := workersAlike(&p); !ok || got.Detail != c.want || got.Value != 0 {
			t.Errorf("%v: %t, %+v; want %q", c.answers, ok, got, c.want)
		}
	}
}

// Workers that differ by chance alone are alike, and one that is slower by 15 % is named.
func TestWorkersDifferByMoreThanChance(t *testing.T) {
	t.Parallel()
	const plans, workers, each = 500, 8, 150
	alarms, found := 0, 0
	for n := range plans {
		rng := seed.Stream(int64(n), "workers")
		var alike, slow PhaseEvidence
		for range each {
			for k := range int64(workers) {
				ms := 50 * math.Exp(0.3*rng.NormFloat64())
				r := record.New()
				r.Status, r.Worker, r.Sent, r.LastToken = record.OK, k, 0, int64(ms*1e6)
				r.FirstToken, r.End = r.LastToken/2, r.LastToken
				alike.addWorker(&r)
				if k == 5 {
					r.LastToken, r.End = r.LastToken*115/100, r.End*115/100
				}
				slow.addWorker(&r)
			}
		}
		for _, p := range []*PhaseEvidence{&alike, &slow} {
			(&Evidence{Phases: []*PhaseEvidence{p}}).sortSamples()
			got, ok := workersAlike(p)
			if !ok {
				t.Fatal("nothing is said of eight workers")
			}
			named := strings.HasPrefix(got.Detail, fmt.Sprintf("the median latency at worker %d of %d ", 6, workers))
			switch {
			case p == &alike && got.Value > 0:
				alarms++
			case p == &slow && named && got.Value > got.Warn:
				found++
			}
		}
	}
	t.Logf("alike: %d of %d named; 15 %% slower: %d of %d", alarms, plans, found, plans)
	if alarms > 4 || found < plans*4/10 {
		t.Errorf("alike: %d of %d named; 15 %% slower: %d of %d", alarms, plans, found, plans)
	}
}
