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
		},
		Search: &search.Answer{
			Outcome: search.Spent, Fails: &search.Load{Load: 9, State: search.Fails},
			Curve: search.Curve{Likely: 4.31},
		},
	}
	for likely, want := range map[float64]string{
		4.31:       "demo at here does not serve 9 users at once; the limit is most likely near 4.31, but no smaller number is certain.",
		math.NaN(): "demo at here does not serve 9 users at once; how many fewer is not decided.",
	} {
		r.Search.Curve.Likely = likely
		if got := r.quickAnswer(Quick{Server: "here"}); got != want {
			t.Errorf("%v:\n%s\nwant\n%s", likely, got, strings.TrimSpace(want))
		}
	}
}
