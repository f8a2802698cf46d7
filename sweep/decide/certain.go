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

// RequestsFor is how many requests make quantile q certain: what a plan needs; and where
// neighbours are alike, so that the values of n requests are worth less, as many more.
// How much they are worth is an estimate, which the next run does not repeat: the number
// of a plan, which is above the Floor, leaves room for that, and so does its multiple. n
// are the requests that were sent, which are more than the values where a window or a
// failure leaves some out.
func RequestsFor(q, worth, n float64) float64 {
	plan := float64(sweep.Percentiles[0].Requests)
	for _, p := range sweep.Percentiles {
		if most, _ := quantileOf(p.Stat); q <= most {
			plan = float64(p.Requests)
		}
	}
	plan = max(plan, float64(stats.Floor(q)))
	if !(worth > 0 && worth < n) || float64(stats.Floor(q))*n/worth <= plan {
		return plan
	}
	need := plan * n / worth
	digits := math.Pow10(int(math.Log10(need)) - 1) // rounded up to two
	return math.Ceil(need/digits) * digits
}
