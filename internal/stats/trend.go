package stats

import (
	"cmp"
	"math"
	"slices"
)

// Line says how y moves along x.
type Line struct {
	Rho       float64 // Spearman's rank correlation, −1 … 1
	Slope     float64 // least squares, units of y per unit of x
	Intercept float64
	Change    float64 // Slope × the span of x, relative to the mean of y: 0.05 is 5 % over the whole
}

// Spearman finds how y moves over x: Pearson's correlation of the mid-ranks
// (ties share their mean rank) and the least-squares line. Rho is NaN where x
// or y is constant.
func Spearman(x, y []float64) Line {
	n := min(len(x), len(y))
	nan := math.NaN()
	if n < 2 {
		return Line{nan, nan, nan, nan}
	}
	x, y = x[:n], y[:n]
	t := Line{Rho: correlation(ranks(x), ranks(y))}
	mx, my := Mean(x), Mean(y)
	var sxy, sxx float64
	for i := range x {
		sxy += (x[i] - mx) * (y[i] - my)
		sxx += (x[i] - mx) * (x[i] - mx)
	}
	t.Slope = sxy / sxx
	t.Intercept = my - t.Slope*mx
	lo, hi := MinMax(x)
	t.Change = t.Slope * (hi - lo) / math.Abs(my)
	return t
}

// Trend is Spearman over x = 0, 1, 2, …: the rank correlation with time, and
// the change over the whole series relative to its mean.
func Trend(y []float64) (rho, change float64) {
	x := make([]float64, len(y))
	for i := range x {
		x[i] = float64(i)
	}
	l := Spearman(x, y)
	return l.Rho, l.Change
}

// ranks gives each value its rank from 1; equal values share the mean of theirs.
func ranks(v []float64) []float64 {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(v[a], v[b]) })
	out := make([]float64, len(v))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && v[order[j]] == v[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			out[k] = float64(i+1+j) / 2
		}
		i = j
	}
	return out
}

// correlation is Σ dx·dy / √(Σdx² · Σdy²).
func correlation(x, y []float64) float64 {
	mx, my := Mean(x), Mean(y)
	var sxy, sxx, syy float64
	for i := range x {
		dx, dy := x[i]-mx, y[i]-my
		sxy, sxx, syy = sxy+dx*dy, sxx+dx*dx, syy+dy*dy
	}
	if sxx == 0 || syy == 0 {
		return math.NaN()
	}
	return sxy / math.Sqrt(sxx*syy)
}
