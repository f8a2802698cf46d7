package stats

import "math"

// Scaling is Gunther's Universal Scalability Law of a closed loop: at n users the
// throughput is
//
//	X(n) = λ·n / (1 + σ·(n−1) + κ·n·(n−1))
//
// λ is what one user gets, σ the share of the work that only one can do at a time
// (contention), κ what each pair of users costs (coherency). With κ > 0 the throughput has
// a largest value, at √((1−σ)/κ) users.
type Scaling struct {
	Lambda, Sigma, Kappa Param
	Peak                 Param   // NaN where no κ is seen
	Residual             float64 // relative, the standard deviation around the law
	Points               int
}

// Param is a parameter with its 95 % interval.
type Param struct{ Value, Low, High float64 }

// At is the throughput of the law at n users.
func (s *Scaling) At(n float64) float64 {
	return s.Lambda.Value * n / (1 + s.Sigma.Value*(n-1) + s.Kappa.Value*n*(n-1))
}

// Scale fits the law to throughputs x at loads n: n/x is linear in n−1 and n·(n−1), so that
// it is weighted least squares, of relative errors. No parameter is below 0. Intervals are
// by the delta method with Student's t. false where the points do not have four different
// loads, or some throughput is not above 0.
func Scale(n, x []float64) (*Scaling, bool) {
	different := map[float64]bool{}
	for i := range n {
		if !(x[i] > 0) || !(n[i] > 0) || math.IsInf(x[i], 0) {
			return nil, false
		}
		different[n[i]] = true
	}
	if len(different) < 4 {
		return nil, false
	}
	var best *linear
	for _, use := range [][]int{{0, 1, 2}, {0, 1}, {0, 2}, {0}} { // without those that would be below 0
		f, ok := fitLinear(n, x, use)
		if ok && f.beta[0] > 0 && f.beta[1] >= 0 && f.beta[2] >= 0 && (best == nil || f.sse < best.sse) {
			best = f
		}
	}
	if best == nil {
		return nil, false
	}
	a, b, c := best.beta[0], best.beta[1], best.beta[2]
	t := tCritical(0.95, best.df)
	param := func(value float64, gradient [3]float64) Param {
		half := t * math.Sqrt(max(0, best.variance(gradient)))
		return Param{value, max(0, value-half), value + half}
	}
	s := &Scaling{
		Lambda: param(1/a, [3]float64{-1 / (a * a), 0, 0}),
		Sigma:  param(b/a, [3]float64{-b / (a * a), 1 / a, 0}),
		Kappa:  param(c/a, [3]float64{-c / (a * a), 0, 1 / a}),
		Peak:   Param{math.NaN(), math.NaN(), math.NaN()}, Residual: math.Sqrt(best.sse / float64(best.df)),
		Points: len(n),
	}
	if c > 0 && b < a && s.Kappa.Low > 0 {
		at := func(sigma, kappa float64) float64 { return math.Sqrt(max(0, 1-sigma) / kappa) }
		s.Peak = Param{
			at(s.Sigma.Value, s.Kappa.Value), at(s.Sigma.Value, s.Kappa.High),
			at(s.Sigma.Value, s.Kappa.Low),
		}
	}
	return s, true
}

// linear is a fit of n/x = β₀ + β₁·(n−1) + β₂·n·(n−1), each point weighted by (x/n)².
type linear struct {
	beta    [3]float64
	use     []int
	inverse [][]float64 // of the normal matrix, of those that are used
	sse     float64     // of relative errors
	df      int
}

func fitLinear(n, x []float64, use []int) (*linear, bool) {
	f := &linear{use: use, df: len(n) - len(use)}
	if f.df < 1 {
		return nil, false
	}
	row := func(i int) (z [3]float64) { // divided by n/x, as the value 1 on the left is
		w := x[i] / n[i]
		return [3]float64{w, w * (n[i] - 1), w * n[i] * (n[i] - 1)}
	}
	k := len(use)
	m, v := make([][]float64, k), make([]float64, k)
	for i := range m {
		m[i] = make([]float64, 2*k)
		m[i][k+i] = 1
	}
	for i := range n {
		z := row(i)
		for p, up := range use {
			v[p] += z[up]
			for q, uq := range use {
				m[p][q] += z[up] * z[uq]
			}
		}
	}
	if !invert(m) {
		return nil, false
	}
	for p := range use {
		f.inverse = append(f.inverse, m[p][k:])
		for q := range use {
			f.beta[use[p]] += f.inverse[p][q] * v[q]
		}
	}
	for i := range n {
		z := row(i)
		r := 1 - z[0]*f.beta[0] - z[1]*f.beta[1] - z[2]*f.beta[2]
		f.sse += r * r
	}
	return f, true
}

// variance is that of a function of the parameters with this gradient.
func (f *linear) variance(gradient [3]float64) (v float64) {
	for p, up := range f.use {
		for q, uq := range f.use {
			v += gradient[up] * gradient[uq] * f.inverse[p][q]
		}
	}
	return v * f.sse / float64(f.df)
}

// invert makes the right half of m, a square matrix beside a unit matrix, the inverse of
// the left one, by Gauss and Jordan with pivots; false where there is none.
func invert(m [][]float64) bool {
	k := len(m)
	for c := range k {
		pivot := c
		for r := c + 1; r < k; r++ {
			if math.Abs(m[r][c]) > math.Abs(m[pivot][c]) {
				pivot = r
			}
		}
		if math.Abs(m[pivot][c]) < 1e-300 {
			return false
		}
		m[c], m[pivot] = m[pivot], m[c]
		by := m[c][c]
		for j := range m[c] {
			m[c][j] /= by
		}
		for r := range k {
			if r == c {
				continue
			}
			times := m[r][c]
			for j := range m[r] {
				m[r][j] -= times * m[c][j]
			}
		}
	}
	return true
}
