package stats

import "math"

// Design is a comparison to be: n pairs of trials, a two-sided level, and a
// margin that the mean must pass as well, all of log-ratios.
type Design struct {
	SD     float64 // of one pair
	Alpha  float64 // two-sided level, 0.05 divided by the number of comparisons
	Margin float64 // 0 for an ordinary t test
}

// Power is the chance that n pairs show a true difference: that the interval
// excludes 0 and the mean is beyond the margin, both on the side of the truth.
// With d̄ ~ N(diff, SD²/n) and s²/SD² ~ χ²(n−1)/(n−1), independent,
//
//	∫ Φ((diff − max(Margin, t·s/√n))·√n/SD) dF(s),  t = t(1−Alpha/2, n−1)
//
// by Gauss–Legendre quadrature over the quantiles of s. At a margin of 0 it is
// the power of the t test by the noncentral t distribution, of one side.
func (p Design) Power(diff float64, n int) float64 {
	if n < 2 || !(p.SD >= 0) || !validLevel(p.Alpha) {
		return math.NaN()
	}
	return p.power(diff, n, tCritical(1-p.Alpha, n-1))
}

// power is Power where the critical value is known.
func (p Design) power(diff float64, n int, t float64) float64 {
	diff = math.Abs(diff)
	if p.SD == 0 {
		return indicator(diff > p.Margin)
	}
	root := math.Sqrt(float64(n))
	return overChi(float64(n-1), func(s float64) float64 {
		return normalCDF((diff - max(p.Margin, t*p.SD*s/root)) * root / p.SD)
	})
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// overChi is the mean of f(s) where s² is χ²(df)/df, by the trapezoidal rule on
// ln s, which is spectrally accurate for a density that dies out at both ends.
func overChi(df float64, f func(s float64) float64) float64 {
	lg, _ := math.Lgamma(df / 2)
	logDensity := func(u float64) float64 { // of u = ln s
		return math.Ln2 + df/2*math.Log(df/2) - lg + df*u - df/2*math.Exp(2*u)
	}
	deviation := 1 / math.Sqrt(2*df) // of ln s, nearly
	low, high := -9*deviation-28/df, 9*deviation
	h := deviation / 6
	sum := 0.0
	for u := low; u <= high; u += h {
		if l := logDensity(u); l > -30 {
			sum += math.Exp(l) * f(math.Exp(u))
		}
	}
	return min(1, max(0, sum*h))
}

// Detectable is the smallest difference that n pairs show with the given power,
// to a thousandth of itself; NaN below two pairs.
func (p Design) Detectable(power float64, n int) float64 {
	if n < 2 || !(p.SD >= 0) || !validLevel(p.Alpha) {
		return math.NaN()
	}
	t := tCritical(1-p.Alpha, n-1)
	lo, hi := 0.0, p.Margin+p.SD+1e-9
	for p.power(hi, n, t) < power {
		if lo, hi = hi, 2*hi; hi > 1e6 {
			return math.Inf(1)
		}
	}
	for hi-lo > 1e-3*hi {
		if mid := (lo + hi) / 2; p.power(mid, n, t) < power {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// SpreadInterval is the interval, at a level, of a normal population's standard
// deviation over that of a sample with df degrees of freedom:
//
//	√(df/χ²(1−(1−level)/2; df)) to √(df/χ²((1−level)/2; df))
func SpreadInterval(df, level float64) (low, high float64) {
	if !(df > 0) || !validLevel(level) {
		return math.NaN(), math.NaN()
	}
	tail := (1 - level) / 2
	end := func(p float64) float64 { return math.Sqrt(df / (2 * gammaQuantile(df/2, p))) }
	return end(1 - tail), end(tail)
}

// MostTrials is where counting trials ends: an experiment runs at most so many.
const MostTrials = 1000

// Trials is the smallest number of pairs that shows a true difference with the
// given power; false when not even MostTrials do.
func (p Design) Trials(diff, power float64) (int, bool) {
	return smallest(func(n int) bool { return p.Power(diff, n) >= power })
}

// EquivalenceTrials is the smallest number of pairs whose two one-sided tests
// at Alpha/2 each show that a truth of 0 lies within ±margin, with the power:
//
//	P(|d̄| + t·s/√n < margin),  t = t(1−Alpha/2, n−1)
func (p Design) EquivalenceTrials(margin, power float64) (int, bool) {
	return smallest(func(n int) bool {
		if p.SD == 0 {
			return margin > 0
		}
		t, root := tCritical(1-p.Alpha, n-1), math.Sqrt(float64(n))
		return overChi(float64(n-1), func(s float64) float64 {
			return max(0, 2*normalCDF((margin-t*p.SD*s/root)*root/p.SD)-1)
		}) >= power
	})
}

// smallest is the least n from 2 to MostTrials for which an increasing
// condition holds.
func smallest(enough func(n int) bool) (int, bool) {
	if !enough(MostTrials) {
		return 0, false
	}
	lo, hi := 1, 2 // !enough(lo)
	for !enough(hi) {
		lo, hi = hi, min(2*hi, MostTrials)
	}
	for lo+1 < hi {
		if mid := (lo + hi) / 2; enough(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi, true
}
