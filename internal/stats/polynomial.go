package stats

import "math"

// Polynomial is the polynomial of a degree that is nearest to points by least squares, its
// coefficients from the highest power on; nil where the points do not determine one. It is
// fitted over x scaled to at most 1, so that large x do not spoil it.
func Polynomial(xs, ys []float64, degree int) []float64 {
	scale := 0.0
	for _, x := range xs {
		scale = max(scale, math.Abs(x))
	}
	if scale == 0 || len(xs) <= degree {
		return nil
	}
	rows := make([][]float64, len(xs))
	for i, x := range xs {
		rows[i] = make([]float64, degree+2)
		for k := range degree + 1 {
			rows[i][k] = math.Pow(x/scale, float64(degree-k))
		}
		rows[i][degree+1] = ys[i]
	}
	c := leastSquares(rows)
	for k := range c {
		c[k] /= math.Pow(scale, float64(degree-k))
	}
	return c
}

// Explained is R² of a polynomial over points: 1 − Σ(y−ŷ)² / Σ(y−ȳ)²; 1 where all y are
// equal and met, 0 where there is no polynomial.
func Explained(xs, ys, coefficients []float64) float64 {
	if coefficients == nil {
		return 0
	}
	mean, rest, all := Mean(ys), 0.0, 0.0
	for i, x := range xs {
		y := 0.0
		for _, c := range coefficients {
			y = y*x + c
		}
		rest += (ys[i] - y) * (ys[i] - y)
		all += (ys[i] - mean) * (ys[i] - mean)
	}
	if all == 0 {
		return 1
	}
	return 1 - rest/all
}
