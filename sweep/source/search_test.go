package source_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
	"aiperf.dev/aiperf/sweep/search"
	"aiperf.dev/aiperf/sweep/source"
	"aiperf.dev/aiperf/sweep/sweeptest"
)

// searchPlan looks for the largest concurrency up to 64 at which 95 % of 200 requests
// are good.
func searchPlan(t *testing.T, change func(*schema.Search)) *sweep.Plan {
	t.Helper()
	d := sweeptest.Grid(1, sweeptest.Axis(sweeptest.Concurrency, "concurrency", 1))
	d.SLOs = map[string]float64{metrics.TimeToFirstToken: 500}
	d.Head.Search = &schema.Search{
		Path: "concurrency", Range: []float64{1, 64}, Share: 0.95,
		Resolution: 0.01, Budget: schema.SearchBudget{Probes: 40},
	}
	if change != nil {
		change(d.Head.Search)
	}
	return sweeptest.Expand(t, d)
}

// goodOf is a run of 200 requests of which so many are good, and none fails.
func goodOf(run sweep.Run, good float64) decide.Outcome {
	share := metrics.Blank(metrics.GoodRequestFraction, "ratio")
	share.Avg = good / 200
	errors := metrics.Blank(metrics.ErrorRate, "ratio")
	errors.Avg = 0
	return decide.Outcome{
		Run: run, Verdict: validity.Valid, Apart: validity.Valid, OK: 200, Sent: 200, Took: time.Second,
		Summaries: []metrics.Summary{{Window: decide.Full, Stats: []metrics.Stat{share, errors}}},
	}
}

// upTo is a server at which all requests are good up to a load, and half above it.
func upTo(limit float64) func(sweep.Run) decide.Outcome {
	return func(r sweep.Run) decide.Outcome {
		if r.Cell.Load() > limit {
			return goodOf(r, 100)
		}
		return goodOf(r, 200)
	}
}

// A search ends with its bracket. Its runs have a directory each; asked again with the
// outcomes that were recorded, in a plan that knows nothing of them, it gives the same
// runs for the same reasons, and the same answer.
func TestSearch(t *testing.T) {
	t.Parallel()
	for _, limit := range []float64{1, 2, 13, 37, 63} {
		p := searchPlan(t, nil)
		first, outcomes := carryOut(source.Of(p), upTo(limit))
		a := source.Found(p, outcomes)
		if a.Outcome != search.Bracketed || a.Holds.Load != limit || a.Fails.Load != limit+1 || !a.Sure {
			t.Errorf("limit %g: %s from %v to %v, sure: %v", limit, a.Outcome, a.Holds, a.Fails, a.Sure)
		}
		dirs := map[string]bool{}
		recorded := map[string]decide.Outcome{}
		for i, o := range outcomes {
			dirs[o.Run.Dir] = true
			recorded[o.Run.ID] = o
			if first[i].Why == "" {
				t.Errorf("run %d has no reason", i)
			}
		}
		if len(dirs) != len(outcomes) || len(recorded) != len(outcomes) {
			t.Errorf("%d runs have %d directories and %d names", len(outcomes), len(dirs), len(recorded))
		}
		again := searchPlan(t, nil)
		steps, replayed := carryOut(source.Of(again), func(r sweep.Run) decide.Outcome {
			o := recorded[r.ID]
			o.Run = r
			return o
		})
		if diff := cmp.Diff(first, steps); diff != "" || again.Hash != p.Hash {
			t.Errorf("replayed (-first +again):\n%s", diff)
		}
		if diff := cmp.Diff(a.Loads, source.Found(again, replayed).Loads,
			cmp.AllowUnexported(search.Load{})); diff != "" {
			t.Errorf("loads (-first +again):\n%s", diff)
		}
	}
}

