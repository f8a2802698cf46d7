package mode

import (
	"time"

	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/schema"
)

var poissonRate = Mode{
	Name: "poisson", Title: "open loop, random arrivals",
	Doc:     "Open loop: independent users, so that gaps are exponential with mean 1/rate.",
	Takes:   rates,
	Pattern: "poisson", Presumed: "rate",
	EveryTurn: true,
	Requests:  10, Expected: atRate,
	Dispersion: func(*schema.Phase) float64 { return 1 },
	open: func(_ *Mode, p *schema.Phase, root int64, _ *dataset.Set) (Load, error) {
		pace, err := newPace(p, root)
		return Load{Arrivals: &poisson{pace: pace, gaps: arrivalDraws(p, root)}}, err
	},
}

// poisson has independent gaps, exponential with mean 1/rate.
type poisson struct {
	pace pace
	gaps draws
	sum  float64 // operational time, in mean gaps
}

func (p *poisson) Next() (time.Duration, bool) {
	p.sum += p.gaps.next().ExpFloat64()
	return p.pace.at(p.sum)
}

// Steer changes the rate.
func (p *poisson) Steer(at time.Duration, rate float64, next time.Duration) (time.Duration, bool) {
	return p.pace.steer(at, rate, next)
}
