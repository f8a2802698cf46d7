package loadgen

import (
	"math"
	"math/rand/v2"
	"time"

	"aiperf.dev/aiperf/schema"
)

// series is a Poisson process whose rate is piecewise linear in time. Before
// the first knot the rate is that knot's, after the last one the last one's.
// Thinning (Lewis and Shedler 1979), piece by piece: candidates come at the
// piece's largest rate and each stays with probability r(t)/largest. What is
// left of a gap at the end of a piece is drawn anew there: a Poisson process has
// no memory. So the work is in proportion to the arrivals, also after a silence.
type series struct {
	knots []schema.RatePoint
	rng   *rand.Rand
	t     float64 // s
	i     int     // knots passed
}

func newSeries(knots []schema.RatePoint, rng *rand.Rand) (Arrivals, error) {
	largest := 0.0
	for i, k := range knots {
		switch {
		case !(k.QPS >= 0) || math.IsInf(k.QPS, 1):
			return nil, fieldError("rate_series", "qps %v is not a rate", k.QPS)
		case i > 0 && !(k.TimeS > knots[i-1].TimeS):
			return nil, fieldError("rate_series", "time_s %v does not come after %v", k.TimeS, knots[i-1].TimeS)
		}
		largest = max(largest, k.QPS)
	}
	if largest == 0 {
		return nil, fieldError("rate_series", "every qps is 0")
	}
	return &series{knots: knots, rng: rng}, nil
}

func (s *series) Next() (time.Duration, bool) {
	for {
		from, to := s.piece()
		largest := max(from.QPS, to.QPS)
		switch at := s.t + s.rng.ExpFloat64()/largest; {
		case largest == 0 && math.IsInf(to.TimeS, 1):
			return 0, false // it ends at rate 0: nothing will ever come
		case !(at < to.TimeS):
			s.t = to.TimeS
		default:
			s.t = at
			if r := rateBetween(from, to, at); s.rng.Float64()*largest < r {
				return seconds(at), true
			}
		}
	}
}

// piece is the stretch of the series in which t lies.
func (s *series) piece() (from, to schema.RatePoint) {
	for s.i < len(s.knots) && s.knots[s.i].TimeS <= s.t {
		s.i++
	}
	switch s.i {
	case 0:
		return schema.RatePoint{QPS: s.knots[0].QPS}, s.knots[0]
	case len(s.knots):
		last := s.knots[s.i-1]
		return last, schema.RatePoint{TimeS: math.Inf(1), QPS: last.QPS}
	}
	return s.knots[s.i-1], s.knots[s.i]
}

// rateBetween is r(t), requests per second, on the line between two points.
func rateBetween(a, b schema.RatePoint, t float64) float64 {
	if math.IsInf(b.TimeS, 1) {
		return a.QPS
	}
	return a.QPS + (b.QPS-a.QPS)*(t-a.TimeS)/(b.TimeS-a.TimeS)
}

// seconds is s seconds, rounded to a nanosecond; the longest duration when it
// does not fit.
func seconds(s float64) time.Duration {
	if ns := math.Round(s * 1e9); ns < math.MaxInt64 {
		return time.Duration(ns)
	}
	return math.MaxInt64
}
