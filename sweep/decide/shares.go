package decide

import (
	"math"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
)

// mostDispersed is up to how many times the binomial variance trials may differ for their counts to be pooled. Trials
// that differ more than that may differ because of the load, which both sides of a pair share: pairs then tell more.
const mostDispersed = 3

// byRequests compares two shares by all of their requests, where both sides have some that are bad, and trials do not
// differ by much more than chance makes them; nil elsewhere. The standard deviation of five trials of few failures is
// mostly chance, and has four degrees of freedom; their counts say how much chance there is:
//
//	SE = √max(1, D) · the binomial standard error, with the degrees of freedom of both sides together
//
// The tallies count what is bad; the difference is that of what is good, ln(candidate/base), and least its binomial
// standard error.
func byRequests(base, candidate []stats.Tally, least float64) *stats.Difference {
	a, b := lost(base), lost(candidate)
	d := stats.Dispersion(base, candidate)
	if !(a > 0 && a < 1 && b > 0 && b < 1 && d <= mostDispersed) {
		return nil
	}
	n, se := min(len(base), len(candidate)), least*math.Sqrt(max(1, d))
	return &stats.Difference{
		Mean: math.Log1p(-b) - math.Log1p(-a), SE: se, SD: se * math.Sqrt(float64(n)), N: n,
		DF: float64(len(base) + len(candidate) - 2),
	}
}

// lost is the share of the requests that is bad, over all trials.
func lost(trials []stats.Tally) float64 {
	hits, of := 0.0, 0.0
	for _, t := range trials {
		hits, of = hits+t.Hits, of+t.Of
	}
	return hits / of
}

// shareVariance is the binomial variance of the logarithm of a pooled share,
// (1−p)/(p·n) with p = (hits+1)/(n+2): trials that all gave 100 % do not make it
// certain.
func shareVariance(e Estimates, m *metrics.Metric, values []float64) float64 {
	hits, of := 0.0, 0.0
	for i, v := range values {
		if !math.IsNaN(v) {
			n := e.whole(i, m)
			hits, of = hits+v/m.Full()*n, of+n
		}
	}
	if !(of > 0) {
		return 0
	}
	p := (hits + 1) / (of + 2)
	return (1 - p) / (p * of)
}
