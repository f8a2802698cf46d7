package loadgen

import (
	"errors"
	"time"

	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/schema"
)

// Arrivals says when a phase wants to send. Offsets count from the start of
// the phase and never decrease. They are absolute: offset i is a function of
// the seed and of i, whatever became of the sends before it.
type Arrivals interface {
	// Next is the next offset, or false when the schedule has ended.
	Next() (offset time.Duration, ok bool)
}

// The values of schema.Phase.Type.
const (
	typeConcurrency = "concurrency"
	typeConstant    = "constant"
	typePoisson     = "poisson"
	typeGamma       = "gamma"
	typeUsers       = "user_centric"
	typeFixed       = "fixed_schedule"
)

// arrivals is the schedule of p under the run's seed. set is what fixed
// schedules and users play; the other modes do not look at it.
func arrivals(p *schema.Phase, root int64, set *dataset.Set) (Arrivals, error) {
	rng := seed.Stream(root, "arrivals/"+p.Name)
	if len(p.RateSeries) > 0 {
		return newSeries(p.RateSeries, rng)
	}
	switch p.Type {
	case typeConcurrency:
		return newBurst(p, root), nil
	case typeUsers:
		return newUsers(p, root, set)
	case typeFixed:
		return newFixed(p, set)
	}
	if !(p.Rate > 0) {
		return nil, errorf(p, "rate %v: a %s phase needs a rate above 0", p.Rate, p.Type)
	}
	pace := newPace(p, root)
	switch p.Type {
	case typeConstant:
		return &constant{pace: pace}, nil
	case typePoisson:
		return &poisson{pace: pace, rng: rng}, nil
	case typeGamma:
		return newGamma(p, pace, rng)
	}
	return nil, errorf(p, "type %q is not a way to drive load", p.Type)
}

// openLoop tells whether arrivals come by the clock at a rate, so that every
// turn of every conversation waits for one.
func openLoop(p *schema.Phase) bool {
	switch p.Type {
	case typeConstant, typePoisson, typeGamma:
		return true
	}
	return len(p.RateSeries) > 0
}

var errNoSet = errors.New("the schedule depends on the dataset")
