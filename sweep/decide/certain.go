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

// RequestsFor is how many requests make quantile q certain: what a plan needs, and more
// where n values are worth less.
func RequestsFor(q, worth, n float64) float64 {
	plan := sweep.Percentiles[0].Requests
	for _, p := range sweep.Percentiles {
		if most, _ := quantileOf(p.Stat); q <= most {
			plan = p.Requests
		}
	}
	need := float64(stats.Floor(q))
	if worth > 0 && worth < n { // neighbours are alike: rounded up to two digits
		need *= n / worth
		digits := math.Pow10(int(math.Log10(need)) - 1)
		need = math.Ceil(need/digits) * digits
	}
	return max(float64(plan), need)
}
