package report

import (
	"testing"

	"aiperf.dev/aiperf/sweep/decide"
)

// Why percentiles are uncertain, and what to try, follows from the load: a machine is blamed only
// where requests do not wait for each other.
func TestUnsteadyIsSaidByTheLoad(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		load decide.Waiting
		want string
	}{
		{
			decide.Waiting{Open: true, Asked: 50, Answered: 40.5},
			"a lower rate, such as 32.4: 50.0 requests/s were asked for and 40.5 answered, so the queue grew, and TTFT with it; it depends on how long the run is",
		},
		{
			decide.Waiting{Open: true},
			"a lower rate or a longer run, or look for what changes over the run: TTFT rises and falls so slowly that 200 requests count as 8",
		},
		{
			decide.Waiting{Users: 32},
			"a lower --concurrency, or a longer run: all 32 users begin at once, and 200 requests are 6 rounds of them; those of a round have similar TTFT, so that 200 requests count as 8",
		},
		{
			decide.Waiting{Users: 4},
			"a lower --concurrency, or a longer run: TTFT of the 4 users rises and falls together, so that 200 requests count as 8",
		},
		{
			decide.Waiting{},
			"a quieter machine, or look for what changes over the run: TTFT rises and falls so slowly that 200 requests count as 8",
		},
	} {
		s := sample{metric: "TTFT", n: 200, worth: 8, sent: 200, load: c.load}
		if got := s.unsteady(); got != c.want {
			t.Errorf("%+v:\n%s\nwant\n%s", c.load, got, c.want)
		}
	}
}
