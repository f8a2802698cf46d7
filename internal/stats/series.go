package stats

import (
	"math"
	"math/bits"
	"math/cmplx"
)

// Autocorrelation is ρ(0) … ρ(maxLag) of a series, each lag's autocovariance
// divided by n (the biased, positive definite estimator) and by the variance:
//
//	ρ(k) = Σ (x_i − m)(x_{i+k} − m) / Σ (x_i − m)²
//
// A constant series has no correlation: 1, 0, 0, ….
func Autocorrelation(x []float64, maxLag int) []float64 {
	maxLag = min(maxLag, len(x)-1)
	if maxLag < 0 {
		return nil
	}
	d, total := centred(x)
	rho := make([]float64, maxLag+1)
	rho[0] = 1
	if total == 0 {
		return rho
	}
	if maxLag > directLags {
		return spectrum(d, total)[:maxLag+1]
	}
	for k := 1; k <= maxLag; k++ {
		rho[k] = lagged(d, k) / total
	}
	return rho
}

// directLags is how many lags are summed one by one before the transform,
// whose cost is that of about 200 lags, pays.
const directLags = 256

// EffectiveN is the number of independent values that a correlated series is
// worth: n/τ, with τ from Geyer's initial positive sequence (Statistical
// Science 7, 1992):
//
//	Γ_k = ρ(2k) + ρ(2k+1),  summed while positive,  τ = −1 + 2·ΣΓ_k
//
// τ is at least 1: a series that alternates is not credited with more values
// than it has. Values must be in order of time. A constant series counts full.
func EffectiveN(x []float64) float64 {
	n := len(x)
	if n < 4 {
		return float64(n)
	}
	d, total := centred(x)
	if total == 0 {
		return float64(n)
	}
	var rho []float64 // filled when the direct lags were not enough
	at := func(k int) float64 {
		switch {
		case k == 0:
			return 1
		case k < directLags:
			return lagged(d, k) / total
		case rho == nil:
			rho = spectrum(d, total)
		}
		return rho[k]
	}
	sum := 0.0
	for k := 0; 2*k+1 < n; k++ {
		g := at(2*k) + at(2*k+1)
		if !(g > 0) {
			break
		}
		sum += g
	}
	return float64(n) / math.Max(1, 2*sum-1)
}

// centred is x − mean and its sum of squares. A sum that is only the rounding
// of the mean is 0.
func centred(x []float64) (d []float64, total float64) {
	m := Mean(x)
	d = make([]float64, len(x))
	for i, v := range x {
		d[i] = v - m
		total += d[i] * d[i]
	}
	if eps := 1e-15 * math.Abs(m); total <= float64(len(x))*eps*eps {
		return d, 0
	}
	return d, total
}

func lagged(d []float64, k int) float64 {
	s := 0.0
	for i, v := range d[k:] {
		s += v * d[i]
	}
	return s
}

// spectrum is all autocorrelations at once (Wiener–Khinchin): transform of the
// series padded to twice its length, squared, transformed back.
func spectrum(d []float64, total float64) []float64 {
	size := 1 << bits.Len(uint(2*len(d)-1))
	c := make([]complex128, size)
	for i, v := range d {
		c[i] = complex(v, 0)
	}
	fft(c)
	for i, v := range c {
		c[i] = complex(real(v)*real(v)+imag(v)*imag(v), 0)
	}
	fft(c) // of an even real sequence: forward and back agree up to 1/size
	rho := make([]float64, len(d))
	for i := range rho {
		rho[i] = real(c[i]) / float64(size) / total
	}
	return rho
}

// fft is the radix-2 transform in place; the length is a power of two.
func fft(c []complex128) {
	n := len(c)
	shift := 64 - bits.Len(uint(n-1))
	for i := range c {
		if j := int(bits.Reverse64(uint64(i)) >> shift); n > 1 && j > i {
			c[i], c[j] = c[j], c[i]
		}
	}
	for half := 1; half < n; half *= 2 {
		turn := make([]complex128, half)
		for k := range turn {
			turn[k] = cmplx.Rect(1, -math.Pi*float64(k)/float64(half))
		}
		for start := 0; start < n; start += 2 * half {
			for k, w := range turn {
				a, b := c[start+k], c[start+k+half]*w
				c[start+k], c[start+k+half] = a+b, a-b
			}
		}
	}
}

// Cut is where a series settles.
type Cut struct {
	At      int     // observations to leave out, a multiple of 5
	Share   float64 // At/n
	Settled bool    // the best cut lies in the first half
}

// MSER5 finds the warm-up of a series by the marginal standard error rule on
// means of five (White, Cobb, Spratt, WSC 2000): of m batch means, leave out
// the first d, d ≤ m/2, for which
//
//	Σ_{i>d} (Y_i − mean_d)² / (m−d)²
//
// is least. A minimum at the very end of the range means that the series has
// not settled. Below ten batches nothing is cut.
func MSER5(x []float64) Cut {
	const size, fewest = 5, 10
	m := len(x) / size
	if m < fewest {
		return Cut{Settled: true}
	}
	y := BatchMeans(x, m, size)
	best, least := 0, math.Inf(1)
	var tail Moments
	for i := m - 1; i >= 0; i-- {
		tail.Add(y[i])
		if z := tail.m2 / (float64(tail.N) * float64(tail.N)); i <= m/2 && z <= least {
			best, least = i, z
		}
	}
	return Cut{At: best * size, Share: float64(best*size) / float64(len(x)), Settled: best < m/2}
}

// BatchMeans is the means of the first m runs of size values.
func BatchMeans(x []float64, m, size int) []float64 {
	y := make([]float64, m)
	for i := range y {
		y[i] = Mean(x[i*size : (i+1)*size])
	}
	return y
}
