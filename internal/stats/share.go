package stats

import (
	"math"
	"slices"
)

// Tally is a share in one trial: Hits of Of.
type Tally struct {
	Hits, Of float64
	// Effect is the design effect within the trial: how many times the variance of Hits
	// is the binomial one, because neighbours are alike. 0 is 1.
	Effect float64
}

// Share estimates a share over trials: the pooled share p = ΣHits/ΣOf with the
// interval of Korn and Graubard (Survey Methodology 24, 1998) for proportions of
// clustered samples. The counts are divided by
//
//	D = max(1, w, d · (t(1−α/2, n−1)/z(1−α/2))²)
//	d = [n/(n−1) · Σ(Hits−p·Of)²/(ΣOf)²] / [p(1−p)/ΣOf]
//
// where d is the variance between trials over the binomial one, w the mean of the
// effects within trials, each counted as often as it has attempts, and the counts so
// reduced, whole or not, enter the beta quantiles of Clopper and Pearson
// (Biometrika 26, 1934). Where all or none succeed d cannot be estimated and
// D is 1: 80 of 80 is [0.955, 1]. One trial has the binomial interval, and a
// warning that it does not know how trials differ. Trials without attempts are
// left out. StdDev, Min and Max are those of the trials' shares.
func Share(trials []Tally, level float64) Estimate {
	var hits, of, within float64
	var shares []float64
	for _, t := range trials {
		if t.Of > 0 && t.Hits >= 0 {
			hits, of, shares = hits+min(t.Hits, t.Of), of+t.Of, append(shares, min(1, t.Hits/t.Of))
			within += t.Of * max(1, t.Effect)
		}
	}
	e, _ := describe(shares, level)
	if e.N == 0 || !validLevel(level) {
		return e
	}
	e.Mean = hits / of
	d := within / of
	if v := e.Mean * (1 - e.Mean) / of; v > 0 && e.N > 1 {
		between := 0.0
		for _, t := range trials {
			if t.Of > 0 && t.Hits >= 0 {
				r := min(t.Hits, t.Of) - e.Mean*t.Of
				between += r * r
			}
		}
		n := float64(e.N)
		d = max(d, n/(n-1)*between/(of*of)/v*clusterFactor(level, e.N))
	}
	e.Low, e.High = clopperPearson(hits/d, of/d, level)
	e.Method = "korn_graubard"
	if e.N == 1 {
		e.Warnings = append(e.Warnings, "interval from one trial: how trials differ is not in it")
	}
	return e
}

// Differ reports whether trials differ by more than independent attempts of one share would: Apart lies beyond the
// quantile of its χ² that is exceeded in alpha of the cases. Fewer than two trials, and those that are all good or all
// bad, do not.
func Differ(trials []Tally, alpha float64) bool {
	n := 0
	for _, t := range trials {
		if t.Of > 0 && t.Hits >= 0 {
			n++
		}
	}
	return n > 1 && Apart(trials) > 2*gammaQuantile(float64(n-1)/2, 1-alpha)
}

// Apart is the statistic of Pearson's test that n trials have one share: χ² with n − 1 degrees of freedom for
// independent attempts of one, 0 where all are good or all are bad.
func Apart(trials []Tally) (x float64) {
	var hits, of float64
	for _, t := range trials {
		if t.Of > 0 && t.Hits >= 0 {
			hits, of = hits+min(t.Hits, t.Of), of+t.Of
		}
	}
	p := hits / of
	if !(p > 0 && p < 1) {
		return 0
	}
	for _, t := range trials {
		if t.Of > 0 && t.Hits >= 0 {
			r := min(t.Hits, t.Of) - p*t.Of
			x += r * r / (t.Of * p * (1 - p))
		}
	}
	return x
}

