package stats

import (
	"cmp"
	"math"
	"slices"
)

// BenjaminiHochberg adjusts p-values so that at most the level of what is
// called a finding is false, on average (JRSS B 57, 1995): p(i)·m/i, made
// non-increasing from the largest down. NaN stays NaN and does not count.
func BenjaminiHochberg(p []float64) []float64 {
	out, order := ascending(p)
	lowest := 1.0
	for k := len(order) - 1; k >= 0; k-- {
		i := order[k]
		lowest = min(lowest, p[i]*float64(len(order))/float64(k+1))
		out[i] = lowest
	}
	return out
}

// ascending is a copy of p and the indices of its numbers, smallest first.
func ascending(p []float64) (clone []float64, order []int) {
	for i, v := range p {
		if !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	return slices.Clone(p), order
}
