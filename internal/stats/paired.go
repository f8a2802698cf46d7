package stats

import "math"

// ClusterEffect is the design effect of clusters, such as the repeated answers to one
// question: how many times the variance of the pooled share is the binomial one,
//
//	[k/(k−1) · Σ(Hits−p·Of)²/(ΣOf)²] / [p(1−p)/ΣOf]
//
// over k clusters (Korn and Graubard, as Share has it of trials). It is at least 1. Where
// all or none succeed it cannot be estimated, and each cluster counts once.
func ClusterEffect(clusters []Tally) float64 {
	var hits, of, k float64
	for _, c := range clusters {
		if c.Of > 0 {
			hits, of, k = hits+c.Hits, of+c.Of, k+1
		}
	}
	p := hits / of
	switch {
	case k == 0:
		return 1
	case k < 2, p <= 0, p >= 1:
		return max(1, of/k)
	}
	sum := 0.0
	for _, c := range clusters {
		if c.Of > 0 {
			sum += (c.Hits - p*c.Of) * (c.Hits - p*c.Of)
		}
	}
	return max(1, k/(k-1)*sum/of/(p*(1-p)))
}

// Flips compares two shares of the same n things, each once: more is how many went from 0
// to 1, less from 1 to 0. The change of the share has the interval that follows from the
// exact one of the odds of the flips,
//
//	(more+less)/n · (2π−1),  π in Clopper–Pearson's interval of more of more+less
//
// so that it leaves 0 out exactly where McNemar's exact test (Psychometrika 12, 1947) finds
// a change at that level. Without a flip nothing is known of their odds, and the interval
// is that of no flip in n.
func Flips(more, less, n float64, level float64) Estimate {
	e := Estimate{N: int(n), Mean: (more - less) / n, Low: math.NaN(), High: math.NaN(), Level: level, Method: "mcnemar"}
	if !validLevel(level) || n < 1 {
		return e
	}
	flips := more + less
	if flips == 0 {
		_, most := clopperPearson(0, n, level)
		e.Low, e.High = -most, most
		return e
	}
	low, high := clopperPearson(more, flips, level)
	e.Low, e.High = flips/n*(2*low-1), flips/n*(2*high-1)
	return e
}
