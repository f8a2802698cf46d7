package stats

import "math"

// Count estimates the mean count of events per trial: the arithmetic mean with
// Garwood's interval (Biometrika 28, 1936) of the total, divided by the trials.
// As in Share, the total is divided by
//
//	D = max(1, d · (t(1−α/2, n−1)/z(1−α/2))²),  d = s²/mean of the counts
//
// so that events which come in bursts do not look certain. A trial that counted
// nothing is 0; of no event at all D is 1 and the upper end is 3.69/n.
func Count(counts []float64, level float64) Estimate {
	e, finite := describe(counts, level)
	if e.N == 0 || e.Min < 0 || !validLevel(level) {
		return e
	}
	d := 1.0
	if e.N > 1 && e.Mean > 0 {
		d = max(1, e.StdDev*e.StdDev/e.Mean*clusterFactor(level, e.N))
	}
	low, high := garwood(Sum(finite)/d, level)
	e.Low, e.High, e.Method = low*d/float64(e.N), high*d/float64(e.N), "garwood"
	if e.N == 1 {
		e.Warnings = append(e.Warnings, "interval from one trial: how trials differ is not in it")
	}
	return e
}

// garwood is the exact interval of a Poisson mean after counting n events
// (Biometrika 28, 1936), which need not be whole:
//
//	low = χ²((1−level)/2; 2n)/2,  high = χ²(1−(1−level)/2; 2n+2)/2
//
// in the form P(n, low) = α/2 and P(n+1, high) = 1−α/2 with the regularised
// gamma function; low is 0 at n = 0.
func garwood(n, level float64) (low, high float64) {
	if !(n >= 0) || !validLevel(level) {
		return math.NaN(), math.NaN()
	}
	tail := (1 - level) / 2
	if n > 0 {
		low = gammaQuantile(n, tail)
	}
	return low, gammaQuantile(n+1, 1-tail)
}

// gammaQuantile solves P(a, x) = p by Newton's method inside a bracket, from
// the Wilson–Hilferty approximation.
func gammaQuantile(a, p float64) float64 {
	lo, hi := 0.0, math.Inf(1)
	c := 1 - 1/(9*a) + NormalQuantile(p)/(3*math.Sqrt(a))
	x := a * c * c * c
	if !(x > 0) {
		x = a * math.Pow(p, 1/a)
	}
	lg, _ := math.Lgamma(a)
	for range 100 {
		f := gammaP(a, x) - p
		if f > 0 {
			hi = x
		} else {
			lo = x
		}
		next := x - f/math.Exp((a-1)*math.Log(x)-x-lg)
		if !(next > lo && next < hi) {
			next = 2 * x
			if !math.IsInf(hi, 1) {
				next = (lo + hi) / 2
			}
		}
		if math.Abs(next-x) <= 1e-14*x {
			return next
		}
		x = next
	}
	return x
}
