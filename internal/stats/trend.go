package stats

import (
	"cmp"
	"math"
	"slices"
)

// Trend says how y moves along x.
type Trend struct {
	Rho       float64 // Spearman's rank correlation, −1 … 1
	Slope     float64 // least squares, units of y per unit of x
	Intercept float64
	Change    float64 // Slope × the span of x, relative to the mean of y: 0.05 is 5 % over the whole
}

// Spearman finds the trend of y over x: Pearson's correlation of the mid-ranks
// (ties share their mean rank) and the least-squares line. Rho is NaN where x
// or y is constant.
func Spearman(x, y []float64) Trend {
	n := min(len(x), len(y))
	nan := math.NaN()
	if n < 2 {
		return Trend{nan, nan, nan, nan}
	}
	x, y = x[:n], y[:n]
	t := Trend{Rho: correlation(ranks(x), ranks(y))}
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

// TrendOverIndex is Spearman with x = 0, 1, 2, ….
func TrendOverIndex(y []float64) Trend {
	x := make([]float64, len(y))
	for i := range x {
		x[i] = float64(i)
	}
	return Spearman(x, y)
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
