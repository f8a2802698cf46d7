package stats

import "math"

// Cholesky is the lower triangular factor L of a symmetric positive definite matrix A = L·Lᵀ,
// row by row (Golub and Van Loan, Matrix Computations, 4.2).
type Cholesky [][]float64

// NewCholesky factorises a; of its rows only what lies on and below the diagonal is read.
// False where it is not positive definite.
func NewCholesky(a [][]float64) (Cholesky, bool) {
	l := make(Cholesky, len(a))
	for i := range a {
		l[i] = make([]float64, i+1)
		for j := range i + 1 {
			v := a[i][j] - Dot(l[i][:j], l[j][:j])
			if i != j {
				l[i][j] = v / l[j][j]
				continue
			}
			if !(v > 0) || math.IsInf(v, 1) {
				return nil, false
			}
			l[i][i] = math.Sqrt(v)
		}
	}
	return l, true
}

// Solve is the x for which A·x = b.
func (l Cholesky) Solve(b []float64) []float64 {
	x := append([]float64(nil), b...)
	for i := range x {
		x[i] = (x[i] - Dot(l[i][:i], x[:i])) / l[i][i]
	}
	for i := len(x) - 1; i >= 0; i-- {
		x[i] /= l[i][i]
		for j := range i {
			x[j] -= l[i][j] * x[i]
		}
	}
	return x
}

// LogDet is the logarithm of the determinant of A.
func (l Cholesky) LogDet() float64 {
	sum := 0.0
	for i := range l {
		sum += math.Log(l[i][i])
	}
	return 2 * sum
}

// Dot is the inner product of two vectors of one length.
func Dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// leastSquares is the x that makes |A·x − b| least, by Householder's reflections (5.2 there). Each
// row is one of A, at least as many as columns, and then its b; it is overwritten. Nil where the
// columns are dependent, to within what a float64 can tell.
func leastSquares(rows [][]float64) []float64 {
	n := len(rows[0]) - 1
	diagonal, largest := make([]float64, n), 0.0
	for k := range n {
		norm := 0.0
		for _, row := range rows[k:] {
			norm = math.Hypot(norm, row[k])
		}
		if largest = max(largest, norm); !(norm > 1e-15*largest) || math.IsInf(norm, 1) {
			return nil
		}
		norm = math.Copysign(norm, rows[k][k])
		diagonal[k] = -norm
		rows[k][k] += norm // from here on column k is the reflection's vector v, |v|² = 2·norm·v[k]
		for j := k + 1; j <= n; j++ {
			along := 0.0
			for _, row := range rows[k:] {
				along += row[k] * row[j]
			}
			along /= norm * rows[k][k]
			for _, row := range rows[k:] {
				row[j] -= along * row[k]
			}
		}
	}
	x := make([]float64, n)
	for k := n - 1; k >= 0; k-- {
		x[k] = (rows[k][n] - Dot(rows[k][k+1:n], x[k+1:])) / diagonal[k]
	}
	return x
}