// Dispersion is how many times the variance between the trials of each side is the binomial one of the share that all
// of them have, 1 for independent attempts:
//
//	X²/(n − 2),  X² = Σ(Hits − p_side·Of)² / (Of·p(1−p)),  n trials of both sides, p pooled over them
//
// It is NaN below three trials, and where all are good or all are bad.
func Dispersion(a, b []Tally) float64 {
	var hits, of, n float64
	for _, t := range slices.Concat(a, b) {
		hits, of, n = hits+t.Hits, of+t.Of, n+1
	}
	p := hits / of
	if !(p > 0 && p < 1) || n < 3 {
		return math.NaN()
	}
	x := 0.0
	for _, side := range [][]Tally{a, b} {
		hits, of = 0, 0
		for _, t := range side {
			hits, of = hits+t.Hits, of+t.Of
		}
		for _, t := range side {
			r := t.Hits - hits/of*t.Of
			x += r * r / (t.Of * p * (1 - p))
		}
	}
	return x / (n - 2)
}

// shareBatches is how many batches DesignEffect takes the variance of.
const shareBatches = 10

// DesignEffect is how many times the variance of a share is the binomial one, because
// neighbours in time are alike: by ten batch means of good, whose values are in order of
// time,
//
//	w = max(1, b·s²(means of batches of b) / p(1−p))
//
// 1 where all or none are good, or there are too few for batches.
func DesignEffect(good []bool) float64 {
	size := len(good) / shareBatches
	if size < 2 {
		return 1
	}
	x := make([]float64, len(good))
	for i, g := range good {
		if g {
			x[i] = 1
		}
	}
	p := Mean(x)
	v := p * (1 - p)
	if v == 0 {
		return 1
	}
	e, _ := describe(BatchMeans(x, shareBatches, size), 0.95)
	return max(1, float64(size)*e.StdDev*e.StdDev/v)
}

// Together is how many hits come together in a run, whose attempts are in order of time: the design effect, and at
// least the mean length of an unbroken row of hits, because ten batches do not see that a row longer than one is one.
// 0 where nothing is hit.
func Together(hit []bool) float64 {
	hits, rows := 0, 0
	for i, h := range hit {
		if h {
			hits++
			if i == 0 || !hit[i-1] {
				rows++
			}
		}
	}
	if hits == 0 {
		return 0
	}
	return max(DesignEffect(hit), float64(hits)/float64(rows))
}

// clopperPearson is the exact interval of a share after k of n, by the beta
// quantiles, which also take counts that are not whole:
//
//	low = B(α/2; k, n−k+1), 0 at k = 0;  high = B(1−α/2; k+1, n−k), 1 at k = n
func clopperPearson(k, n, level float64) (low, high float64) {
	if !(n > 0) || k < 0 || k > n || !validLevel(level) {
		return math.NaN(), math.NaN()
	}
	tail := (1 - level) / 2
	low, high = 0, 1
	if k > 0 {
		low = betaQuantile(tail, k, n-k+1)
	}
	if k < n {
		high = 1 - betaQuantile(tail, n-k, k+1)
	}
	return low, high
}

// McNemar is the two-sided chance of so many flips one way and the other where both ways
// are as likely.
func McNemar(more, less float64) float64 {
	if !(more+less > 0) {
		return 1
	}
	few, many := min(more, less), max(more, less)
	return min(1, 2*betaInc(many, few+1, 0.5)) // P(X ≤ few) of few+many fair coins
}

// betaQuantile is the p-quantile of the beta distribution, by bisection on the
// logarithm of the odds: some sixty steps, safe for any shape.
func betaQuantile(p, a, b float64) float64 {
	if !(a > 0) || !(b > 0) || !(p >= 0 && p <= 1) {
		return math.NaN()
	}
	if p == 0 || p == 1 {
		return p
	}
	lo, hi := -745.0, 745.0
	for range 80 {
		mid := (lo + hi) / 2
		if betaInc(a, b, 1/(1+math.Exp(-mid))) < p {
			lo = mid
		} else {
			hi = mid
		}
	}
	return 1 / (1 + math.Exp(-(lo+hi)/2))
}
