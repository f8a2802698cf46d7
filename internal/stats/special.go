package stats

import "math"

// normalCDF is Φ(x) = erfc(−x/√2)/2.
func normalCDF(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// NormalQuantile is Φ⁻¹(p): the library's inverse error function, then one step
// of Halley's method on the complementary error function, which restores the
// digits that 1−2p loses in the tails.
func NormalQuantile(p float64) float64 {
	switch {
	case math.IsNaN(p) || p < 0 || p > 1:
		return math.NaN()
	case p == 0:
		return math.Inf(-1)
	case p == 1:
		return math.Inf(1)
	case p > 0.5:
		return -NormalQuantile(1 - p)
	}
	x := -math.Sqrt2 * math.Erfinv(1-2*p)
	if math.IsInf(x, 0) {
		x = -math.Sqrt(-2 * math.Log(p))
	}
	for range 3 {
		e := normalCDF(x) - p
		u := e * math.Sqrt(2*math.Pi) * math.Exp(x*x/2)
		x -= u / (1 + x*u/2)
	}
	return x
}

// betaInc is the regularised incomplete beta function I_x(a, b) by Lentz's
// method on its continued fraction (Abramowitz and Stegun 26.5.8), on the side
// where that converges fast.
func betaInc(a, b, x float64) float64 {
	if !(x > 0) {
		return 0
	}
	if x >= 1 {
		return 1
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := math.Exp(lab - la - lb + a*math.Log(x) + b*math.Log1p(-x))
	if x < (a+1)/(a+b+2) {
		return front * betaFraction(a, b, x) / a
	}
	return 1 - front*betaFraction(b, a, 1-x)/b
}

// AtLeast is the chance of k hits or more in n tries that each hit with chance p; n and k need
// not be whole: it is I_p(k, n−k+1).
func AtLeast(k, n, p float64) float64 {
	switch {
	case k <= 0:
		return 1
	case k > n:
		return 0
	}
	return betaInc(k, n-k+1, p)
}

func betaFraction(a, b, x float64) float64 {
	const tiny = 1e-300
	safe := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/safe(1-(a+b)*x/(a+1))
	f := d
	for m := 1.0; m < 100000; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d = 1 / safe(1+even*d)
		c = safe(1 + even/c)
		f *= c * d
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d = 1 / safe(1+odd*d)
		c = safe(1 + odd/c)
		step := c * d
		f *= step
		if math.Abs(step-1) < 1e-16 {
			break
		}
	}
	return f
}

// gammaP is the regularised lower incomplete gamma function P(a, x), by its
// series below a+1 and its continued fraction above (Abramowitz and Stegun
// 6.5.29, 6.5.31).
func gammaP(a, x float64) float64 {
	if !(x > 0) {
		return 0
	}
	lg, _ := math.Lgamma(a)
	front := math.Exp(a*math.Log(x) - x - lg)
	if x < a+1 {
		sum, term := 1/a, 1/a
		for n := a + 1; term > sum*1e-17; n++ {
			term *= x / n
			sum += term
		}
		return front * sum
	}
	const tiny = 1e-300
	b := x + 1 - a
	c, d := 1/tiny, 1/b
	h := d
	for i := 1.0; i < 1e7; i++ {
		an := -i * (i - a)
		b += 2
		d = 1 / (an*d + b)
		c = b + an/c
		h *= d * c
		if math.Abs(d*c-1) < 1e-16 {
			break
		}
	}
	return 1 - front*h
}
