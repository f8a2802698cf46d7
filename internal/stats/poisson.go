package stats

import "math"

// PoissonInterval is the exact interval of a Poisson mean after counting n
// (Garwood 1936):
//
//	low = χ²((1−level)/2; 2n)/2,  high = χ²(1−(1−level)/2; 2n+2)/2
//
// in the form P(n, low) = α/2 and P(n+1, high) = 1−α/2 with the regularised
// gamma function; low is 0 at n = 0.
func PoissonInterval(n int64, level float64) (low, high float64) {
	if n < 0 || !(level > 0 && level < 1) {
		return math.NaN(), math.NaN()
	}
	tail := (1 - level) / 2
	if n > 0 {
		low = gammaQuantile(float64(n), tail)
	}
	return low, gammaQuantile(float64(n)+1, 1-tail)
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
