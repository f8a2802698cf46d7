package mode

import (
	"math"
	"time"

	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/schema"
)

var rateSeries = Mode{
	Name: "rate_series", Title: "open loop, random arrivals at a rate that changes",
	Doc:       "Open loop: a Poisson process whose rate follows straight lines between points in time.",
	EveryTurn: true, Varying: true,
	Requests: 10,
	Expected: func(p *schema.Phase, seconds float64) float64 {
		pace, err := newSeries(p.RateSeries)
		if err != nil {
			return 0 // said when the phase is opened
		}
		return pace.due(seconds)
	},
	Dispersion: func(*schema.Phase) float64 { return 1 },
	chosen:     func(p *schema.Phase) bool { return len(p.RateSeries) > 0 },
	open: func(_ *Mode, p *schema.Phase, root int64, _ *dataset.Set) (Load, error) {
		pace, err := newSeries(p.RateSeries)
		return Load{Arrivals: &poisson{pace: pace, gaps: arrivalDraws(p, root)}}, err
	},
}

// newSeries is a rate that goes along straight lines from knot to knot. Before
// the first the rate is that knot's, after the last one the last one's.
func newSeries(points []schema.RatePoint) (pace, error) {
	largest := 0.0
	knots := []knot{{rate: points[0].QPS}}
	for i, k := range points {
		switch {
		case !(k.QPS >= 0) || math.IsInf(k.QPS, 1):
			return pace{}, fieldError("rate_series", "qps %v is not a rate", k.QPS)
		case i > 0 && !(k.TimeS > points[i-1].TimeS):
			return pace{}, fieldError("rate_series", "time_s %v does not come after %v", k.TimeS, points[i-1].TimeS)
		}
		largest = max(largest, k.QPS)
		next := knots[len(knots)-1].after(k.TimeS)
		next.rate = k.QPS
		if i+1 < len(points) {
			next.slope = (points[i+1].QPS - k.QPS) / (points[i+1].TimeS - k.TimeS)
		}
		knots = append(knots, next)
	}
	if largest == 0 {
		return pace{}, fieldError("rate_series", "every qps is 0")
	}
	return pace{knots: knots}, nil
}

// seconds is s seconds, rounded to a nanosecond; the longest duration when it
// does not fit.
func seconds(s float64) time.Duration {
	if ns := math.Round(s * 1e9); ns < math.MaxInt64 {
		return time.Duration(ns)
	}
	return math.MaxInt64
}
