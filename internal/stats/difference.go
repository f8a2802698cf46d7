package stats

import "math"

// Difference is an estimated mean difference with its standard error: between
// the logarithms of two systems, ln(candidate/baseline), wherever it says so.
// exp(0.1) is then 10.5 % more.
type Difference struct {
	Mean float64
	SD   float64 // of one pair; for unpaired trials, √n·SE with the smaller n
	SE   float64
	DF   float64 // degrees of freedom, whole for pairs
	N    int     // pairs, or the smaller number of trials
}

// OneSample is the mean of values against 0: t = mean/(s/√n), n−1 degrees of
// freedom. Below two values SE is NaN and nothing is shown.
func OneSample(d []float64) Difference {
	n := float64(len(d))
	s := StdSample(d)
	return Difference{Mean: Mean(d), SD: s, SE: s / math.Sqrt(n), DF: n - 1, N: len(d)}
}

// Welch compares independent samples of unequal spread (Biometrika 34, 1947),
// with Satterthwaite's degrees of freedom (Biometrics 2, 1946):
//
//	SE² = s_a²/n_a + s_b²/n_b
//	DF = SE⁴ / ((s_a²/n_a)²/(n_a−1) + (s_b²/n_b)²/(n_b−1))
func Welch(a, b []float64) Difference {
	va, vb := squared(StdSample(a))/float64(len(a)), squared(StdSample(b))/float64(len(b))
	v := va + vb
	n := min(len(a), len(b))
	d := Difference{Mean: Mean(b) - Mean(a), SE: math.Sqrt(v), SD: math.Sqrt(v * float64(n)), N: n}
	d.DF = v * v / (va*va/float64(len(a)-1) + vb*vb/float64(len(b)-1))
	if v == 0 {
		d.DF = float64(len(a) + len(b) - 2)
	}
	return d
}

func squared(x float64) float64 { return x * x }

// Interval is Mean ∓ t(1−(1−level)/2, DF)·SE; NaN where SE is.
func (d Difference) Interval(level float64) (low, high float64) {
	half := d.critical(1-(1-level)/2) * d.SE
	return d.Mean - half, d.Mean + half
}

func (d Difference) critical(p float64) float64 {
	if p == 0.975 && d.DF == math.Trunc(d.DF) {
		return tCritical(0.95, int(d.DF))
	}
	return TQuantile(p, d.DF)
}

// P is the two-sided chance of a difference as large when there is none.
func (d Difference) P() float64 { return min(1, 2*min(d.PAbove(0), d.PBelow(0))) }

// PAbove is the one-sided chance of a mean as high when the truth is x: small
// where the truth is shown to be above x.
func (d Difference) PAbove(x float64) float64 {
	switch {
	case math.IsNaN(d.SE) || !(d.DF > 0):
		return math.NaN()
	case d.SE == 0: // without noise everything is certain
		if d.Mean > x {
			return 0
		}
		return 1
	}
	return TCDF((x-d.Mean)/d.SE, d.DF)
}

// PBelow is PAbove for "shown to be below x".
func (d Difference) PBelow(x float64) float64 {
	d.Mean = -d.Mean
	return d.PAbove(-x)
}

// Equivalent is the p-value of two one-sided tests (Schuirmann 1987): small
// where the truth is shown to lie within (low, high).
func (d Difference) Equivalent(low, high float64) float64 { return max(d.PAbove(low), d.PBelow(high)) }
