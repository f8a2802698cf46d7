package stats

import "math"

// TCDF is the distribution function of Student's t with v degrees of freedom:
// for t ≤ 0 it is I_{v/(v+t²)}(v/2, 1/2)/2 (Abramowitz and Stegun 26.7.1).
func TCDF(t, v float64) float64 {
	if math.IsNaN(t) || !(v > 0) {
		return math.NaN()
	}
	tail := tTail(math.Abs(t), v)
	if t > 0 {
		return 1 - tail
	}
	return tail
}

// tTail is P(T > t) for t ≥ 0. Near 0 the complement is used: x is then close
// to 1 and 1−x is known exactly as t²/(v+t²).
func tTail(t, v float64) float64 {
	if math.IsInf(t, 1) {
		return 0
	}
	t2 := t * t
	if t2 < v {
		return 0.5 - betaInc(0.5, v/2, t2/(v+t2))/2
	}
	return betaInc(v/2, 0.5, v/(v+t2)) / 2
}

// TQuantile is the p-quantile of Student's t with v > 0 degrees of freedom,
// accurate to about 12 digits: Newton's method on the tail, kept inside a
// bracket.
func TQuantile(p, v float64) float64 {
	switch {
	case math.IsNaN(p) || p < 0 || p > 1 || !(v > 0):
		return math.NaN()
	case p < 0.5:
		return -TQuantile(1-p, v)
	case p == 0.5:
		return 0
	case p == 1:
		return math.Inf(1)
	}
	tail := 1 - p
	lo, hi := 0.0, 1.0
	for tTail(hi, v) > tail {
		lo, hi = hi, 2*hi
	}
	t := (lo + hi) / 2
	for range 200 {
		f := tTail(t, v) - tail
		if f > 0 {
			lo = t
		} else {
			hi = t
		}
		next := t + f/tDensity(t, v)
		if !(next > lo && next < hi) {
			next = (lo + hi) / 2
		}
		if math.Abs(next-t) <= 1e-15*t {
			return next
		}
		t = next
	}
	return t
}

// tDensity is Γ((v+1)/2) / (√(vπ) Γ(v/2)) · (1+t²/v)^(−(v+1)/2).
func tDensity(t, v float64) float64 {
	a, _ := math.Lgamma((v + 1) / 2)
	b, _ := math.Lgamma(v / 2)
	return math.Exp(a-b-(v+1)/2*math.Log1p(t*t/v)) / math.Sqrt(v*math.Pi)
}
