package mode

import (
	"time"

	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/schema"
)

var constantRate = Mode{
	Name: "constant", Title: "open loop, evenly spaced arrivals",
	Doc:       "Open loop: a request every 1/rate seconds, whatever the answers do.",
	Takes:     rates,
	Pattern:   "constant",
	EveryTurn: true,
	Requests:  10, Expected: atRate,
	open: func(_ *Mode, p *schema.Phase, root int64, _ *dataset.Set) (Load, error) {
		pace, err := newPace(p, root)
		return Load{Arrivals: &constant{pace: pace}}, err
	},
}

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

// Steer changes the rate.
func (c *constant) Steer(at time.Duration, rate float64, next time.Duration) (time.Duration, bool) {
	return c.pace.steer(at, rate, next)
}
