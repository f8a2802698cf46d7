package report

import (
	"math"
	"strings"
	"testing"

	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/search"
)

// Where no load is certain to hold, a person still hears where the limit most likely is.
func TestQuickWithoutALowerEnd(t *testing.T) {
	t.Parallel()
	b := schema.Benchmark{}
	b.Models.Items = []schema.Model{{Name: "demo"}}
	r := &Report{
		Plan: &sweep.Plan{
			Experiment: schema.Experiment{Search: &schema.Search{Range: []float64{1, 32}}},
			Cells:      []*sweep.Cell{{Resolved: &schema.Resolved{Benchmark: b}}},
			Axes:       []schema.Axis{{Name: "concurrency"}},
		},
		Search: &search.Answer{
			Outcome: search.Spent, Fails: &search.Load{Load: 9, State: search.Fails},
			Curve: search.Curve{Likely: 4.31},
		},
	}
	for likely, want := range map[float64]string{
		4.31:       "So far: demo does not serve 9 users at once within the limits; no smaller number is certain; the budget is spent; the limit is most likely near 4.31.",
		math.NaN(): "So far: demo does not serve 9 users at once within the limits; no smaller number is certain; the budget is spent.",
	} {
		r.Search.Curve.Likely = likely
		if got := r.searchAnswer() + "."; got != want {
			t.Errorf("%v:\n%s\nwant\n%s", likely, got, strings.TrimSpace(want))
		}
	}
}
