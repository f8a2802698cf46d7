package stats

import (
	"cmp"
	"math"
	"slices"
)

// RankCorrelation is Spearman's: that of the ranks, ties sharing the mean of
// theirs. NaN where one of the two does not vary.
func RankCorrelation(x, y []float64) float64 {
	a, b := ranks(x), ranks(y)
	ma, mb := Mean(a), Mean(b)
	var sab, saa, sbb float64
	for i := range a {
		da, db := a[i]-ma, b[i]-mb
		sab, saa, sbb = sab+da*db, saa+da*da, sbb+db*db
	}
	if !(saa > 0) || !(sbb > 0) {
		return math.NaN()
	}
	return sab / math.Sqrt(saa*sbb)
}

func ranks(x []float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	out := make([]float64, len(x))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && x[order[j]] == x[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			out[k] = float64(i+j-1) / 2
		}
		i = j
	}
	return out
}
