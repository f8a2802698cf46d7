package sim

import (
	"fmt"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/sweep/decide"
)

// Two servers that fail: the program finds three points of errors more in whole plans, and
// does not tell a server apart from itself, however often it fails.
func TestErrorsOfServers(t *testing.T) {
	t.Parallel()
	const server = "ttft=20ms&itl=2ms&cv=0.1"
	fails := func(share float64) string { return fmt.Sprintf("%s&error_rate=%g", server, share) }
	for _, c := range []struct {
		name     string
		from, to float64
		worse    bool
		allowed  float64 // of BETTER and WORSE that are wrong, or of WORSE that is not found
	}{
		{name: "no errors, then 3 %", from: 0, to: 0.03, worse: true, allowed: 0.05},
		{name: "2 %, then 6 %", from: 0.02, to: 0.06, worse: true, allowed: 0.05},
		{name: "3 % of both", from: 0.03, to: 0.03, allowed: 0.05},
		{name: "none of both", allowed: 0.01},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			told := map[decide.Verdict]int{}
			plans, wrong := 0, 0
			d := design{
				cells: []string{fails(c.from), fails(c.to)}, trials: 5, requests: 300, compare: "margin: 0.05",
			}
			d.simulate(t, 3**times, func(o conclusion) {
				plans++
				for _, r := range o.Comparisons[0].Rows {
					if r.Key.Tag != metrics.ErrorRate {
						continue
					}
					told[r.Outcome]++
					if c.worse != (r.Outcome == decide.Worse) || r.Outcome == decide.Better {
						wrong++
					}
					if c.worse && r.Outcome == decide.Equivalent {
						t.Errorf("%g %% of errors, then %g %%: equal", 100*r.Base, 100*r.Candidate)
					}
				}
			})
			t.Logf("%d plans: errors %v", plans, told)
			if wrong > most(c.allowed, plans) {
				t.Errorf("of %d plans %v", plans, told)
			}
		})
	}
}
