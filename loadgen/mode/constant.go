package mode

import (
	"time"

	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/schema"
)

var constantRate = Mode{
	Name: "constant", Title: "constant rate",
	Doc:       "Open loop: a request every 1/rate seconds, whatever the answers do.",
	Takes:     []string{"rate", "rate_ramp", "rate_series"},
	Needs:     []string{"rate"},
	EveryTurn: true,
	Requests:  tenRequests, Expected: atRate,
	open: func(_ *Mode, p *schema.Phase, root int64, _ *dataset.Set) (Load, error) {
		pace, err := newPace(p, root)
		return Load{Arrivals: &constant{pace: pace}}, err
	},
}

// tenRequests is what a phase at a rate sends when nothing bounds it.
func tenRequests(*schema.Phase) int64 { return 10 }

// atRate is what a rate comes to in so many seconds.
func atRate(p *schema.Phase, seconds float64) float64 { return p.Rate * seconds }

// constant arrives every 1/rate, first after one gap: arrival i is due when
// i requests have become due in operational time.
type constant struct {
	pace pace
	i    int64
}

func (c *constant) Next() (time.Duration, bool) {
	c.i++
	return c.pace.at(float64(c.i))
}
