package report

import (
	"math"
	"strings"
	"testing"

	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/search"
)

// Where no load is certain to hold, a person still hears where the limit may be.
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
		4.31:       "The budget ran out; by interpolation the limit is near 4",
		math.NaN(): "The budget ran out",
	} {
		r.Search.Curve.Likely = likely
		want = "So far: demo does not serve 9 users at once within the limits; no smaller number is certain. " + want
		if got := r.searchAnswer() + ". " + r.searchOpen(); got != want {
			t.Errorf("%v:\n%s\nwant\n%s", likely, got, strings.TrimSpace(want))
		}
	}
}

// A share has the digits that its requests can tell apart, and an interval that says little is not printed as one
// that says much.
func TestSharesOfProbes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		low, share, high, of float64
		said, interval       string
	}{
		{0.0007306, 0.5, 1, 2, "50", "too few"},
		{0, 0.01053, 0.7938, 95, "1", "up to 79.4"},
		{0, 0, 0.06267, 57, "0", "up to 6.27"},
		{0.8759, 0.9937, 1, 158, "99.4", "87.6 to 100"},
		{0.97, 0.9999, 1, 20000, "> 99", "97 to 100"},
		{0.9645, 1, 1, 102, "100", "96.5 to 100"},
	} {
		l := search.Load{Share: c.share, Low: c.low, High: c.high, Of: c.of}
		if said, interval := percentOf(l.Share, l.Of), shareInterval(l); said != c.said || interval != c.interval {
			t.Errorf("%+v: %q and %q, want %q and %q", l, said, interval, c.said, c.interval)
		}
	}
}
