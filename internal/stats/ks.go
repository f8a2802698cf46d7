package stats

import "math"

// KS is a Kolmogorov–Smirnov test: the largest distance between two
// distribution functions and the chance of one at least as large when they are
// the same.
type KS struct {
	D float64
	P float64 // see KS1 and KS2
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

// exactPairs bounds the samples whose lattice paths are counted.
const exactPairs = 10_000

// KS2 compares two sorted samples. P is exact up to 10,000 pairs of values, by
// counting the lattice paths that stay closer to the diagonal than D (Hodges,
// Arkiv för Matematik 3, 1958), and else asymptotic with n₁n₂/(n₁+n₂) for n.
func KS2(a, b []float64) KS {
	if len(a) == 0 || len(b) == 0 {
		return KS{math.NaN(), math.NaN()}
	}
	m, n := len(a), len(b)
	farthest := 0 // of |i·n − j·m|, which is D·m·n in whole numbers
	for i, j := 0, 0; i < m && j < n; {
		x := min(a[i], b[j])
		for i < m && a[i] == x {
			i++
		}
		for j < n && b[j] == x {
			j++
		}
		farthest = max(farthest, i*n-j*m, j*m-i*n)
	}
	d := float64(farthest) / float64(m) / float64(n)
	if m*n <= exactPairs {
		return KS{d, exactKS(farthest, m, n)}
	}
	return KS{d, stephens(d, float64(m)*float64(n)/float64(m+n))}
}

// exactKS is the share of the lattice paths from (0, 0) to (m, n) that reach a
// point with |i·n − j·m| ≥ h. The recursion carries the share of the paths to
// (i, j) that do not, so nothing overflows:
//
//	inside(i, j) = i/(i+j)·inside(i−1, j) + j/(i+j)·inside(i, j−1)
func exactKS(h, m, n int) float64 {
	if h == 0 {
		return 1
	}
	inside := make([]float64, n+1)
	for i := 0; i <= m; i++ {
		for j := 0; j <= n; j++ {
			switch all := float64(i + j); {
			case i*n-j*m >= h || j*m-i*n >= h:
				inside[j] = 0
			case i == 0 && j == 0:
				inside[j] = 1
			case i == 0:
				inside[j] = inside[j-1]
			case j > 0:
				inside[j] = float64(i)/all*inside[j] + float64(j)/all*inside[j-1]
			}
		}
	}
	return min(1, max(0, 1-inside[n]))
}

func stephens(d, n float64) float64 {
	r := math.Sqrt(n)
	return kolmogorovSF((r + 0.12 + 0.11/r) * d)
}

// kolmogorovSF is P(K > x) of Kolmogorov's limit distribution:
//
//	2 Σ_{k≥1} (−1)^{k−1} exp(−2k²x²)
//
// and for small x, where that converges slowly, one minus
//
//	√(2π)/x · Σ_{k≥1} exp(−(2k−1)²π²/(8x²))
func kolmogorovSF(x float64) float64 {
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
