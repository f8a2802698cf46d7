package decide

import (
	"math"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/sweep"
)

// Certain reports whether quantile q can be relied on in a run that plans so many requests,
// whose values are worth so many independent ones. The plan decides, so that two equal
// runs say the same; what came takes only away. Screens, tables and comparisons ask here.
func Certain(q float64, planned int64, worth float64) bool {
	return certainBy(sweep.Percentile(planned), q, worth)
}

// certainBy is Certain of a run that is judged by a percentile.
func certainBy(judged string, q, worth float64) bool {
	q = max(q, 1-q)
	most, _ := quantileOf(judged)
	return (judged == sweep.Percentiles[0].Stat || q <= most) && stats.Certified(q, worth)
}

// RequestsFor is how many requests make quantile q certain, as a round number. worth is how
// many independent values those of n requests were worth; n are the requests that were sent,
// which are more than the values where a window or a failure leaves some out. Both are 0 where
// nothing was measured.
//
//	need = max(plan, room · Floor(q) · most(n/worth, n))
//
// plan is the number of Percentiles, which independent requests take. Who follows the advice is
// not to be advised again, and how much values are worth is an estimate, the worse the shorter
// the run: so it is taken from the upper end of what it may be, see most.
func RequestsFor(q, worth, n float64) float64 {
	plan := float64(sweep.Percentiles[0].Requests)
	for _, p := range sweep.Percentiles {
		if most, _ := quantileOf(p.Stat); q <= most {
			plan = float64(p.Requests)
		}
	}
	floor := float64(stats.Floor(q))
	need := max(plan, floor)
	if n > 0 && worth > 0 {
		need = max(need, room*floor*mostAlike(max(1, n/worth), n))
	}
	return RoundRequests(need)
}

// room is what the next run's own estimate of its worth may take away.
const room = 1.25

// mostAlike is the upper end of the correlation time that a run of n requests shows as tau. Its
// relative standard deviation is √(2(2m+1)/n) (Madras and Sokal, J. Stat. Phys. 50, 1988) for m
// lags; a correlation time of tau is found from about as many. One and a half of them are added: a short
// run of a slow queue looks uncorrelated.
func mostAlike(tau, n float64) float64 { return tau * (1 + 1.5*math.Sqrt(2*(2*tau+1)/n)) }

// RoundRequests is a number of requests to advise: the next round one.
func RoundRequests(need float64) float64 {
	unit := math.Pow10(int(math.Floor(math.Log10(max(need, 1)))))
	for _, step := range []float64{1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8} {
		if v := math.Round(step * unit); v >= need {
			return v
		}
	}
	return 10 * unit
}

// RoundSeconds is a time to advise, in seconds: the next one that people would name, with room
// for a run that is a little slower than the one before it.
func RoundSeconds(need float64) float64 {
	need *= 1.1
	for _, v := range []float64{5, 10, 20, 30, 60, 90, 120, 180, 300, 600, 900, 1200, 1800, 2700} {
		if v >= need {
			return v
		}
	}
	return 3600 * math.Ceil(need/3600)
}
