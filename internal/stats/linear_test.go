package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Drawn systems give what gonum's factors give, as long as these call a system sound.
func TestLinear(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	near := func(what string, got, want, scale float64) {
		t.Helper()
		if !(math.Abs(got-want) <= 1e-9*scale) {
			t.Errorf("%s: %g, want %g", what, got, want)
		}
	}
	for range 400 {
		n := 1 + rng.IntN(12)
		m := n + rng.IntN(20)
		dense, b, rows := mat.NewDense(m, n, nil), make([]float64, m), make([][]float64, m)
		for i := range m {
			b[i] = rng.NormFloat64()
			rows[i] = make([]float64, n+1)
			for j := range n {
				rows[i][j] = rng.NormFloat64() * math.Pow(10, float64(rng.IntN(3)))
				dense.Set(i, j, rows[i][j])
			}
			rows[i][n] = b[i]
		}
		var want mat.VecDense
		if err := want.SolveVec(dense, mat.NewVecDense(m, b)); err != nil {
			continue
		}
		var gram mat.SymDense
		gram.SymOuterK(1, dense.T())
		var factor mat.Cholesky
		if cond := mat.Cond(dense, 2); cond > 1e3 || !factor.Factorize(&gram) {
			continue
		}
		lower, rhs := make([][]float64, n), make([]float64, n)
		for i := range n {
			lower[i] = mat.Row(nil, i, &gram)[:i+1]
			for k := range m {
				rhs[i] += dense.At(k, i) * b[k]
			}
		}
		l, ok := NewCholesky(lower)
		if !ok {
			t.Fatal("a positive definite matrix has no factor")
		}
		near("logarithm of the determinant", l.LogDet(), factor.LogDet(), 1+math.Abs(factor.LogDet()))
		size := mat.Norm(&want, 2)
		normal, least := l.Solve(rhs), leastSquares(rows)
		for k := range n {
			near("least squares", least[k], want.AtVec(k), size)
			near("normal equations", normal[k], want.AtVec(k), size*1e3)
		}
	}
}

func TestLinearOfSingularSystems(t *testing.T) {
	t.Parallel()
	for _, a := range [][][]float64{{{0}}, {{-1}}, {{1}, {1, 1}}, {{1}, {2, 1}}, {{math.NaN()}}, {{math.Inf(1)}}} {
		if l, ok := NewCholesky(a); ok {
			t.Errorf("%v is not positive definite and has the factor %v", a, l)
		}
	}
	for _, rows := range [][][]float64{
		{{0, 1}}, {{1, 1, 1}, {1, 1, 2}}, {{3, 1, 1}, {3, 1, 2}, {3, 1, 3}}, {{math.NaN(), 1}}, {{math.Inf(1), 1}},
	} {
		if x := leastSquares(rows); x != nil {
			t.Errorf("dependent columns have the solution %v", x)
		}
	}
	if c := Polynomial([]float64{2, 2, 2}, []float64{1, 2, 3}, 1); c != nil {
		t.Errorf("points above one another have the line %v", c)
	}
}

func TestAtLeast(t *testing.T) {
	t.Parallel()
	for _, n := range []float64{1, 2, 7, 40, 500} {
		for _, p := range []float64{1e-6, 0.01, 0.3, 0.5, 0.97} {
			for k := 0.0; k <= n+1; k += max(1, math.Floor(n/9)) {
				want := distuv.Binomial{N: n, P: p}.Survival(k - 1)
				if k == 0 {
					want = 1
				}
				if got := AtLeast(k, n, p); math.Abs(got-want) > 1e-9*want+1e-300 && math.Abs(got-want) > 1e-13 {
					t.Errorf("%g or more of %g at %g: %g, want %g", k, n, p, got, want)
				}
			}
		}
	}
}
