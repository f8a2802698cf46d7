package loadgen

import (
	"math"
	"math/rand/v2"
	"time"

	"aiperf.dev/aiperf/schema"
)

// series is a Poisson process whose rate is piecewise linear in time. Before
// the first knot the rate is that knot's, after the last one the last one's.
// Thinning (Lewis and Shedler 1979): candidates come at the largest rate and
// each stays with probability r(t)/largest.
type series struct {
	knots   []schema.RatePoint
	largest float64
	rng     *rand.Rand
	t       float64 // s
	i       int     // knots passed
}

func newSeries(knots []schema.RatePoint, rng *rand.Rand) (Arrivals, error) {
	s := &series{knots: knots, rng: rng}
	for i, k := range knots {
		switch {
		case !(k.QPS >= 0) || math.IsInf(k.QPS, 1):
			return nil, fieldError("rate_series", "qps %v is not a rate", k.QPS)
		case i > 0 && !(k.TimeS > knots[i-1].TimeS):
			return nil, fieldError("rate_series", "time_s %v does not come after %v", k.TimeS, knots[i-1].TimeS)
		}
		s.largest = max(s.largest, k.QPS)
	}
	if s.largest == 0 {
		return nil, fieldError("rate_series", "every qps is 0")
	}
	return s, nil
}

func (s *series) Next() (time.Duration, bool) {
	for {
		s.t += s.rng.ExpFloat64() / s.largest
		r := s.rate()
		if r == 0 && s.i == len(s.knots) {
			return 0, false // it ends at rate 0: nothing will ever come
		}
		if s.rng.Float64()*s.largest < r {
			return seconds(s.t), true
		}
	}
}

// rate is r(t), requests per second.
func (s *series) rate() float64 {
	for s.i < len(s.knots) && s.knots[s.i].TimeS <= s.t {
		s.i++
	}
	switch s.i {
	case 0:
		return s.knots[0].QPS
	case len(s.knots):
		return s.knots[s.i-1].QPS
	}
	a, b := s.knots[s.i-1], s.knots[s.i]
	return a.QPS + (b.QPS-a.QPS)*(s.t-a.TimeS)/(b.TimeS-a.TimeS)
}

// seconds is s seconds, rounded to a nanosecond; the longest duration when it
// does not fit.
func seconds(s float64) time.Duration {
	if ns := math.Round(s * 1e9); ns < math.MaxInt64 {
		return time.Duration(ns)
	}
	return math.MaxInt64
}
