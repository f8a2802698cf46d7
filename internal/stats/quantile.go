package stats

import "math"

// Quantile is the type 7 quantile (Hyndman and Fan 1996; numpy's "linear") of
// sorted values, 0 ≤ q ≤ 1, NaN of nothing:
//
//	h = (n−1)·q;  x⌊h⌋ + (h−⌊h⌋)·(x⌊h⌋₊₁ − x⌊h⌋)
//
// The interpolation is done from the nearer end, as numpy does, so that results
// agree with numpy's to the last bit.
func Quantile(sorted []float64, q float64) float64 {
	n := len(sorted)
	if n == 0 || math.IsNaN(q) {
		return math.NaN()
	}
	return at(sorted, float64(n-1)*min(max(q, 0), 1))
}

// at is the value at the fractional index h, 0 ≤ h ≤ n−1.
func at(sorted []float64, h float64) float64 {
	i := int(h)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	a, b, t := sorted[i], sorted[i+1], h-float64(i)
	switch {
	case a == b: // also +Inf on both sides
		return a
	case t == 0:
		return a
	case t >= 0.5:
		return b - (b-a)*(1-t)
	}
	return a + (b-a)*t
}

// QuantileInterval is the order-statistic interval of quantile q of sorted
// values at the given level:
//
//	j, k = n·q ∓ z·√(n·q·(1−q)),  the interval is [x⌊j⌋, x⌈k⌉] (ranks from 1)
//
// with the standard deviation of the rank widened by √(n/nEff) where values are
// correlated: nEff is the effective sample size, and ranks scale by n/nEff. ok
// is false, and there is no interval, where a rank falls outside the sample or
// nEff is below the floor of q.
func QuantileInterval(sorted []float64, q, nEff, level float64) (lo, hi float64, ok bool) {
	n := float64(len(sorted))
	if math.IsNaN(nEff) || nEff > n {
		nEff = n
	}
	if n == 0 || !Certified(q, nEff) {
		return math.NaN(), math.NaN(), false
	}
	spread := NormalQuantile(1-(1-level)/2) * math.Sqrt(nEff*q*(1-q)) * n / nEff
	j, k := int(math.Floor(n*q-spread)), int(math.Ceil(n*q+spread))
	if j < 1 || k > len(sorted) {
		return math.NaN(), math.NaN(), false
	}
	return sorted[j-1], sorted[k-1], true
}

// floorConfidence is the one-sided confidence of a certified percentile.
const floorConfidence = 0.99

// Floor is the least sample size that certifies percentile q: the least n for
// which at most one value beyond the percentile would be a surprise,
//
//	P(Binomial(n, 1−q) ≤ 1) ≤ 0.01
//
// the rule of MLPerf inference's early stopping with one value beyond. It gives
// p50 11, p75 24, p90 64, p95 130, p97 219, p99 662, p99.9 6,636. Percentiles
// below the median mirror those above it. At q of 0 or 1 there is none.
func Floor(q float64) int {
	p := min(q, 1-q) // of a value beyond
	if !(p > 0) {
		return math.MaxInt
	}
	lo, hi := 1, 2
	for tooFew(float64(hi), p) {
		lo, hi = hi, 2*hi
	}
	for lo+1 < hi {
		if mid := (lo + hi) / 2; tooFew(float64(mid), p) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// Certified reports whether n values, effectively, are enough for percentile q.
func Certified(q, nEff float64) bool {
	p := min(q, 1-q)
	return p > 0 && nEff >= 2 && !tooFew(math.Floor(nEff), p) // Floor without the search
}

// tooFew reports whether n is below the Floor of a percentile, beyond which a value
// is with probability p; from 2 values on.
func tooFew(n, p float64) bool {
	none := n * math.Log1p(-p)
	one := math.Log(n*p) + (n-1)*math.Log1p(-p)
	return math.Exp(none)+math.Exp(one) > 1-floorConfidence
}
