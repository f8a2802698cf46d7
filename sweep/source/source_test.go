package source_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
	"aiperf.dev/aiperf/sweep/source"
	"aiperf.dev/aiperf/sweep/sweeptest"
)

// outcome is a run whose latency is ms.
func outcome(run sweep.Run, ms float64) decide.Outcome {
	s := metrics.Blank(metrics.RequestLatency, "ms")
	s.Avg, s.Count = ms, 100
	return decide.Outcome{
		Run: run, Verdict: validity.Valid, OK: 100,
		Summaries: []metrics.Summary{{Window: decide.Full, Stats: []metrics.Stat{s}}},
	}
}

// carryOut asks a source to its end; of each run that is not spared measure says what
// came of it.
func carryOut(s source.Source, measure func(sweep.Run) decide.Outcome) (steps []step, outcomes []decide.Outcome) {
	for {
		d, ok, err := s.Next(outcomes)
		if err != nil {
			panic(err)
		}
		if !ok {
			return steps, outcomes
		}
		steps = append(steps, step{d.Run.ID, d.Spared, d.Why})
		if !d.Spared {
			outcomes = append(outcomes, measure(d.Run))
		}
	}
}

type step struct {
	Run    string
	Spared bool
	Why    string
}

// A plan without a rule is its list, whatever the outcomes are.
func TestMatrix(t *testing.T) {
	t.Parallel()
	d := sweeptest.Grid(3, sweeptest.Axis(sweeptest.Concurrency, "concurrency", 1, 2))
	d.Head.MultiRun.Sentinel = true
	p := sweeptest.Expand(t, d)
	_, outcomes := carryOut(source.Of(p),
		func(r sweep.Run) decide.Outcome { return decide.Outcome{Run: r, Err: "down"} })
	var got []sweep.Run
	for _, o := range outcomes {
		got = append(got, o.Run)
	}
	if diff := cmp.Diff(p.Runs, got, cmp.Comparer(func(a, b sweep.Run) bool { return a == b })); diff != "" ||
		len(got) != 9 {
		t.Errorf("%d runs (-plan +source):\n%s", len(got), diff)
	}
}

// Trials end when the rule holds: those that remain are spared with its reason, those of
// other cells and of the sentinel are not. Asked again with the outcomes that were
// recorded, in one go or run by run, another source decides the same.
func TestEnoughTrials(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(21, 1))
	spared := 0
	for range 60 {
		d := sweeptest.Grid(2+rng.IntN(8), sweeptest.Axis(sweeptest.Concurrency, "concurrency", 1, 2, 4))
		d.Head.MultiRun.Sentinel = rng.IntN(2) == 0
		d.Head.MultiRun.Convergence = &schema.Convergence{
			Metric: metrics.RequestLatency, Stat: "avg",
			Mode: decide.BySpread, MinRuns: 2 + rng.IntN(3),
		}
		p := sweeptest.Expand(t, d)
		want, outcomes := carryOut(source.Of(p), func(r sweep.Run) decide.Outcome {
			if rng.IntN(10) == 0 {
				return decide.Outcome{Run: r, Err: "down"}
			}
			return outcome(r, 100*(1+0.05*float64(r.Cell.Index)*rng.NormFloat64()))
		})
		if len(want) != len(p.Runs) {
			t.Fatalf("%d decisions on %d runs", len(want), len(p.Runs))
		}
		for i, s := range want {
			run := p.Runs[i]
			var cell []*decide.Outcome
			for k := range outcomes {
				if o := &outcomes[k]; o.Run.Cell == run.Cell && o.Run.Sentinel == 0 &&
					slices.IndexFunc(want, func(s step) bool { return s.Run == o.Run.ID }) < i {
					cell = append(cell, o)
				}
			}
			stop, enough := decide.Enough(p, cell)
			if enough = enough && run.Sentinel == 0; s.Run != run.ID || s.Spared != enough || enough &&
				s.Why != stop.Why {
				t.Errorf("run %d: %+v; enough: %v, %q", i, s, enough, stop.Why)
			}
			if s.Spared {
				spared++
			}
		}
		recorded := map[string]decide.Outcome{}
		for _, o := range outcomes {
			recorded[o.Run.ID] = o
		}
		got, _ := carryOut(source.Of(p), func(r sweep.Run) decide.Outcome { return recorded[r.ID] })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("replayed (-first +again):\n%s", diff)
		}
	}
	if spared < 50 {
		t.Errorf("%d runs were spared in all", spared)
	}
}
