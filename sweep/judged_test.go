package sweep_test

import (
	"testing"

	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/sweeptest"
)

// The percentile that decides follows from the requests that are planned, the fewest of
// all cells; what comes out does not change it.
func TestPercentileFollowsFromThePlan(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "p90", 1: "p50", 34: "p50", 35: "p50", 159: "p50",
		160: "p90", 1049: "p90", 1050: "p99", 1e6: "p99",
	} {
		if got := sweep.Percentile(n); got != want {
			t.Errorf("%d requests: %s, want %s", n, got, want)
		}
	}
	d := sweeptest.Grid(3, sweeptest.Axis(sweeptest.Requests, "requests", int64(2000), int64(400)))
	d.Phases = []schema.Phase{
		{Name: "warmup", Kind: "warmup", Type: "concurrency", Concurrency: 1, Requests: 5},
		{Name: "profiling", Type: "concurrency", Concurrency: 1, Requests: 2000},
	}
	p := sweeptest.Expand(t, d)
	if got := p.Judged(); got != "p90" || p.Cells[0].Judged() != "p99" {
		t.Errorf("2,000 and 400 requests: %s, the first cell by itself %s; want p90 and p99", got, p.Cells[0].Judged())
	}
	twenty := schema.Duration(20)
	for _, c := range []struct {
		phase schema.Phase
		want  int64
	}{
		{schema.Phase{Type: "constant", Rate: 60, Duration: &twenty}, 1200},
		{schema.Phase{Type: "concurrency", Concurrency: 4, Duration: &twenty}, 0},
	} {
		if got := sweep.Planned([]schema.Phase{c.phase}); got != c.want {
			t.Errorf("%s for 20 s: %d planned, want %d", c.phase.Type, got, c.want)
		}
	}
}