// What a run has to show: an INVALID one is repeated and does not count as failing, one
// whose backlog grows fails whatever its share is, one that was rejected altogether
// fails, and one whose server was gone says nothing about the load.
func TestSearchReadsRuns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil   func(o *decide.Outcome)
		want    search.Outcome
		at      float64
		refused bool
	}{
		"too slow a client": {spoil: func(o *decide.Outcome) {
			o.Apart, o.Taints = validity.Invalid,
				validity.Taints{"x": {Check: validity.Lateness, Level: validity.Wrong}}
		}, want: search.ClientLost, at: 16},
		"gone": {spoil: func(o *decide.Outcome) { o.Err, o.Gone = "the server was gone", true }, want: search.ServerLost, at: 16},
		"backlog": {spoil: func(o *decide.Outcome) {
			o.Backlog = &decide.Backlog{Share: 0.3, Limit: 0.1}
			o.Verdict = validity.Invalid
		}, want: search.Bracketed},
		"all refused": {spoil: func(o *decide.Outcome) {
			*o = decide.Outcome{Run: o.Run, Failed: 200, Sent: 200, Err: "every request failed"}
		}, want: search.Bracketed},
		"errors": {spoil: func(o *decide.Outcome) {
			o.Summaries[0].Stats[1].Avg = 0.02
		}, want: search.Bracketed},
	} {
		p := searchPlan(t, func(s *schema.Search) { s.Also = []string{"error_rate < 0.01"} })
		_, outcomes := carryOut(source.Of(p), func(r sweep.Run) decide.Outcome {
			o := goodOf(r, 200)
			if r.Cell.Load() > 13 {
				c.spoil(&o)
			}
			return o
		})
		a := source.Found(p, outcomes)
		if a.Outcome != c.want || a.At != c.at || c.want == search.Bracketed &&
			(a.Holds.Load != 13 || a.Fails.Load != 14) || a.Holds == nil {
			t.Errorf("%s: %s at %g, holds %v, fails %v", name, a.Outcome, a.At, a.Holds, a.Fails)
		}
	}
	once := false
	p := searchPlan(t, nil)
	steps, outcomes := carryOut(source.Of(p), func(r sweep.Run) decide.Outcome {
		o := upTo(13)(r)
		if !once && r.Cell.Load() == 8 {
			once, o.Apart = true, validity.Invalid
		}
		return o
	})
	a := source.Found(p, outcomes)
	at := slices.IndexFunc(steps, func(s step) bool { return s.Why == "the last run was unusable: INVALID" })
	if a.Outcome != search.Bracketed || a.Holds.Load != 13 || at < 0 || outcomes[at].Run.Cell.Load() != 8 {
		t.Errorf("an invalid run that was repeated: %s, %+v", a.Outcome, steps)
	}
}

// A plan is refused whose search cannot be carried out or cannot find anything.
func TestSearchRefused(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(d *sweeptest.Document){
		"search.range: 8 is not below 4":                                                        func(d *sweeptest.Document) { d.Head.Search.Range = []float64{8, 4} },
		"search.range: 1.5 is not a whole number":                                               func(d *sweeptest.Document) { d.Head.Search.Range = []float64{1.5, 4} },
		"search: has no limit to look for":                                                      func(d *sweeptest.Document) { d.SLOs = nil },
		"multi_run.num_runs: cannot be combined with search":                                    func(d *sweeptest.Document) { d.Head.MultiRun.NumRuns = 2 },
		"gates: cannot be combined with search":                                                 func(d *sweeptest.Document) { d.Head.Gates = []string{"error_rate < 1"} },
		"search.path: isl is not a load":                                                        func(d *sweeptest.Document) { d.Kind.Axes[0].Name, d.Head.Search.Path = "isl", "isl" },
		"search.path: concurrency has one value here":                                           func(d *sweeptest.Document) { d.Kind.Axes = nil },
		"search.share: 0.999 takes 3,688 good requests of one load to be shown, 3 runs have 30": func(d *sweeptest.Document) { d.Head.Search.Share = 0.999 },
	} {
		d := sweeptest.Grid(1, sweeptest.Axis(sweeptest.Concurrency, "concurrency", 1))
		d.Phases = []schema.Phase{{Name: "profiling", Type: "concurrency", Requests: 10}}
		d.SLOs = map[string]float64{metrics.TimeToFirstToken: 500}
		d.Head.Search = &schema.Search{
			Path: "concurrency", Range: []float64{1, 64}, Share: 0.5,
			Resolution: 0.05, Budget: schema.SearchBudget{Probes: 40},
		}
		change(d)
		if _, err := sweep.Expand(d); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
