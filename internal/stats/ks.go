package stats

import "math"

// KS is a Kolmogorov–Smirnov test: the largest distance between two
// distribution functions and the chance of one at least as large when they are
// the same.
type KS struct {
	D float64
	P float64 // asymptotic, with Stephens' correction for the sample size
}

// KS1 compares a sorted sample with a continuous distribution:
//
//	D = max_i max(i/n − F(x_i), F(x_i) − (i−1)/n)
//
// P is that of λ = (√n + 0.12 + 0.11/√n)·D (Stephens, JASA 69, 1974), good to
// about 0.01 from n = 5 on.
func KS1(sorted []float64, cdf func(float64) float64) KS {
	n := float64(len(sorted))
	if n == 0 {
		return KS{math.NaN(), math.NaN()}
	}
	d := 0.0
	for i, x := range sorted {
		f := cdf(x)
		d = max(d, float64(i+1)/n-f, f-float64(i)/n)
	}
	return KS{d, stephens(d, n)}
}

// KS2 compares two sorted samples; n is replaced by n₁n₂/(n₁+n₂).
func KS2(a, b []float64) KS {
	if len(a) == 0 || len(b) == 0 {
		return KS{math.NaN(), math.NaN()}
	}
	na, nb := float64(len(a)), float64(len(b))
	d := 0.0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		x := min(a[i], b[j])
		for i < len(a) && a[i] == x {
			i++
		}
		for j < len(b) && b[j] == x {
			j++
		}
		d = max(d, math.Abs(float64(i)/na-float64(j)/nb))
	}
	return KS{d, stephens(d, na*nb/(na+nb))}
}

func stephens(d, n float64) float64 {
	r := math.Sqrt(n)
	return KolmogorovSF((r + 0.12 + 0.11/r) * d)
}

// KolmogorovSF is P(K > x) of Kolmogorov's limit distribution:
//
//	2 Σ_{k≥1} (−1)^{k−1} exp(−2k²x²)
//
// and for small x, where that converges slowly, one minus
//
//	√(2π)/x · Σ_{k≥1} exp(−(2k−1)²π²/(8x²))
func KolmogorovSF(x float64) float64 {
	if !(x > 0) {
		return 1
	}
	sum := 0.0
	if x < 1 {
		for k := 1.0; k < 20; k++ {
			sum += math.Exp(-(2*k - 1) * (2*k - 1) * math.Pi * math.Pi / (8 * x * x))
		}
		return 1 - math.Sqrt(2*math.Pi)/x*sum
	}
	sign := 1.0
	for k := 1.0; k < 20; k++ {
		sum += sign * math.Exp(-2*k*k*x*x)
		sign = -sign
	}
	return 2 * sum
}

// KSCritical is the D that a sample of n exceeds with chance alpha when the
// distribution is as claimed.
func KSCritical(n, alpha float64) float64 {
	lo, hi := 0.0, 10.0
	for range 100 {
		if mid := (lo + hi) / 2; KolmogorovSF(mid) > alpha {
			lo = mid
		} else {
			hi = mid
		}
	}
	r := math.Sqrt(n)
	return lo / (r + 0.12 + 0.11/r)
}
