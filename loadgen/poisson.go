package loadgen

import (
	"math/rand/v2"
	"time"
)

// poisson has independent gaps, exponential with mean 1/rate.
type poisson struct {
	pace pace
	rng  *rand.Rand
	sum  float64 // operational time, in mean gaps
}

func (p *poisson) Next() (time.Duration, bool) {
	p.sum += p.rng.ExpFloat64()
	return p.pace.at(p.sum), true
}
